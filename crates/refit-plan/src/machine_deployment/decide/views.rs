//! From whole objects to what the planner looks at.

use std::borrow::Cow;

use jiff::Timestamp;
use refit_api::cluster::{Machine, MachineSet};
use refit_api::conditions;
use refit_api::name_set::NameSet;
use refit_api::vocabulary::annotations::{DESIRED_REPLICAS, DISABLE_MACHINE_CREATE, MAX_REPLICAS};
use refit_api::vocabulary::condition_types::AVAILABLE;
use refit_api::vocabulary::refit::annotations::FAILED_UPDATES;
use refit_api::vocabulary::refit::condition_types::HELD;

use super::pass::{New, Pass, created};
use super::wishes::Wishes;
use crate::fleet;
use crate::handover::Handover;
use crate::machine_deployment::{Counters, Coverage, MachineSetView, MachineView, Observed, OldMachineSet};
use crate::machine_set::refusal::MoveRefusal;

/// What the planner looks at. The coverages are those of the old MachineSets, in their order.
pub(super) fn observed<'a>(
    pass: &Pass<'_>,
    wishes: &Wishes,
    machines: Vec<MachineView<'a>>,
    coverages: Vec<Coverage>,
) -> Observed<'a> {
    let new = match &pass.new {
        New::Existing(set) => Some(machine_set(set)),
        New::ToBeCreated { name, .. } => Some(MachineSetView::to_be_created(name.clone(), pass.observed.now)),
        New::None => None,
    };
    let old = pass.old.iter().zip(coverages);
    Observed {
        deployment: wishes.view,
        new,
        old: old.map(|(old, coverage)| OldMachineSet { view: machine_set(old.set), coverage }).collect(),
        machines,
    }
}

fn machine_set(set: &MachineSet) -> MachineSetView {
    let count = |counter: Option<i32>| counter.unwrap_or_default();
    let annotations = set.metadata.annotations.as_ref();
    let handover = annotations.map(Handover::read).unwrap_or_default();
    MachineSetView {
        name: set.metadata.name.clone().unwrap_or_default(),
        created: created(set),
        spec_replicas: count(set.spec.replicas),
        counters: Counters {
            replicas: count(set.status.replicas),
            available: count(set.status.available_replicas),
            up_to_date: count(set.status.up_to_date_replicas),
        },
        max_replicas: annotations.and_then(|annotations| annotations.get(MAX_REPLICAS)?.parse().ok()),
        desired_replicas: annotations.and_then(|annotations| annotations.get(DESIRED_REPLICAS)?.parse().ok()),
        disable_machine_create: annotations
            .is_some_and(|all| all.get(DISABLE_MACHINE_CREATE).is_some_and(|text| text == "true")),
        version: set.metadata.resource_version.clone().unwrap_or_default(),
        held: handover.hold.as_deref().is_some_and(|hold| is_held(set, hold)),
        handover,
        failed_updates: annotations.map(|all| NameSet::from_annotation(all, FAILED_UPDATES)).unwrap_or_default(),
    }
}

/// Whether the MachineSet has taken note of exactly this hold. What it said of an earlier one says nothing.
fn is_held(set: &MachineSet, hold: &str) -> bool {
    conditions::get(&set.status.conditions, HELD).is_some_and(|held| held.status == "True" && held.message == hold)
}

/// A machine as the planner sees it.
pub(super) fn machine<'a>(machine: &'a Machine, set: &'a str) -> MachineView<'a> {
    let updating = fleet::is_updating(machine);
    let is_free = updating && fleet::is_free(machine);
    let created = machine.metadata.creation_timestamp.as_ref();
    MachineView {
        name: Cow::Borrowed(fleet::name(machine)),
        machine_set: Cow::Borrowed(set),
        created: created.map_or(Timestamp::UNIX_EPOCH, |created| created.0),
        scaffolding: fleet::is_scaffolding(machine),
        pending_acknowledge: fleet::is_pending_acknowledge(machine),
        updating,
        update_failed: updating && fleet::has_update_failed(machine),
        update_over: is_free,
        gone: Some(machine).filter(|_| is_free).and_then(fleet::gone_extension).map(Box::new),
        available: !updating && conditions::is_true(&machine.status.conditions, AVAILABLE),
        deleting: fleet::is_deleting(machine),
        refused: MoveRefusal::of(machine).map(Box::new),
    }
}
