//! Which changes of a machine the update extensions cover together.
//!
//! A [`Question`] holds what a machine is and what it should be. A [`Composition`] asks the extensions one after
//! another, in an order that does not depend on their registration: each about what the earlier ones left. It says
//! whom to ask next, and the shell brings the answers. The result is a [`Coverage`]: a plan, or what nobody covers.
//!
//! ```text
//! Question -> Composition -> Ask, answer, Ask, answer, ... -> Coverage -> UpdatePlan -> FrozenPlan (annotation)
//! ```
//!
//! Nothing here calls an extension, and no patch of an extension is ever written anywhere: it is a claim, applied to a
//! copy of "current" and compared with "desired".

mod accepted;
mod answer;
mod change;
mod claims;
mod composition;
mod counted;
mod difference;
mod hash;
pub mod kubeadm_config;
mod made_from;
mod patch;
mod plan;
#[cfg(test)]
mod properties;
mod question;
#[cfg(test)]
pub(crate) mod testing;

pub use accepted::Accepted;
pub use answer::{Answer, ExtensionAnswer, MAX_WORDS, Reply, Verdict};
pub(crate) use change::shortened;
pub use change::{Changes, FieldChange, FieldValue, MAX_CHANGES};
pub use composition::{Composition, CompositionError, Coverage, Extension, MAX_EXTENSIONS, Step, Undiscovered};
pub use counted::Scope;
pub use hash::{ContentHash, NotAHash};
pub use made_from::{MadeFrom, NotTold, is_arriving, is_of_its_machine_set};
pub use patch::apply as apply_patch;
pub use patch::{MAX_COPIED_BYTES, MAX_OPERATIONS, OperationProblem, PatchError, PatchProblem};
pub use plan::{FrozenPlan, FrozenPlanError, MAX_ENCODED_BYTES, NotNext, PlannedExtension, UpdatePlan};
pub use question::{MachineObjects, MachineSetObjects, Question, QuestionError, Request};
