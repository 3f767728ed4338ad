//! What is told of a MachineSet.

use std::time::Duration;

use refit_api::cluster::{Machine, MachineSetStatus};
use refit_api::conditions::{self, NewCondition, PausedBy};

use super::draft::Draft;
use super::problem::Problem;
use crate::machine_set::status::{self, status};
use crate::reading::{Listed, Unreadable};
use crate::status_patch::status_patch;

/// When to look again at machines that are not ready, even if nothing is heard of them.
const UNREADY_RETRY: Duration = Duration::from_secs(15);

/// Tells how things are, from the machines as they were seen.
pub(super) fn report(draft: &mut Draft<'_>) {
    let Some(machines) = machines(draft) else { return };
    let blockers: Vec<&str> = draft.blockers.iter().map(String::as_str).collect();
    let told = status(status::Observed {
        set: draft.set(),
        machines: &machines,
        is_current: !draft.is_outgoing,
        blockers: &blockers,
        missing_templates: &draft.missing_templates,
        succeeded: draft.decision.problems.is_empty(),
        held: draft.handover.hold.as_deref().filter(|_| draft.machines.is_some()),
        now: draft.observed.now,
    });
    match told {
        Ok(status) => {
            requeue(draft, &status);
            write(draft, status, conditions::not_paused());
        }
        Err(error) => draft.problem(Problem::Status(error)),
    }
}

/// Of a MachineSet that is left alone, only that is told.
pub(super) fn paused(draft: &mut Draft<'_>, by: PausedBy) {
    write(draft, draft.set().status.clone(), conditions::paused("MachineSet", by));
}

/// The machines to tell about. Nothing if the MachineSet goes, or its machines change, with this very pass.
fn machines<'a>(draft: &Draft<'a>) -> Option<Listed<&'a Machine>> {
    let is_gone = draft.is_deleting() && !draft.decision.tasks.is_empty() && draft.machines().is_empty();
    match (&draft.machines, draft.decision.problems.first()) {
        _ if is_gone => None,
        (Some(_), _) => Some(Listed::All(draft.machines().iter().map(|found| &*found.machine).collect())),
        (None, Some(problem)) => {
            Some(Listed::Unreadable(Unreadable { what: "machines".to_owned(), why: problem.to_string() }))
        }
        (None, None) => None,
    }
}

fn write(draft: &mut Draft<'_>, mut status: MachineSetStatus, pause: NewCondition) {
    let set = draft.set();
    conditions::set(&mut status.conditions, pause, set.metadata.generation, draft.observed.now);
    draft.decision.report = status_patch(set, &set.status, &status);
    draft.decision.status = status;
}

/// A machine becomes available by the mere passing of time; that it became ready may not be heard of.
fn requeue(draft: &mut Draft<'_>, status: &MachineSetStatus) {
    let wanted = draft.set().spec.replicas;
    let seconds = draft.set().spec.template.spec.min_ready_seconds.and_then(|seconds| u64::try_from(seconds).ok());
    let is_known = draft.machines.is_some() && !draft.is_deleting();
    match seconds.filter(|seconds| *seconds > 0) {
        _ if !is_known => {}
        Some(seconds) if status.ready_replicas == wanted && status.available_replicas != wanted => {
            draft.requeue(Duration::from_secs(seconds));
        }
        _ if status.ready_replicas != wanted => draft.requeue(UNREADY_RETRY),
        _ => {}
    }
}
