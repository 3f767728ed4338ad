//! The MachineSet and its Machines as they are counted.

use refit_api::cluster::{Machine, MachineSetDeletionOrder};
use refit_api::conditions;
use refit_api::policy::InPlacePolicy;
use refit_api::vocabulary::annotations::{DELETE_MACHINE, DISABLE_MACHINE_CREATE};
use refit_api::vocabulary::condition_types as types;

use super::draft::Draft;
use crate::fleet;
use crate::machine_set::objects::name_of;
use crate::machine_set::start_move::handover_of;
use crate::machine_set::{self as counting, MachineView, MoveTarget};
use crate::policy;

/// What the numbers say. A Machine that this pass deletes already counts as one that is going.
pub(super) fn count(draft: &Draft<'_>) -> counting::Decision {
    let set = draft.set();
    let annotations = set.metadata.annotations.as_ref();
    let (keeps_originals, is_required) = protection(draft);
    counting::decide(&counting::Observed {
        name: name_of(set).to_owned(),
        now: draft.observed.now,
        spec_replicas: wanted(draft),
        handover: draft.handover.clone(),
        disable_machine_create: annotations
            .is_some_and(|all| all.get(DISABLE_MACHINE_CREATE).is_some_and(|text| text == "true")),
        order: set.spec.deletion.order.unwrap_or(MachineSetDeletionOrder::Random),
        keeps_originals,
        is_required,
        target: target(draft),
        machines: draft.machines().iter().map(|found| view(draft, &found.machine)).collect(),
    })
}

/// How many machines are wanted. Of a MachineSet that does not say, as many as there are: it is not defaulted yet.
fn wanted(draft: &Draft<'_>) -> i32 {
    let present = || i32::try_from(draft.machines().len()).unwrap_or(i32::MAX);
    draft.set().spec.replicas.unwrap_or_else(present)
}

/// Whether machines that were there first stay, and whether none of them may be replaced at all. Both are so where nobody
/// can read what is asked for.
fn protection(draft: &Draft<'_>) -> (bool, bool) {
    let Ok(deployment) = draft.observed.deployment.found(String::new) else { return (false, false) };
    let (in_place, keep) =
        policy::of_deployment(deployment, &draft.observed.cluster).unwrap_or((InPlacePolicy::Require, true));
    (policy::keeps_originals(in_place, keep), in_place == InPlacePolicy::Require)
}

/// The other MachineSet, if it was read.
fn target(draft: &Draft<'_>) -> Option<MoveTarget> {
    let set = draft.observed.move_target.as_ref()?.machine_set.found(String::new).ok()?;
    Some(MoveTarget { name: name_of(set).to_owned(), receive_from: handover_of(set).receive_from })
}

fn view(draft: &Draft<'_>, machine: &Machine) -> MachineView {
    let name = fleet::name(machine);
    let is_false = |type_: &str| conditions::is_false(&machine.status.conditions, type_);
    MachineView {
        name: name.to_owned(),
        created: machine.metadata.creation_timestamp.as_ref().map(|time| time.0),
        pending_acknowledge: fleet::is_pending_acknowledge(machine),
        acknowledged: draft.handover.acknowledged.contains(name),
        scaffolding: fleet::is_scaffolding(machine),
        updating: fleet::is_updating(machine),
        update_failed: fleet::has_update_failed(machine),
        update_over: fleet::is_free(machine),
        update_retried: fleet::is_update_retried(machine),
        deleting: fleet::is_deleting(machine) || draft.is_deleted(name),
        delete_requested: fleet::has_annotation(machine, DELETE_MACHINE),
        has_node: machine.status.node_ref.is_some(),
        unhealthy: is_false(types::NODE_HEALTHY) || fleet::is_unhealthy(machine),
        to_be_remediated: fleet::is_to_be_remediated(machine) && !draft.spared.contains_key(name),
    }
}
