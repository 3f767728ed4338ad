//! Why a patch of an extension is not one.

use refit_api::decode::{DecodeError, MAX_DEPTH};
use refit_api::hooks::CanonicalName;
use refit_api::rollout::ChangedObject;

use super::{MAX_COPIED_BYTES, MAX_OPERATIONS};

/// A patch that cannot be applied, and whose it is. Nothing of the patched object is in its text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the patch of {extension} for the {object:?} is wrong: {problem}")]
pub struct PatchError {
    pub extension: CanonicalName,
    pub object: ChangedObject,
    pub problem: PatchProblem,
}

/// What is wrong with a patch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatchProblem {
    #[error("patchType is not set")]
    NoType,
    #[error("unknown patchType {0:?}")]
    UnknownType(String),
    /// A JSON patch that changes nothing is `[]`.
    #[error("a JSON patch must have a document")]
    NoDocument,
    /// No JSON, or more of it than is accepted.
    #[error("{0}")]
    Document(Box<DecodeError>),
    #[error("a JSON patch must be a list of operations")]
    NotAList,
    #[error("{found} operations are more than the {MAX_OPERATIONS} that are accepted")]
    TooManyOperations { found: usize },
    /// One operation of a JSON patch.
    #[error("operation {index} at {path:?}: {problem}")]
    Operation {
        /// Counted from 0.
        index: usize,
        /// As the extension wrote it.
        path: String,
        problem: OperationProblem,
    },
    #[error("the patched object is no object any more")]
    NotAnObject,
    #[error("the patched object has no kind any more")]
    NoKind,
    /// Something on the way to the subtree that counts is no object, so that a patch cannot add to it.
    #[error("the object has no place for what the patch adds")]
    NoPlace,
    /// The patched Machine or MachineSet is none any more.
    #[error("{path}: {message}")]
    WrongType { path: String, message: String },
}

/// What is wrong with one operation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OperationProblem {
    /// The operation itself: an unknown one, a member missing, a path that is no JSON pointer.
    #[error("{0}")]
    Malformed(String),
    #[error("a name in a path must not be empty")]
    EmptyName,
    #[error("there is nothing at the path")]
    NotFound,
    #[error("there is nothing at the path to take it from")]
    FromNotFound,
    #[error("the value is another one than tested for")]
    TestFailed,
    #[error("a value cannot be moved into itself")]
    IntoItself,
    #[error("the whole object cannot be copied, moved, removed or overwritten by a part of it")]
    WholeObject,
    #[error("the whole object can only become another object")]
    NotAnObject,
    #[error("nested deeper than the {MAX_DEPTH} levels that are accepted")]
    TooDeep,
    #[error("copied and moved values have more than the {MAX_COPIED_BYTES} bytes that are accepted")]
    TooMuchCopied,
}
