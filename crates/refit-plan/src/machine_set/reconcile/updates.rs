//! Machines that were moved here: whose update begins, and who waits.

use std::collections::BTreeSet;

use super::decision::Task;
use super::draft::Draft;
use super::observed::ObservedMachine;
use super::problem::Problem;
use crate::fleet;
use crate::machine_set::complete_move::{Stage, complete_move, stage};
use crate::waiting::WaitingOn;

/// Completes the moves of `released`, and of those that were in the middle of it.
pub(super) fn decide(draft: &mut Draft<'_>, released: &[String]) {
    let released: BTreeSet<&str> = released.iter().map(String::as_str).collect();
    for found in draft.machines() {
        let is_due = released.contains(found.name()) || stage(&found.machine) == Stage::Released;
        if is_due && !fleet::is_deleting(&found.machine) && !draft.is_deleted(found.name()) {
            begin(draft, found);
        }
    }
    wait(draft, &released);
}

fn begin(draft: &mut Draft<'_>, found: &ObservedMachine) {
    let templates = match draft.observed.templates.found(draft.set()) {
        Ok(templates) => templates,
        Err(error) => return draft.missing(error),
    };
    match complete_move(draft.set(), templates, found.parts(), draft.observed.now) {
        Ok(effects) => draft.task(Task::of_machine(&found.machine, effects)),
        Err(error) => draft.problem(Problem::Update(error.into())),
    }
}

/// Says what the MachineSet waits for.
fn wait(draft: &mut Draft<'_>, released: &BTreeSet<&str>) {
    let (mut pending, mut updating) = (Vec::new(), Vec::new());
    let (mut provisioning, mut deleting) = (Vec::new(), Vec::new());
    for found in draft.machines() {
        let (machine, name) = (&found.machine, found.name().to_owned());
        if fleet::is_deleting(machine) || draft.is_deleted(&name) {
            deleting.push(name);
        } else if fleet::is_pending_acknowledge(machine) && !released.contains(found.name()) {
            pending.push(name);
        } else if fleet::is_updating(machine) {
            updating.push(name);
        } else if machine.status.node_ref.is_none() {
            provisioning.push(name);
        }
    }
    draft.wait_unless_empty(pending, |machines| WaitingOn::Acknowledgement { machines });
    draft.wait_unless_empty(updating, |machines| WaitingOn::Updates { machines });
    draft.wait_unless_empty(provisioning, |machines| WaitingOn::Provisioning { machines });
    draft.wait_unless_empty(deleting, |machines| WaitingOn::Deletions { machines });
}
