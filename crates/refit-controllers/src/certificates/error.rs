//! What can be wrong with the Secrets of a cluster.

/// Why a pair or a kubeconfig cannot be had. No content of a Secret is in it.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    #[error("Secret {secret} cannot be read")]
    Read { secret: String, source: Box<kube::Error> },
    #[error("Secret {secret} cannot be written")]
    Write { secret: String, source: Box<kube::Error> },
    #[error("the API server does not answer about Secret {secret} in time")]
    Late { secret: String },
    #[error("Secret {secret} does not exist; restore it, or wait until it is made")]
    Missing { secret: String },
    #[error("Secret {secret} has no key {key:?}; complete it, or delete it if it was never used")]
    NoKey { secret: String, key: &'static str },
    #[error("key {key:?} of Secret {secret} cannot be used: {why}")]
    Unreadable { secret: String, key: &'static str, why: String },
    #[error("the authority cannot sign: {why}")]
    Authority { why: String },
    #[error("no key or certificate can be made for {what}")]
    Generate { what: String, source: rcgen::Error },
    #[error("no {bits}-bit RSA key can be made: {why}")]
    Rsa { bits: u16, why: String },
    #[error("the work on keys was cut short")]
    CutShort,
}
