//! TLS: our certificate, and clients' certificates signed by our authority.

use std::sync::{Arc, PoisonError, RwLock};

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert, WebPkiClientVerifier};
use rustls::sign::CertifiedKey;
use rustls::{Error, RootCertStore, ServerConfig};
use tokio_rustls::TlsAcceptor;

use crate::credentials::Pair;

pub(super) const HTTP_2: &[u8] = b"h2";
const HTTP_1: &[u8] = b"http/1.1";

/// The certificate that the server shows. A new one counts for new connections.
#[derive(Debug)]
pub(super) struct Certificates(RwLock<Arc<CertifiedKey>>);

impl Certificates {
    pub(super) fn new(pair: &Pair) -> Result<Self, Error> {
        Ok(Self(RwLock::new(certified(pair)?)))
    }

    pub(super) fn replace(&self, pair: &Pair) -> Result<(), Error> {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = certified(pair)?;
        Ok(())
    }
}

impl ResolvesServerCert for Certificates {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.read().unwrap_or_else(PoisonError::into_inner).clone())
    }
}

/// Clients may show a certificate. One that our authority has not signed, or that has expired, ends the handshake.
pub(super) fn acceptor(authority: &str, certificates: Arc<Certificates>) -> Result<TlsAcceptor, Error> {
    let provider = provider();
    let mut roots = RootCertStore::empty();
    for certificate in chain(authority)? {
        roots.add(certificate)?;
    }
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone());
    let verifier = verifier.allow_unauthenticated().build().map_err(|error| Error::General(error.to_string()))?;
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_client_cert_verifier(verifier)
        .with_cert_resolver(certificates);
    config.alpn_protocols = vec![HTTP_2.to_vec(), HTTP_1.to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

fn certified(pair: &Pair) -> Result<Arc<CertifiedKey>, Error> {
    let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes()).map_err(|error| Error::General(error.to_string()))?;
    CertifiedKey::from_der(chain(&pair.certificate)?, key, &provider()).map(Arc::new)
}

fn chain(pem: &str) -> Result<Vec<CertificateDer<'static>>, Error> {
    let certificates = CertificateDer::pem_slice_iter(pem.as_bytes()).collect::<Result<_, _>>();
    certificates.map_err(|error| Error::General(error.to_string()))
}
