//! A MachineSet that is being deleted: its Machines go first.

use super::decision::Task;
use super::draft::Draft;
use crate::machine_set::delete::delete_all;
use crate::ownership::leaves_orphans;
use crate::waiting::WaitingOn;

/// Deletes the Machines, and lets the MachineSet go when none is left. What they have left of interrupted creations is
/// owned by the MachineSet, and goes with it.
pub(super) fn decide(draft: &mut Draft<'_>) {
    let machines = draft.machines();
    let references: Vec<_> = machines.iter().map(|found| &*found.machine).collect();
    let effects = delete_all(draft.set(), &references);
    if machines.is_empty() {
        return draft.task(Task::of_set(draft.set(), effects));
    }
    if leaves_orphans(&draft.set().metadata) {
        let what = format!("waiting for {} Machines to be set free", machines.len());
        return draft.wait(WaitingOn::Other { what });
    }
    draft.task_for_each_target(effects);
    draft.wait(WaitingOn::Deletions { machines: machines.iter().map(|found| found.name().to_owned()).collect() });
}
