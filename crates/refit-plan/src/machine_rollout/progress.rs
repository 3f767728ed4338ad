//! How far a rollout is, counted over machines. Each counts once.

use refit_api::cluster::Machine;
use refit_api::conditions::is_true;
use refit_api::owners;
use refit_api::rollout::RolloutProgress;
use refit_api::vocabulary::refit::condition_types::UPDATE_FAILED;

use super::Observed;
use crate::machine::is_updating;
use crate::machine_deployment::status::is_complete;

/// Whether all machines are there and as they should be, and the MachineDeployment says so, too.
pub(super) fn is_done(observed: &Observed<'_>, progress: &RolloutProgress) -> bool {
    let wanted = observed.deployment.spec.replicas.unwrap_or_default();
    let is_counted = is_complete(observed.deployment, &observed.deployment.status);
    is_counted && progress.updated == progress.machines && progress.machines == wanted
}

pub(super) fn count(observed: &Observed<'_>) -> RolloutProgress {
    let mut progress = RolloutProgress::default();
    for machine in observed.machines {
        let counter = match (is_failed(machine), is_busy(machine), is_of_new(observed, machine)) {
            (true, _, _) => &mut progress.failed,
            (false, true, _) => &mut progress.updating,
            (false, false, true) => &mut progress.updated,
            (false, false, false) => &mut progress.waiting,
        };
        *counter = counter.saturating_add(1);
        progress.machines = progress.machines.saturating_add(1);
    }
    progress
}

/// Whether its update failed for good.
pub(super) fn is_failed(machine: &Machine) -> bool {
    is_true(&machine.status.conditions, UPDATE_FAILED)
}

/// Whether it is being updated, or about to be.
pub(super) fn is_busy(machine: &Machine) -> bool {
    machine.metadata.annotations.as_ref().is_some_and(is_updating)
}

/// Whether the MachineSet of the wanted template has it.
pub(super) fn is_of_new(observed: &Observed<'_>, machine: &Machine) -> bool {
    let uid = observed.new.and_then(|set| set.metadata.uid.as_deref()).unwrap_or_default();
    owners::is_controlled_by_uid(machine.metadata.owner_references.as_deref().unwrap_or_default(), uid)
}
