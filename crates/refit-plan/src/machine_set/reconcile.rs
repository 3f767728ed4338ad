//! Decides what to do about a MachineSet, over whole objects: everything that [`decide`](super::decide) counts, as
//! writes in their order, with what is told and what is waited for.
//!
//! The steps of a pass, each gated by the earlier ones:
//!
//! | | step | goes on only if |
//! |---|---|---|
//! | 1 | finalizer, owner, labels and selector of the MachineSet itself | nothing had to be written |
//! | 2 | pause | it is not paused |
//! | 3 | its Machines are told from those of others, and adopted | they could be listed, and none was to be adopted |
//! | 4 | deletion: the Machines go, then the finalizer | it is not being deleted |
//! | 5 | whose it is: a MachineDeployment's current or outgoing MachineSet, or nobody's | that could be read |
//! | 6 | the templates belong to the Cluster | |
//! | 7 | unhealthy Machines are replaced, after a failure of their update is on record | |
//! | 8 | orphans, then: create, or move, or delete | |
//! | 9 | moves that are acknowledged are completed: the update begins | |
//! | 10 | labels, annotations and timeouts reach Machines that were not written to so far, and their objects | |
//! | 11 | the status | |
//!
//! A list of Machines that failed ends the pass at step 3: nothing is created, moved or deleted for numbers that nobody
//! knows. Upstream goes on with an empty list.
//!
//! # Order of writes
//! What must come in order is one [`Task`]. No two tasks write to the same object and none depends on another, so that a
//! write which is refused for one machine does not hold up the others, and the shell may carry out several at a time. In
//! a task:
//!
//! - creation: bootstrap configuration, host, Machine. What a crash leaves is found as an orphan, and finished;
//! - move: one patch with the new owner, the marks and the frozen plan, for the version that was read;
//! - completion: host, bootstrap configuration, Machine, then in one patch the hook and the end of the move;
//! - remediation: the condition, then the deletion.
//!
//! A machine that moves, or whose move is completed, is synced in the next pass only: its object is still the old one in
//! what was observed.
//!
//! # Hold
//! A MachineSet that its MachineDeployment has put on hold goes through all steps but 7 and 8, and repeats in its status what
//! the annotation says. That is the last write of a pass, and there is one pass at a time, so whoever reads it knows that
//! no decision of before is carried out any more.
//!
//! # What is checked before a move
//! Upstream makes preflight checks for creation and remediation only. Here a move that changes the version waits, too,
//! until the control plane is there: [`preflight::preflight_move`](super::preflight::preflight_move).

mod adoption;
mod create;
mod decision;
mod deletion;
mod draft;
mod failures;
mod moves;
mod observed;
mod problem;
mod remediation;
mod replicas;
mod report;
mod sync;
mod templates;
#[cfg(test)]
mod tests;
mod updates;
mod view;

pub use create::CREATIONS_PER_PASS;
pub use decision::{Decision, Task};
pub use moves::REHEARSALS_PER_PASS;
pub use observed::{MoveTarget, Observed, ObservedMachine, SetTemplates};
pub use problem::Problem;

use std::time::Duration;

use refit_api::vocabulary::finalizers;

use super::ownership::join_cluster;
use super::remediation::Owner;
use crate::machine::paused_by;
use crate::ownership::add_finalizer;
use crate::waiting::WaitingOn;
use draft::Draft;

/// Decides what to do about a MachineSet now.
///
/// # Guarantees
/// - Without a list of its Machines, nothing is created, moved or deleted.
/// - A Machine that was moved here is not deleted as surplus while it carries the mark of that and nobody has counted it.
/// - A Machine moves only after its new objects were accepted in a dry run, and only with the plan that extensions have
///   accepted for it.
/// - After a crash between any two writes, deciding again leads to the same end.
/// - Where nothing is left to do, there is no task and no report.
pub fn decide(observed: &Observed) -> Decision {
    let mut draft = Draft::new(observed);
    if takes_on(&mut draft) {
        return draft.into_decision();
    }
    if let Some(by) = paused_by(&observed.cluster, &observed.machine_set.metadata) {
        draft.wait(WaitingOn::Paused);
        report::paused(&mut draft, by);
        return draft.into_decision();
    }
    act(&mut draft);
    report::report(&mut draft);
    draft.into_decision()
}

/// Steps 3 to 10.
fn act(draft: &mut Draft<'_>) {
    let Some(machines) = adoption::machines(draft) else { return };
    draft.machines = Some(machines);
    if draft.is_deleting() {
        return deletion::decide(draft);
    }
    let owner = match Owner::of(&draft.observed.machine_set, &draft.observed.deployment) {
        Ok(owner) => owner,
        Err(error) => return draft.problem(Problem::Owner(error)),
    };
    draft.is_outgoing = owner.is_outgoing();
    templates::decide(draft, &owner);
    if draft.handover.hold.is_none() {
        remediation::decide(draft, &owner);
    }
    failures::decide(draft, &owner);
    if let Some(negative @ ..0) = draft.set().spec.replicas {
        draft.invalid(Problem::NegativeReplicas(negative));
    }
    let counted = view::count(draft);
    replicas::decide(draft, counted.replicas);
    updates::decide(draft, &counted.start_updates);
    sync::decide(draft);
}

/// Step 1. The MachineSet's version changes with it, so that everything else is decided about what it is then.
fn takes_on(draft: &mut Draft<'_>) -> bool {
    if draft.is_deleting() {
        return false;
    }
    let set = &draft.observed.machine_set;
    let own = match add_finalizer(set, finalizers::MACHINE_SET) {
        Some(finalizer) => vec![finalizer],
        None => match join_cluster(set, &draft.observed.cluster) {
            Ok(effects) => effects,
            Err(error) => {
                draft.problem(Problem::Identity(error));
                Vec::new()
            }
        },
    };
    let has_own = !own.is_empty();
    if has_own {
        draft.task(Task::of_set(set, own));
        draft.requeue(Duration::ZERO);
    }
    has_own
}
