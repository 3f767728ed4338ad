//! What reaches machines without a rollout.

use refit_api::cluster::Machine;

use super::decision::Task;
use super::draft::Draft;
use super::observed::ObservedMachine;
use super::problem::Problem;
use crate::fleet;
use crate::machine_set::sync::sync;

/// Syncs every machine that this pass does not write to otherwise: such a one moves, or goes, or has its turn next. One whose
/// update is under way has its turn after that: what runs is what was accepted.
pub(super) fn decide(draft: &mut Draft<'_>) {
    for found in draft.machines() {
        if found.is_synced {
            draft.decision.synced.insert(found.name().to_owned());
        } else if !draft.is_written(found.name()) && !is_being_updated(&found.machine) {
            one(draft, found);
        }
    }
}

fn is_being_updated(machine: &Machine) -> bool {
    fleet::is_updating(machine) && !fleet::has_update_failed(machine) && !fleet::is_deleting(machine)
}

fn one(draft: &mut Draft<'_>, found: &ObservedMachine) {
    let machine = || found.name().to_owned();
    match sync(draft.set(), found.parts()) {
        Ok(synced) => {
            if synced.effects.is_empty() && synced.problems.is_empty() {
                draft.decision.synced.insert(machine());
            }
            draft.task(Task::of_machine(&found.machine, synced.effects));
            for source in synced.problems {
                draft.problem(Problem::Object { machine: machine(), source });
            }
        }
        Err(source) => draft.problem(Problem::Sync { machine: machine(), source: source.into() }),
    }
}
