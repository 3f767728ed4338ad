//! The certificate of the server, read again when its files change.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem};
use rustls::server::{ClientHello, ResolvesServerCert, VerifierBuilderError, WebPkiClientVerifier};
use rustls::sign::CertifiedKey;
use rustls::{RootCertStore, ServerConfig};

/// Where the certificate is. The names are those that cert-manager gives to the files of a mounted secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateFiles {
    /// Where all of them are.
    pub folder: PathBuf,
    /// The file of the certificate and its chain.
    pub certificate: String,
    /// The file of its key.
    pub key: String,
    /// The authorities that must have signed the certificates of callers. None: callers need none. Read at start.
    pub client_ca: Option<String>,
}

impl Default for CertificateFiles {
    fn default() -> Self {
        Self {
            folder: std::env::temp_dir().join("k8s-webhook-server/serving-certs"),
            certificate: "tls.crt".to_owned(),
            key: "tls.key".to_owned(),
            client_ca: None,
        }
    }
}

/// Why there is no certificate to serve with.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    #[error("cannot read {}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{} has no PEM of the right kind", path.display())]
    Pem {
        path: PathBuf,
        #[source]
        source: pem::Error,
    },
    #[error("{} has no certificate", path.display())]
    Empty { path: PathBuf },
    #[error("the certificate and the key do not go together")]
    Pair(#[source] rustls::Error),
    #[error("the authorities of callers are of no use")]
    ClientCa(#[source] VerifierBuilderError),
    #[error("TLS cannot be set up")]
    Setup(#[source] rustls::Error),
}

/// The certificate in use, and how to find a newer one.
#[derive(Debug)]
pub(super) struct Certificates {
    files: CertificateFiles,
    current: Arc<Current>,
    config: Arc<ServerConfig>,
}

/// What handshakes take their certificate from.
#[derive(Debug)]
struct Current {
    pair: ArcSwap<Pair>,
}

/// A certificate with its key, and the bytes that it was read from.
#[derive(Debug)]
struct Pair {
    content: (Vec<u8>, Vec<u8>),
    key: Arc<CertifiedKey>,
}

impl ResolvesServerCert for Current {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.pair.load().key))
    }
}

impl Certificates {
    pub(super) fn read(files: CertificateFiles) -> Result<Self, CertificateError> {
        let current = Arc::new(Current { pair: ArcSwap::from_pointee(Pair::read(&files)?) });
        let config = config(&files, Arc::clone(&current))?;
        Ok(Self { files, current, config: Arc::new(config) })
    }

    pub(super) fn server_config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.config)
    }

    /// Looks at the files again and again. A pair that is broken, or half written, changes nothing.
    pub(super) async fn reload_every(self: Arc<Self>, interval: Duration) {
        loop {
            tokio::time::sleep(interval).await;
            match self.reload() {
                Ok(true) => tracing::info!("the certificate was read again"),
                Ok(false) => {}
                Err(error) => tracing::warn!(%error, "the certificate on disk is of no use; the one before stays"),
            }
        }
    }

    /// True if there was another certificate.
    fn reload(&self) -> Result<bool, CertificateError> {
        let content = Pair::content(&self.files)?;
        if self.current.pair.load().content == content {
            return Ok(false);
        }
        self.current.pair.store(Arc::new(Pair::new(&self.files, content)?));
        Ok(true)
    }
}

impl Pair {
    fn read(files: &CertificateFiles) -> Result<Self, CertificateError> {
        Self::new(files, Self::content(files)?)
    }

    fn content(files: &CertificateFiles) -> Result<(Vec<u8>, Vec<u8>), CertificateError> {
        Ok((read(&files.folder.join(&files.certificate))?, read(&files.folder.join(&files.key))?))
    }

    fn new(files: &CertificateFiles, content: (Vec<u8>, Vec<u8>)) -> Result<Self, CertificateError> {
        let chain = certificates(&files.folder.join(&files.certificate), &content.0)?;
        let path = files.folder.join(&files.key);
        let key = PrivateKeyDer::from_pem_slice(&content.1).map_err(|source| CertificateError::Pem { path, source })?;
        let provider = rustls::crypto::ring::default_provider();
        let key = CertifiedKey::from_der(chain, key, &provider).map_err(CertificateError::Pair)?;
        Ok(Self { content, key: Arc::new(key) })
    }
}

fn config(files: &CertificateFiles, current: Arc<Current>) -> Result<ServerConfig, CertificateError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider));
    let builder = builder.with_safe_default_protocol_versions().map_err(CertificateError::Setup)?;
    let builder = match &files.client_ca {
        None => builder.with_no_client_auth(),
        Some(name) => {
            let roots = Arc::new(roots(&files.folder.join(name))?);
            let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider).build();
            builder.with_client_cert_verifier(verifier.map_err(CertificateError::ClientCa)?)
        }
    };
    let mut config = builder.with_cert_resolver(current);
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

fn roots(path: &Path) -> Result<RootCertStore, CertificateError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path, &read(path)?)? {
        roots.add(certificate).map_err(CertificateError::Setup)?;
    }
    Ok(roots)
}

fn read(path: &Path) -> Result<Vec<u8>, CertificateError> {
    std::fs::read(path).map_err(|source| CertificateError::Read { path: path.to_owned(), source })
}

fn certificates(path: &Path, content: &[u8]) -> Result<Vec<CertificateDer<'static>>, CertificateError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(content).collect();
    let found = found.map_err(|source| CertificateError::Pem { path: path.to_owned(), source })?;
    if found.is_empty() { Err(CertificateError::Empty { path: path.to_owned() }) } else { Ok(found) }
}
