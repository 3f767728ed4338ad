//! What is wrong in a way that trying again, or a user, may cure.

use refit_api::selector::SelectorError;

use super::gate::RangeError;

/// Something that kept a part of the decision from being made. The shell logs it and comes back later.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Problem {
    #[error("the selector makes no sense")]
    Selector(#[source] SelectorError),
    #[error("cannot read the node of machine {machine}: {why}")]
    Node { machine: String, why: String },
    #[error("the limit of unhealthy machines makes no sense")]
    Limit(#[source] RangeError),
    #[error("the remediation template {name} cannot be used: {why}")]
    Template { name: String, why: String },
    #[error("the request to repair machine {machine} was refused: {why}")]
    Request { machine: String, why: String },
}
