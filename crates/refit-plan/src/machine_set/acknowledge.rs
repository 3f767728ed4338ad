//! Which of the machines that were moved here may begin with their update.

use super::{MachineView, Observed};

/// The pending machines that the MachineDeployment has acknowledged; all of them when no machines are received any more.
pub fn released(observed: &Observed) -> Vec<String> {
    let is_released = |machine: &&MachineView| {
        let is_listed = observed.handover.acknowledged.contains(&machine.name);
        machine.pending_acknowledge && (is_listed || !observed.handover.receives())
    };
    observed.machines.iter().filter(is_released).map(|machine| machine.name.clone()).collect()
}
