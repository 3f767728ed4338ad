//! The number of machines: what it takes to change it.

use super::decision::Task;
use super::draft::Draft;
use super::problem::Problem;
use super::{create, moves};
use crate::machine_set::Replicas;
use crate::machine_set::delete::delete;
use crate::machine_set::orphans::{Orphans, orphans};

/// Clears away orphans, and creates, moves or deletes.
pub(super) fn decide(draft: &mut Draft<'_>, replicas: Replicas) {
    let missing = if let Replicas::Create { missing, .. } = replicas { missing } else { 0 };
    let orphans = clear(draft, missing);
    match replicas {
        Replicas::Settled => moves::look_at_refused(draft),
        Replicas::Create { missing, scaffolding } => {
            if let Some(orphans) = orphans {
                create::decide(draft, missing, scaffolding, &orphans.unfinished);
            }
        }
        Replicas::CreateDisabled(missing) => {
            draft.wait_for(format!("Machines that are missing ({missing}) are not created: that is switched off"));
        }
        Replicas::Delete(names) => delete_all(draft, &names),
        Replicas::Keep(count) => {
            draft.wait_for(format!(
                "Machines that are too many ({count}) are not deleted: nothing says which of them may go"
            ));
        }
        Replicas::Move { machines, delete, next, .. } => {
            delete_all(draft, &delete);
            moves::decide(draft, &machines, &next);
        }
        Replicas::Refused { target, accepts } => moves::refuse(draft, target, accepts),
    }
}

/// What was left of interrupted creations; nothing if it is not known. What no Machine is missing for goes.
fn clear(draft: &mut Draft<'_>, missing: usize) -> Option<Orphans> {
    let machines = draft.machines();
    let references: Vec<_> = machines.iter().map(|found| &*found.machine).collect();
    match orphans(draft.set(), &references, &draft.observed.provider_objects, missing) {
        Ok(mut orphans) => {
            draft.task_for_each_target(std::mem::take(&mut orphans.delete));
            Some(orphans)
        }
        Err(error) => {
            draft.problem(Problem::Orphans(error));
            None
        }
    }
}

fn delete_all(draft: &mut Draft<'_>, names: &[String]) {
    for found in draft.named(names) {
        let effects = delete(draft.set(), &found.machine);
        draft.task(Task::of_machine(&found.machine, effects));
    }
}
