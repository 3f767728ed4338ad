//! What is told of each Machine: whether it is what it should be, and whether it is replaced for its health.

use refit_api::conditions::{self, NewCondition, machine as words};
use refit_api::vocabulary::condition_types as types;
use serde_json::json;

use super::Told;
use crate::control_plane::decision::{self, Decision};
use crate::control_plane::observed::ObservedMachine;
use crate::control_plane::view::View;
use crate::effect::{Effect, Part, Patch, Target};

/// Reports the conditions that change, and gives all of them as they are then.
pub(super) fn report<'a>(view: &View<'a>, decision: &mut Decision) -> Told<'a> {
    let mut all = Told::new();
    for machine in view.machines() {
        let told = decision.told.iter().filter(|(name, _)| name == machine.name()).map(|(_, told)| told.clone());
        let changes: Vec<_> = std::iter::once(decision::Told::Set(up_to_date(view, machine))).chain(told).collect();
        let read = view.read.machines.get(machine.name()).unwrap_or(machine);
        let before = &read.machine.status.conditions;
        let mut after = machine.machine.status.conditions.clone();
        for change in changes {
            apply(view, machine, change, &mut after);
        }
        if *before != after {
            let (target, merge) = (Target::of(&machine.machine), json!({ "status": { "conditions": after } }));
            let resource_version = machine.machine.metadata.resource_version.clone();
            let patch = Patch { part: Part::Status, resource_version, ..Patch::object(target, merge) };
            decision.reports.push(Effect::Patch(patch));
        }
        all.insert(machine.name(), after);
    }
    all
}

fn apply(
    view: &View<'_>,
    machine: &ObservedMachine,
    change: decision::Told,
    all: &mut Vec<k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition>,
) {
    match change {
        decision::Told::Set(condition) => {
            conditions::set(all, condition, machine.machine.metadata.generation, view.observed.now);
        }
        decision::Told::Removed(type_) => conditions::remove(all, type_),
    }
}

/// Its spec comes first, then an update under way, then what its kubelet says.
fn up_to_date(view: &View<'_>, machine: &ObservedMachine) -> NewCondition {
    let differences = view.standing(machine).map(|standing| standing.differences.as_slice()).unwrap_or_default();
    if !differences.is_empty() {
        return words::not_up_to_date(differences);
    }
    if machine.is_updating() {
        let updating = conditions::get(&machine.machine.status.conditions, types::UPDATING);
        let message =
            updating.filter(|condition| condition.status == "True").map(|condition| condition.message.as_str());
        return words::not_up_to_date_while_updating(message.unwrap_or_default());
    }
    match machine.lagging_kubelet() {
        Some((found, wanted)) => words::not_up_to_date_until_kubelet_is(found, wanted),
        None => words::up_to_date(),
    }
}
