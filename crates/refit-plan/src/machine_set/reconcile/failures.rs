//! Updates that failed, on record: the record outlives the machine, whoever replaces that.
//!
//! A machine whose update failed uses up the budget of the rollout. Without a record, whoever deletes it would make room
//! for the next update that fails. It ends when the template changes, when the machine is tried again, or when somebody
//! takes the annotation off the MachineSet.

use refit_api::cluster::MachineSet;
use refit_api::name_set::NameSet;
use refit_api::vocabulary::refit::annotations::FAILED_UPDATES;
use serde_json::json;

use super::decision::Task;
use super::draft::Draft;
use super::observed::ObservedMachine;
use crate::effect::{Effect, Patch, Target};
use crate::fleet;
use crate::machine_set::remediation::Owner;

/// The machines whose update is on record as failed.
pub(super) fn recorded(set: &MachineSet) -> NameSet {
    let annotations = set.metadata.annotations.as_ref();
    annotations.map(|all| NameSet::from_annotation(all, FAILED_UPDATES)).unwrap_or_default()
}

/// Brings the record up to date.
pub(super) fn decide(draft: &mut Draft<'_>, owner: &Owner) {
    let record = match owner {
        Owner::Nobody => return,
        Owner::Outgoing { .. } => NameSet::default(),
        Owner::Current { .. } => record(draft),
    };
    if record == draft.recorded {
        return;
    }
    let value = (!record.is_empty()).then(|| record.to_string());
    let merge = json!({ "metadata": { "annotations": { FAILED_UPDATES: value } } });
    let patch = Patch::object(Target::of(draft.set()), merge);
    draft.task(Task::of_set(draft.set(), vec![Effect::Patch(patch)]));
}

/// Those of before that are gone or going, and those that fail now.
fn record(draft: &Draft<'_>) -> NameSet {
    let machines = draft.machines.iter().flatten();
    let failing = machines.filter(|(name, found)| draft.to_record.contains(**name) || has_failed(found));
    let failing = failing.map(|(name, _)| *name);
    let is_known = |name: &&str| match draft.machines.as_ref().and_then(|machines| machines.get(name)) {
        Some(found) => fleet::is_deleting(&found.machine) || fleet::is_to_be_remediated(&found.machine),
        None => true,
    };
    draft.recorded.iter().filter(is_known).chain(failing).collect()
}

/// One that goes in the middle of an update that failed before is not tried again.
fn has_failed(found: &ObservedMachine) -> bool {
    let machine = &found.machine;
    fleet::has_update_failed(machine) || (fleet::is_deleting(machine) && fleet::is_update_over(machine))
}
