//! Decides what to do about one Machine: its owner and labels, its host and bootstrap data, its Node, its update in
//! place, its deletion, and what its status says.
//!
//! Nothing here talks to anybody. Where the next step is a call, an eviction or a look at volumes, the decision names
//! it as an [`Errand`]; the shell runs it and comes back with the result. Which Pods a drain evicts, and in which
//! order, is decided in [`drain`]; for the Machine a drain is something that is done, under way or failed.
//!
//! # An update that failed for good
//! After `refit.dev/update-retries` or `refit.dev/update-timeout` the Machine gets the annotation
//! `refit.dev/update-failed`, and nobody is asked any more. The Machine stays as it is and counts against the budget of
//! its rollout. Taking the annotation off starts the update anew, with all its tries; so does a new plan by the owner.

mod bootstrap;
mod certificates;
mod conditions;
mod deletion;
mod draft;
pub mod drain;
mod errand;
mod external;
mod in_place;
mod infrastructure;
mod node;
mod node_patch;
mod observed;
mod owner;
mod phase;
mod problem;
pub mod progress;
mod quiet;
mod request;
#[cfg(test)]
mod tests;
mod up_to_date;
pub mod volumes;

use refit_api::cluster::MachineStatus;
use refit_api::vocabulary::finalizers;

pub use errand::{Call, Errand};
pub use in_place::{Limits as UpdateLimits, limits_of as update_limits};
pub(crate) use in_place::{is_updating, update_began};
pub use observed::{
    Answer, Connection, Drain, DrainState, External, NodeSeen, Observed, Settings, Updaters, Volumes, VolumesState,
};
pub(crate) use owner::{cluster_ref, paused_by};
pub use problem::Problem;
pub use quiet::{Passing, Quiet};
pub use request::update_machine_request;
pub(crate) use up_to_date::lagging_kubelet;

use crate::effect::Target;
use crate::plan::Plan;
use crate::waiting::WaitingOn;
use conditions::Doing;
use draft::Draft;

/// What to do about a Machine now.
#[derive(Debug, Clone, Default, PartialEq)]
#[must_use = "a decision that nobody reads is not acted on"]
pub struct Decision {
    pub plan: Plan,
    /// What the shell has to do after the effects, if all of them succeeded.
    pub errand: Option<Errand>,
    /// What the status of the Machine should be. The plan writes it when it is the status's turn.
    pub status: MachineStatus,
    /// The status is not written yet: what it would say will pass by itself. The shell remembers since when.
    pub quiet_about: Option<Passing>,
    /// What went wrong. The shell logs it, and comes back with growing delays.
    pub problems: Vec<Problem>,
}

/// Decides what to do about a Machine.
///
/// # Guarantees
/// - An update is completed only when every extension of its plan said that it is done. No failure, silence, unknown
///   answer or missing extension is ever read as that.
/// - A Machine that is being deleted is not updated.
/// - The flags of `status.initialization` are never taken back.
/// - Deciding again after any part of the effects was carried out leads to the same end.
pub fn decide(observed: &Observed) -> Decision {
    let mut draft = Draft::new(observed);
    if !has_finalizer(observed) {
        return if observed.is_deleting() { leave(observed) } else { take_on(draft) };
    }
    if let Some(by) = paused_by(&observed.cluster, &observed.machine.metadata) {
        conditions::set_paused(&mut draft, by);
        draft.waiting_on.push(WaitingOn::Paused);
        return draft.finish();
    }
    owner::reconcile(&mut draft);
    bootstrap::reconcile(&mut draft);
    infrastructure::reconcile(&mut draft);
    node::reconcile(&mut draft);
    certificates::reconcile(&mut draft);
    let doing = if observed.is_deleting() {
        Doing::Deleting(deletion::reconcile(&mut draft))
    } else {
        Doing::Updating(in_place::reconcile(&mut draft))
    };
    conditions::reconcile(&mut draft, doing);
    phase::reconcile(&mut draft);
    draft.finish()
}

/// Whether an effect on this object goes to the workload cluster. All others go to the management cluster.
pub fn is_in_workload_cluster(target: &Target) -> bool {
    target.api_version == "v1" && target.kind == "Node"
}

fn has_finalizer(observed: &Observed) -> bool {
    observed.machine.metadata.finalizers.iter().flatten().any(|finalizer| finalizer == finalizers::MACHINE)
}

/// The Machine waits for somebody else's finalizer.
fn leave(observed: &Observed) -> Decision {
    Decision { status: observed.machine.status.clone(), ..Decision::default() }
}

/// Puts the finalizer on before anything else, so that nothing is made that nobody would clean up.
fn take_on(mut draft: Draft<'_>) -> Decision {
    draft.machine.metadata.finalizers.get_or_insert_default().push(finalizers::MACHINE.to_owned());
    draft.finish()
}
