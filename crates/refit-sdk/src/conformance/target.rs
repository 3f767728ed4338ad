//! The extension that is checked, and how to get a connection to it.

use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use http::Uri;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};

/// Files with which the kit proves who it is, and knows who the extension is.
#[derive(Debug, Clone, Default)]
pub struct ClientFiles {
    /// The only authorities that are trusted. None: those of the system.
    pub ca: Option<PathBuf>,
    /// The certificate and the key that are shown to an extension that asks for them.
    pub pair: Option<(PathBuf, PathBuf)>,
}

/// An extension that can be called.
#[derive(Debug, Clone)]
pub struct Target {
    pub(super) host: String,
    pub(super) port: u16,
    /// What comes before the paths of hooks; no slash at its end.
    pub(super) prefix: String,
    pub(super) tls: Option<Tls>,
}

#[derive(Debug, Clone)]
pub(super) struct Tls {
    pub(super) name: ServerName<'static>,
    pub(super) http1: Arc<ClientConfig>,
    pub(super) http2: Arc<ClientConfig>,
}

/// Why there is nothing to call.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    #[error("{0:?} is no address of an extension, as in https://localhost:9443")]
    Address(String),
    #[error("controllers call https only; plain http is for loopback addresses, and has to be asked for")]
    Plain,
    #[error("cannot read {}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{} has no PEM of the right kind", path.display())]
    Pem { path: PathBuf },
    #[error("the certificates are of no use")]
    Tls(#[source] rustls::Error),
}

impl Target {
    /// The extension at an address, with everything before the paths of the hooks.
    pub fn new(address: &str, files: &ClientFiles, allow_plain: bool) -> Result<Self, TargetError> {
        let wrong = || TargetError::Address(address.to_owned());
        let uri: Uri = address.parse().map_err(|_| wrong())?;
        let host = uri.host().ok_or_else(wrong)?.trim_matches(['[', ']']).to_owned();
        if uri.query().is_some() {
            return Err(wrong());
        }
        let tls = match uri.scheme_str() {
            Some("https") => Some(Tls::new(&host, files).map_err(|error| error.unwrap_or_else(wrong))?),
            Some("http") if allow_plain && is_loopback(&host) => None,
            Some("http") => return Err(TargetError::Plain),
            _ => return Err(wrong()),
        };
        let port = uri.port_u16().unwrap_or(if tls.is_some() { 443 } else { 80 });
        let prefix = uri.path().trim_end_matches('/').to_owned();
        Ok(Self { host, port, prefix, tls })
    }
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

impl Tls {
    /// No error inside: the host is none that a certificate can be for.
    fn new(host: &str, files: &ClientFiles) -> Result<Self, Option<TargetError>> {
        let name = ServerName::try_from(host.to_owned()).map_err(|_| None)?;
        let roots = roots(files.ca.as_deref())?;
        let config = |protocol: &[u8]| config(roots.clone(), files, protocol).map(Arc::new);
        Ok(Self { name, http1: config(b"http/1.1")?, http2: config(b"h2")? })
    }
}

fn roots(ca: Option<&Path>) -> Result<RootCertStore, TargetError> {
    let mut roots = RootCertStore::empty();
    match ca {
        Some(path) => {
            for certificate in certificates(path)? {
                roots.add(certificate).map_err(TargetError::Tls)?;
            }
        }
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    Ok(roots)
}

fn config(roots: RootCertStore, files: &ClientFiles, protocol: &[u8]) -> Result<ClientConfig, TargetError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions().map_err(TargetError::Tls)?;
    let builder = builder.with_root_certificates(roots);
    let mut config = match &files.pair {
        None => builder.with_no_client_auth(),
        Some((certificate, key)) => {
            let chain = certificates(certificate)?;
            let pem = || TargetError::Pem { path: key.clone() };
            let key = PrivateKeyDer::from_pem_slice(&read(key)?).map_err(|_| pem())?;
            builder.with_client_auth_cert(chain, key).map_err(TargetError::Tls)?
        }
    };
    config.alpn_protocols = vec![protocol.to_vec()];
    Ok(config)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TargetError> {
    let content = read(path)?;
    let found: Vec<_> = CertificateDer::pem_slice_iter(&content).filter_map(Result::ok).collect();
    if found.is_empty() { Err(TargetError::Pem { path: path.to_owned() }) } else { Ok(found) }
}

fn read(path: &Path) -> Result<Vec<u8>, TargetError> {
    std::fs::read(path).map_err(|source| TargetError::Read { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_http_is_for_loopback_and_on_demand() {
        let check = |address, allow, ok| {
            assert_eq!(Target::new(address, &ClientFiles::default(), allow).is_ok(), ok, "{address}");
        };
        check("http://127.0.0.1:9443", true, true);
        check("http://[::1]:9443/prefix/", true, true);
        check("http://localhost:9443", false, false);
        check("http://example.com", true, false);
        check("localhost:9443", true, false);
        check("ftp://localhost", true, false);
        check("https://localhost?x=y", false, false);
        check("https://localhost:9443", false, true);
    }
}
