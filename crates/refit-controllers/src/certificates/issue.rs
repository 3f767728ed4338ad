//! New keys, and certificates signed with them.

use std::time::SystemTime;

use jiff::{SignedDuration, Timestamp};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PublicKeyData,
};
use refit_api::bootstrap::EncryptionAlgorithmType;
use refit_plan::certificates::Purpose;

use super::error::CertificateError;
use super::{KeyPair, KeySettings, pem, rsa};

/// What upstream and kubeadm call their authorities.
const AUTHORITY_NAME: &str = "kubernetes";
/// Clocks that are a little behind accept a fresh certificate, too.
const BACKDATE: SignedDuration = SignedDuration::from_mins(5);
const DAY: SignedDuration = SignedDuration::from_hours(24);

/// Who a client certificate is for, and how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientIdentity {
    pub user: String,
    pub group: Option<String>,
    pub validity: SignedDuration,
}

/// A new authority, or new keys of service accounts.
pub(super) async fn generate(
    purpose: Purpose,
    settings: KeySettings,
    now: Timestamp,
) -> Result<KeyPair, CertificateError> {
    off_thread(move || match purpose {
        Purpose::ServiceAccount => {
            let key = new_key(settings.algorithm, purpose.suffix())?;
            Ok(KeyPair::new(key.public_key_pem(), key.serialize_pem()))
        }
        Purpose::ClusterAuthority
        | Purpose::EtcdAuthority
        | Purpose::FrontProxyAuthority
        | Purpose::ApiServerEtcdClient => authority(settings, now),
    })
    .await
}

/// A certificate by which a client logs in, signed by an authority of the cluster.
pub async fn issue_client(
    authority: &KeyPair,
    identity: &ClientIdentity,
    algorithm: EncryptionAlgorithmType,
    now: Timestamp,
) -> Result<KeyPair, CertificateError> {
    let (authority, identity) = (authority.clone(), identity.clone());
    off_thread(move || {
        let issuer = issuer(&authority)?;
        let key = new_key(algorithm, &identity.user)?;
        let failed = |source| CertificateError::Generate { what: identity.user.clone(), source };
        let certificate = client_params(&identity, now).signed_by(&key, &issuer).map_err(failed)?;
        Ok(KeyPair::new(certificate.pem(), key.serialize_pem()))
    })
    .await
}

fn authority(settings: KeySettings, now: Timestamp) -> Result<KeyPair, CertificateError> {
    let failed = |source| CertificateError::Generate { what: AUTHORITY_NAME.to_owned(), source };
    let key = new_key(settings.algorithm, AUTHORITY_NAME)?;
    let mut params = named(AUTHORITY_NAME, None);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages =
        vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment, KeyUsagePurpose::KeyCertSign];
    set_validity(&mut params, now, DAY * settings.authority_days);
    let certificate = params.self_signed(&key).map_err(failed)?;
    Ok(KeyPair::new(certificate.pem(), key.serialize_pem()))
}

fn client_params(identity: &ClientIdentity, now: Timestamp) -> CertificateParams {
    let mut params = named(&identity.user, identity.group.as_deref());
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    params.use_authority_key_identifier_extension = true;
    set_validity(&mut params, now, identity.validity);
    params
}

fn issuer(authority: &KeyPair) -> Result<Issuer<'static, rcgen::KeyPair>, CertificateError> {
    let unusable = |why: String| CertificateError::Authority { why };
    let key = pem::private_key(authority.key()).map_err(unusable)?;
    let key = rcgen::KeyPair::try_from(key).map_err(|error| unusable(error.to_string()))?;
    let certificates = pem::certificates(authority.certificate()).map_err(unusable)?;
    let public_key = key.subject_public_key_info();
    if !certificates.first().is_some_and(|first| pem::has_key(first, &public_key)) {
        return Err(unusable("its certificate is for another key".to_owned()));
    }
    Issuer::from_ca_cert_pem(authority.certificate(), key).map_err(|error| unusable(error.to_string()))
}

fn new_key(algorithm: EncryptionAlgorithmType, what: &str) -> Result<rcgen::KeyPair, CertificateError> {
    let failed = |source| CertificateError::Generate { what: what.to_owned(), source };
    let rsa = |bits| rcgen::KeyPair::from_pem(&rsa::generate(bits)?).map_err(failed);
    match algorithm {
        EncryptionAlgorithmType::EcdsaP256 => rcgen::KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(failed),
        EncryptionAlgorithmType::EcdsaP384 => rcgen::KeyPair::generate_for(&PKCS_ECDSA_P384_SHA384).map_err(failed),
        EncryptionAlgorithmType::Rsa2048 => rsa(2048),
        EncryptionAlgorithmType::Rsa3072 => rsa(3072),
        EncryptionAlgorithmType::Rsa4096 => rsa(4096),
    }
}

fn named(name: &str, group: Option<&str>) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    if let Some(group) = group {
        params.distinguished_name.push(DnType::OrganizationName, group);
    }
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

fn set_validity(params: &mut CertificateParams, now: Timestamp, validity: SignedDuration) {
    let at = |offset| SystemTime::from(now.saturating_add(offset).unwrap_or(now));
    params.not_before = at(-BACKDATE).into();
    params.not_after = at(validity).into();
}

/// Keys take so long that nothing else may wait for them.
async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, CertificateError> + Send + 'static,
) -> Result<T, CertificateError> {
    tokio::task::spawn_blocking(work).await.map_err(|_| CertificateError::CutShort).flatten()
}
