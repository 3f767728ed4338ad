//! What only the shell can do, and whose result it brings back with the next observation.

use refit_api::hooks::{CanonicalName, UpdateMachineRequest};

use crate::coverage::ContentHash;

/// Something to do after the effects of the plan, if all of them succeeded. Its result goes into the next
/// [`Observed`](super::Observed), for which the shell comes back at once.
#[derive(Debug, Clone, PartialEq)]
pub enum Errand {
    /// Ask an updater to bring the Machine to its desired state. `about` goes into the answer.
    Ask { call: Call, about: ContentHash, request: Box<UpdateMachineRequest> },
    /// Cordon the Node and evict what may be evicted now, as [`drain::plan`](super::drain::plan) says.
    Drain { node: String },
    /// Find out which volumes the Node still has.
    InspectVolumes { node: String },
}

/// What makes one call of an updater different from the next. An answer counts only while its call is the one due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The handler of UpdateMachine to ask.
    pub updater: CanonicalName,
    /// What was accepted when the update began; nothing for an update that upstream's controllers began.
    pub plan: Option<ContentHash>,
    /// How many extensions of the plan are still to run, this one included.
    pub remaining: usize,
    /// How many tries of the update failed before this one.
    pub attempts: u32,
}
