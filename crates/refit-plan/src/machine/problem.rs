//! What is wrong in a way that trying again may cure, and that is not said by a condition in full.

use refit_api::contract::FieldTypeError;

/// Something that kept a part of the decision from being made. The shell logs it and comes back later.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error("cannot read {kind}: {why}")]
    Unreadable { kind: String, why: String },
    #[error("{kind} breaks the contract")]
    Contract {
        kind: String,
        #[source]
        source: FieldTypeError,
    },
    #[error("{kind} says that its data secret is created, and does not name it")]
    NoDataSecretName { kind: String },
    #[error("{kind} has been deleted after it was provisioned")]
    InfrastructureGone { kind: String },
    #[error("the owners of {kind} cannot be read: {why}")]
    MalformedOwners { kind: String, why: String },
    #[error("{kind} is controlled by {owner} already")]
    OwnedByAnother { kind: String, owner: String },
    #[error("node {node} is gone although the Machine is not being deleted")]
    NodeGone { node: String },
    #[error("the annotation {annotation} must be {expected}, and is {found:?}")]
    Annotation { annotation: &'static str, expected: &'static str, found: String },
    #[error("the update cannot go on: {why}")]
    Update { why: String },
    #[error("the node cannot be drained: {why}")]
    Drain { why: String },
    #[error("the volumes of the node cannot be inspected: {why}")]
    Volumes { why: String },
    #[error("node {node} cannot be deleted: {why}")]
    NodeDeletion { node: String, why: String },
}
