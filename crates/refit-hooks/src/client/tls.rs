//! Whom to trust: the certificates of an ExtensionConfig, or else the system's.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{ResolvesClientCert, WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

/// Why there is nobody to trust.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The bundle is there, and holds nothing that could be trusted.
    #[error("unable to load root certificates: the caBundle holds no certificate in PEM")]
    NoCertificates,
    /// There is no bundle, and the system has no certificates either.
    #[error("unable to load root certificates: the system has none, and the caBundle is empty")]
    NoSystemCertificates,
    /// Not expected with certificates that were parsed before.
    #[error("failed to create tls config")]
    Config(#[from] rustls::client::VerifierBuilderError),
    /// Not expected with the versions that are compiled in.
    #[error("failed to create tls config")]
    Versions(#[source] Error),
}

/// The TLS side of calls to servers with a certificate of this bundle: 1.2 or later, with the caller's own certificate
/// where the server asks for one.
pub fn client_config(ca_bundle: &[u8], identity: Arc<dyn ResolvesClientCert>) -> Result<ClientConfig, TlsError> {
    let provider = Arc::new(ring::default_provider());
    let verifier = Verifier::new(trusted(ca_bundle)?, &provider)?;
    let config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])
        .map_err(TlsError::Versions)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_client_cert_resolver(identity);
    Ok(config)
}

/// The certificates of the bundle, or the system's when it is empty.
fn trusted(ca_bundle: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    if ca_bundle.is_empty() {
        let system = rustls_native_certs::load_native_certs().certs;
        return if system.is_empty() { Err(TlsError::NoSystemCertificates) } else { Ok(system) };
    }
    let certificates: Vec<_> = CertificateDer::pem_slice_iter(ca_bundle).filter_map(Result::ok).collect();
    if certificates.is_empty() { Err(TlsError::NoCertificates) } else { Ok(certificates) }
}

/// Checks servers as rustls does, and also takes a certificate that is itself trusted though it says that it is an
/// authority. Go takes those, and self-signed serving certificates often are such.
#[derive(Debug)]
struct Verifier {
    inner: Arc<WebPkiServerVerifier>,
    trusted: Vec<CertificateDer<'static>>,
}

impl Verifier {
    fn new(trusted: Vec<CertificateDer<'static>>, provider: &Arc<CryptoProvider>) -> Result<Self, TlsError> {
        let mut roots = RootCertStore::empty();
        let (usable, _) = roots.add_parsable_certificates(trusted.iter().cloned());
        if usable == 0 {
            return Err(TlsError::NoCertificates);
        }
        let inner = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider)).build()?;
        Ok(Self { inner, trusted })
    }

    /// By the time that webpki objects to an authority, it has looked at the certificate's dates. The name is left.
    fn verify_trusted_authority(
        &self,
        certificate: &CertificateDer<'_>,
        name: &ServerName<'_>,
    ) -> Result<ServerCertVerified, Error> {
        if !self.trusted.iter().any(|trusted| trusted == certificate) {
            return Err(CertificateError::UnknownIssuer.into());
        }
        verify_server_name(&ParsedCertificate::try_from(certificate)?, name)?;
        Ok(ServerCertVerified::assertion())
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match self.inner.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            Err(error) if is_authority_as_server(&error) => self.verify_trusted_authority(end_entity, server_name),
            verdict => verdict,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}

/// rustls passes this objection of webpki on without a variant of its own; a test sees that the name stays.
fn is_authority_as_server(error: &Error) -> bool {
    let Error::InvalidCertificate(CertificateError::Other(other)) = error else { return false };
    other.0.to_string() == "CaUsedAsEndEntity"
}
