//! A client certificate for etcd, made anew for each connection: nothing has to be kept or renewed.

use std::sync::Arc;
use std::time::SystemTime;

use jiff::{SignedDuration, Timestamp};
use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, Issuer, KeyPair, KeyUsagePurpose};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ClientConfig, RootCertStore};

use super::{EtcdAuthority, EtcdError, key};

/// How the client names itself.
const COMMON_NAME: &str = "refit";
/// For how long before and after now a certificate is valid. The clocks of hosts may differ by that much.
const VALIDITY: SignedDuration = SignedDuration::from_hours(1);
/// The protocol of gRPC.
const ALPN: &[u8] = b"h2";

/// TLS that trusts the authority alone, and shows a certificate of it.
pub(super) fn tls(authority: &EtcdAuthority, now: Timestamp) -> Result<ClientConfig, EtcdError> {
    let failed = |what| move |_| EtcdError::Authority { what };
    let (chain, key) = issue(authority, now)?;
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(failed("no version of TLS is left"))?;
    let config = builder.with_root_certificates(roots(authority)?).with_client_auth_cert(chain, key);
    let mut config = config.map_err(failed("it signs certificates that cannot be shown"))?;
    config.alpn_protocols = vec![ALPN.to_vec()];
    Ok(config)
}

fn roots(authority: &EtcdAuthority) -> Result<RootCertStore, EtcdError> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(authority.certificate().as_bytes()) {
        let added = certificate.ok().map(|certificate| roots.add(certificate));
        if !matches!(added, Some(Ok(()))) {
            return Err(EtcdError::Authority { what: "its PEM has a certificate that cannot be read" });
        }
    }
    if roots.is_empty() { Err(EtcdError::Authority { what: "there is no certificate in its PEM" }) } else { Ok(roots) }
}

fn issue(
    authority: &EtcdAuthority,
    now: Timestamp,
) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), EtcdError> {
    let failed = |what| move |_| EtcdError::Authority { what };
    let issuer = Issuer::from_ca_cert_pem(authority.certificate(), key::parse(authority.key())?);
    let issuer = issuer.map_err(failed("its certificate cannot be read"))?;
    let key = KeyPair::generate().map_err(failed("no key can be made for its client"))?;
    let signed = params(now).signed_by(&key, &issuer).map_err(failed("its key cannot sign"))?;
    Ok((vec![signed.der().clone()], PrivatePkcs8KeyDer::from(key.serialize_der()).into()))
}

fn params(now: Timestamp) -> CertificateParams {
    let at = |offset| SystemTime::from(now.saturating_add(offset).unwrap_or(now));
    let mut params = CertificateParams::default();
    params.distinguished_name = Default::default();
    params.distinguished_name.push(DnType::CommonName, COMMON_NAME);
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    params.not_before = at(-VALIDITY).into();
    params.not_after = at(VALIDITY).into();
    params
}
