//! A certificate and its key.

use std::collections::BTreeMap;
use std::fmt;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use refit_plan::certificates::Purpose;

use super::error::CertificateError;
use super::pem;
use super::secret::{self, Name};

pub const CERTIFICATE_KEY: &str = "tls.crt";
pub const PRIVATE_KEY: &str = "tls.key";

/// A certificate and its key in PEM. For service accounts the public key stands in the place of the certificate.
#[derive(Clone, PartialEq, Eq)]
pub struct KeyPair {
    certificate: String,
    /// Empty where a user keeps it to himself: the authority of an etcd that somebody else runs.
    key: String,
}

/// Keys stay out of logs.
impl fmt::Debug for KeyPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyPair").finish_non_exhaustive()
    }
}

impl KeyPair {
    pub(super) fn new(certificate: String, key: String) -> Self {
        Self { certificate, key }
    }

    /// From a Secret. One that is partial or is no PEM is an error that names it.
    pub(super) fn read(
        name: &Name,
        secret: &Secret,
        purpose: Purpose,
        needs_key: bool,
    ) -> Result<Self, CertificateError> {
        let certificate = secret::text(name, secret, CERTIFICATE_KEY)?;
        let missing = |key| CertificateError::NoKey { secret: name.to_string(), key };
        let certificate = certificate.ok_or_else(|| missing(CERTIFICATE_KEY))?;
        let unreadable = |key, why| CertificateError::Unreadable { secret: name.to_string(), key, why };
        match purpose {
            Purpose::ServiceAccount => pem::check_public_key(&certificate),
            Purpose::ClusterAuthority
            | Purpose::EtcdAuthority
            | Purpose::FrontProxyAuthority
            | Purpose::ApiServerEtcdClient => pem::certificates(&certificate).map(drop),
        }
        .map_err(|why| unreadable(CERTIFICATE_KEY, why))?;
        let key = match secret::text(name, secret, PRIVATE_KEY)? {
            Some(key) => key,
            None if needs_key => return Err(missing(PRIVATE_KEY)),
            None => String::new(),
        };
        if !key.is_empty() {
            pem::private_key(&key).map_err(|why| unreadable(PRIVATE_KEY, why))?;
        }
        Ok(Self { certificate, key })
    }

    /// The certificate, or the public key, in PEM.
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// The private key in PEM; empty if it is not here.
    pub fn key(&self) -> &str {
        &self.key
    }

    pub(super) fn data(&self) -> BTreeMap<String, ByteString> {
        let bytes = |text: &str| ByteString(text.as_bytes().to_vec());
        BTreeMap::from([
            (CERTIFICATE_KEY.to_owned(), bytes(&self.certificate)),
            (PRIVATE_KEY.to_owned(), bytes(&self.key)),
        ])
    }
}
