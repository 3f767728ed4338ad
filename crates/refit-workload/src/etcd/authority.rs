//! The certificate authority of an etcd cluster, as it is in the Secret `<cluster>-etcd`.

use std::fmt;

/// The certificate and the key of the authority, in PEM.
#[derive(Clone)]
pub struct EtcdAuthority {
    certificate: String,
    key: String,
}

impl EtcdAuthority {
    /// What it is made of is looked at when it is used.
    pub fn new(certificate_pem: impl Into<String>, key_pem: impl Into<String>) -> Self {
        Self { certificate: certificate_pem.into(), key: key_pem.into() }
    }

    /// The certificate in PEM.
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// The key in PEM: for signing only, never for logs.
    pub fn key(&self) -> &str {
        &self.key
    }
}

impl fmt::Debug for EtcdAuthority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EtcdAuthority").field("certificate", &self.certificate).field("key", &"<redacted>").finish()
    }
}
