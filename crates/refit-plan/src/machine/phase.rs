//! What a Machine is doing, in one word.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use refit_api::cluster::{Machine, MachinePhase};
use refit_api::conditions::is_true;
use refit_api::vocabulary::condition_types as types;

use super::draft::Draft;

/// Sets the phase, and the time of its change.
pub(super) fn reconcile(draft: &mut Draft<'_>) {
    let phase = Some(of(&draft.machine));
    if draft.machine.status.phase != phase {
        draft.machine.status.phase = phase;
        draft.machine.status.last_updated = Some(Time(whole_seconds(draft.seen.now)));
    }
}

/// The last of the phases whose time has come.
fn of(machine: &Machine) -> MachinePhase {
    let status = &machine.status;
    let is_provisioned = status.initialization.infrastructure_provisioned == Some(true);
    let is_bootstrapped = status.initialization.bootstrap_data_secret_created == Some(true);
    let phases = [
        (machine.metadata.deletion_timestamp.is_some(), MachinePhase::Deleting),
        (is_true(&status.conditions, types::UPDATING), MachinePhase::Updating),
        (status.node_ref.is_some() && is_provisioned, MachinePhase::Running),
        (machine.spec.provider_id.is_some(), MachinePhase::Provisioned),
        (is_bootstrapped && !is_provisioned, MachinePhase::Provisioning),
    ];
    let due = phases.into_iter().find(|(is_due, _)| *is_due).map(|(_, phase)| phase);
    due.or(status.phase).unwrap_or(MachinePhase::Pending)
}

/// Times in a status have whole seconds, as on the wire: what is written must equal what is read back.
pub(super) fn whole_seconds(time: jiff::Timestamp) -> jiff::Timestamp {
    jiff::Timestamp::from_second(time.as_second()).expect("the seconds of a timestamp must be a timestamp")
}
