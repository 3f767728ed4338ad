//! Deletes Machines: exactly those that were seen, as they were seen. One that somebody has moved since is not ours to delete.

use refit_api::cluster::{Machine, MachineSet};
use refit_api::conditions::{Status, get};
use refit_api::owners::controller_of;
use refit_api::vocabulary::annotations::REMEDIATE_MACHINE;
use refit_api::vocabulary::condition_types::HEALTH_CHECK_SUCCEEDED;
use refit_api::vocabulary::{events, finalizers};

use crate::effect::{Delete, Effect, Event, Target};
use crate::fleet;
use crate::machine_set::start_move::handover_of;
use crate::ownership::{leaves_orphans, remove_finalizer};

/// Deletes a Machine, and says so on the MachineSet. Nothing to do for one that is going already, or that never was in
/// the API: without a uid, the deletion could hit another one of its name.
pub fn delete(set: &MachineSet, machine: &Machine) -> Vec<Effect> {
    let has_uid = machine.metadata.uid.as_ref().is_some_and(|uid| !uid.is_empty());
    if fleet::is_deleting(machine) || !has_uid {
        return Vec::new();
    }
    let why = why(set, machine).map(|why| format!(": {why}")).unwrap_or_default();
    let message = format!("Deleted Machine {:?}{why}", fleet::name(machine));
    vec![
        Effect::Delete(Delete::as_seen(machine)),
        Effect::Emit(Event::normal(Target::of(set), events::SUCCESSFUL_DELETE, message)),
    ]
}

/// Why a Machine of the MachineSet is deleted, as far as the two of them tell it.
pub(crate) fn why(set: &MachineSet, machine: &Machine) -> Option<String> {
    let handover = handover_of(set);
    let unhealthy = get(&machine.status.conditions, HEALTH_CHECK_SUCCEEDED)
        .filter(|condition| Status::of(condition) == Status::False);
    let references = set.metadata.owner_references.as_deref().unwrap_or_default();
    if handover.is_scaffolding(fleet::name(machine)) {
        return Some("it stood in while the others were updated".to_owned());
    }
    if fleet::has_annotation(machine, REMEDIATE_MACHINE) {
        return Some(format!("somebody asked for another machine in its place, by {REMEDIATE_MACHINE}"));
    }
    if let Some(condition) = unhealthy {
        return Some(format!("it is unhealthy: {}", condition.message));
    }
    // Without a MachineDeployment, the number of machines is all that there is to change.
    let is_fewer = handover.scaled_down > 0 || controller_of(references).is_none();
    is_fewer.then(|| match fleet::has_update_failed(machine) {
        true => "fewer machines are wanted, and one whose update failed goes first".to_owned(),
        false => "fewer machines are wanted".to_owned(),
    })
}

/// What a MachineSet that is being deleted does: first its Machines go, or are set free where they are to stay, then
/// itself.
///
/// `machines` are all that it has, from a list that was read: with its finalizer gone, nobody would look after those
/// that are left.
pub fn delete_all(set: &MachineSet, machines: &[&Machine]) -> Vec<Effect> {
    if machines.is_empty() {
        return remove_finalizer(set, finalizers::MACHINE_SET).into_iter().collect();
    }
    if leaves_orphans(&set.metadata) {
        return Vec::new();
    }
    let is_staying = |machine: &&Machine| !fleet::is_deleting(machine);
    let deletions = machines.iter().copied().filter(is_staying).map(Delete::as_seen);
    deletions.map(Effect::Delete).collect()
}

#[cfg(test)]
mod tests {
    use refit_api::owners::ORPHAN_FINALIZER;

    use super::*;
    use crate::testing::{machine_of, machine_set};

    #[test]
    fn a_deletion_names_the_uid_that_was_seen() {
        let set = machine_set("ms", 1);
        let mut machine = machine_of(&set, "m1");
        let effects = delete(&set, &machine);
        let [Effect::Delete(deletion), Effect::Emit(event)] = &effects[..] else { panic!("{effects:?}") };
        assert_eq!(deletion.target.uid.as_deref(), Some("uid-m1"));
        assert_eq!(
            (event.reason, event.message.as_str()),
            ("SuccessfulDelete", "Deleted Machine \"m1\": fewer machines are wanted")
        );
        machine.metadata.deletion_timestamp = machine.metadata.creation_timestamp.clone();
        assert_eq!(delete(&set, &machine), []);
        machine.metadata.deletion_timestamp = None;
        machine.metadata.uid = None;
        assert_eq!(delete(&set, &machine), []);
    }

    #[test]
    fn the_finalizer_stays_until_machines_are_known_to_be_gone() {
        let mut set = machine_set("ms", 1);
        set.metadata.finalizers = Some(vec![finalizers::MACHINE_SET.to_owned()]);
        let mut going = machine_of(&set, "going");
        going.metadata.deletion_timestamp = going.metadata.creation_timestamp.clone();
        let staying = machine_of(&set, "m1");
        assert_eq!(delete_all(&set, &[&staying, &going]).len(), 1);
        assert_eq!(delete_all(&set, &[&going]), []);
        let last = delete_all(&set, &[]);
        assert!(matches!(&last[..], [Effect::Patch(_)]), "{last:?}");
        set.metadata.finalizers.get_or_insert_default().push(ORPHAN_FINALIZER.to_owned());
        assert_eq!(delete_all(&set, &[&staying, &going]), [], "they are to stay");
        assert_eq!(delete_all(&set, &[]).len(), 1, "they were set free");
    }
}
