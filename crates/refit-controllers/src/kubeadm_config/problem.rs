//! What can go wrong on the way to bootstrap data, and is tried again.

use std::future::Future;

use refit_plan::reading::Unreadable;
use tokio::time::timeout;

use crate::act::REQUEST_LIMIT;
use crate::certificates::CertificateError;

/// Why a pass ended early. It comes back after a growing delay. No content of a Secret is in it.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    #[error(transparent)]
    Certificates(#[from] CertificateError),
    #[error("{what} cannot be read")]
    Read { what: String, source: Box<kube::Error> },
    #[error("{what} cannot be written")]
    Write { what: String, source: Box<kube::Error> },
    #[error("the API server does not answer about {what} in time")]
    Late { what: String },
    #[error("Secret {name} was there already; looking whose it is")]
    SecretThere { name: String },
    #[error("the bootstrap token cannot be kept good: {why}")]
    Token { why: String },
    #[error("the init lock does not come to rest; trying again")]
    TooManySteps,
}

impl Problem {
    pub fn read(what: &str, source: kube::Error) -> Self {
        Self::Read { what: what.to_owned(), source: Box::new(source) }
    }

    pub fn write(what: &str, source: kube::Error) -> Self {
        Self::Write { what: what.to_owned(), source: Box::new(source) }
    }
}

/// Ends a request that takes too long.
pub async fn within_limit<T>(what: &str, request: impl Future<Output = T>) -> Result<T, Problem> {
    timeout(REQUEST_LIMIT, request).await.map_err(|_| Problem::Late { what: what.to_owned() })
}
