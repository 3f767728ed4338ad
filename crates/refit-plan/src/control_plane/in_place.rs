//! Hands a Machine over to the Machine controller for an update in place, and goes on with a hand-over that was cut
//! short.
//!
//! | | object | write |
//! |---|---|---|
//! | 1 | Machine | the mark and the frozen plan, in one patch |
//! | 2 | infrastructure object | the new spec and the mark |
//! | 3 | KubeadmConfig | the new spec and the mark |
//! | 4 | KubeadmConfig | without `initConfiguration`, where no apply takes it away |
//! | 5 | Machine | the new version |
//! | 6 | Machine | the pending hook: the Machine controller begins |
//! | 7 | Machine | an event |
//!
//! After the first write the Machine is in the hand-over until the sixth. What is handed over is what was accepted: if
//! the target moved on meanwhile, a hand-over of which nothing but the mark was written is taken back, and any other
//! needs a new plan.

use refit_api::pending_hooks;
use refit_api::vocabulary::annotations::{CLONED_FROM_GROUP_KIND, CLONED_FROM_NAME, PENDING_HOOKS, UPDATE_IN_PROGRESS};
use refit_api::vocabulary::events::SUCCESSFUL_START_IN_PLACE_UPDATE;
use refit_api::vocabulary::managers::KUBEADM_CONTROL_PLANE;
use refit_api::vocabulary::refit::annotations::{UPDATE_FAILED, UPDATE_PLAN, UPDATE_PROGRESS};
use serde_json::{Value, json};

use super::applied::owned;
use super::decision::Decision;
use super::desired;
use super::etcd::forward_leadership;
use super::knowledge::{refusal, unknown, unsettled};
use super::machine::{UPDATE_MACHINE, annotation_of};
use super::observed::{Coverage, ObservedMachine};
use super::preflight::RETRY;
use super::quorum;
use super::rollout;
use super::sync::{encoded, stays_scaffolding};
use super::view::View;
use crate::coverage::Accepted;
use crate::coverage::FrozenPlan;
use crate::coverage::kubeadm_config::Flavour;
use crate::effect::{Event, Patch, Target};
use crate::fleet;

/// Whether the update of a Machine can begin; if not, the decision says why.
pub(super) fn can_begin(view: &View<'_>, machine: &ObservedMachine, decision: &mut Decision) -> bool {
    let name = machine.name();
    let why = if objects(view, machine).is_none() {
        format!("an object of machine {name}, or its template, is not there")
    } else if !quorum::survives_update(view.observed, machine) {
        format!("etcd would lose its quorum while machine {name} is updated")
    } else {
        return true;
    };
    decision.wait_for(why);
    decision.requeue(RETRY);
    false
}

/// Begins the update of a Machine that extensions have accepted and that [can begin](can_begin).
pub(super) fn begin(view: &View<'_>, machine: &ObservedMachine, plan: &FrozenPlan, decision: &mut Decision) {
    let Some(objects) = objects(view, machine) else { return };
    forward_leadership(view, machine, decision);
    mark(machine, plan, decision);
    hand_over(view, machine, objects, decision);
}

/// Goes on with hand-overs that were cut short. Tells whether there is something to write for one.
pub(super) fn resume(view: &View<'_>, decision: &mut Decision) -> bool {
    let is_open = |machine: &&ObservedMachine| {
        machine.is_marked() && !machine.is_deleting() && (!machine.is_pending() || is_over(machine))
    };
    // Only ever one is begun at a time, so that there is more than one only where somebody else set a mark.
    let before = decision.steps.len();
    for machine in view.machines().filter(is_open) {
        resume_one(view, machine, decision);
        if decision.steps.len() > before {
            return true;
        }
    }
    false
}

/// Whether nobody is at work on it although its update is not done, so that it may become something else.
fn is_over(machine: &ObservedMachine) -> bool {
    machine.has_failed_update() || fleet::is_free(&machine.machine)
}

fn resume_one(view: &View<'_>, machine: &ObservedMachine, decision: &mut Decision) {
    let name = machine.name();
    let frozen = match machine.frozen_plan() {
        // Somebody who knows no plans began it. Its hand-over is upstream's: with what is wanted now.
        None if !machine.is_pending() => return go_on(view, machine, decision),
        None => return,
        Some(Err(error)) => {
            let words = format!("the update plan of machine {name} cannot be read: {}", error.words());
            return decision.wait_for(words);
        }
        Some(Ok(frozen)) => frozen,
    };
    let (target, verdict) = match &machine.coverage {
        Coverage::NotAsked => {
            decision.ask.insert(name.to_owned());
            return;
        }
        Coverage::Unknown { why } => return unsettled(unknown(machine, why.clone()), decision),
        // Nothing has happened to it, so that it need not wait with a mark.
        Coverage::Refused(_) if !is_begun(machine) => return take_back(machine, decision),
        Coverage::Refused(refused) => return unsettled(refusal(machine, refused), decision),
        Coverage::Asked { target, change: _, verdict } => (target, verdict),
    };
    match (*target == frozen.target, machine.is_pending()) {
        (true, false) => go_on(view, machine, decision),
        // It failed, and nothing has changed since.
        (true, true) => {}
        (false, false) if !is_begun(machine) => take_back(machine, decision),
        (false, _) => change_course(view, machine, &frozen, verdict, decision),
    }
}

fn go_on(view: &View<'_>, machine: &ObservedMachine, decision: &mut Decision) {
    match objects(view, machine) {
        Some(objects) => hand_over(view, machine, objects, decision),
        None => decision.wait_for(format!("machine {} has lost an object in the middle of its update", machine.name())),
    }
}

/// Whether more than the mark was written.
fn is_begun(machine: &ObservedMachine) -> bool {
    let config = machine.kubeadm_config.as_ref().and_then(|config| config.metadata.annotations.as_ref());
    machine.infrastructure.as_ref().is_some_and(|object| annotation_of(object, UPDATE_IN_PROGRESS).is_some())
        || config.is_some_and(|annotations| annotations.contains_key(UPDATE_IN_PROGRESS))
}

/// The target has moved on before anything was written for the old one: nothing has happened.
fn take_back(machine: &ObservedMachine, decision: &mut Decision) {
    let annotations = json!({ UPDATE_IN_PROGRESS: null, UPDATE_PLAN: null });
    let mut patch = Patch::object(Target::of(&machine.machine), json!({ "metadata": { "annotations": annotations } }));
    patch.resource_version = machine.machine.metadata.resource_version.clone();
    decision.patch(patch);
}

/// The target has moved on in the middle: what was accepted for it is run, after what is left of the old plan.
fn change_course(
    view: &View<'_>,
    machine: &ObservedMachine,
    frozen: &FrozenPlan,
    verdict: &Accepted,
    decision: &mut Decision,
) {
    match verdict {
        Accepted::Covered { plan } => {
            mark(machine, &plan.clone().after(frozen, &fleet::progress_of(&machine.machine).missing), decision);
            go_on(view, machine, decision);
        }
        Accepted::Uncovered { .. } | Accepted::Undecided { .. } => rollout::without_plan(view, machine, decision),
    }
}

/// Marks the Machine, and freezes the plan with it. A hook that waits for an older plan is called off.
fn mark(machine: &ObservedMachine, plan: &FrozenPlan, decision: &mut Decision) {
    let mut annotations = json!({ UPDATE_IN_PROGRESS: "", UPDATE_PLAN: plan.encode() });
    if is_over(machine) {
        (annotations[UPDATE_FAILED], annotations[UPDATE_PROGRESS]) = (Value::Null, Value::Null);
    }
    if machine.is_pending() {
        let mut left = machine.annotations().clone();
        pending_hooks::mark_done(&mut left, UPDATE_MACHINE);
        annotations[PENDING_HOOKS] = json!(left.get(PENDING_HOOKS));
    }
    let mut patch = Patch::object(Target::of(&machine.machine), json!({ "metadata": { "annotations": annotations } }));
    patch.resource_version = machine.machine.metadata.resource_version.clone();
    decision.patch(patch);
}

/// The objects of a Machine as they should be; nothing if one is not there.
pub(super) struct Objects {
    infrastructure: (Target, Value),
    config: (Target, Value),
}

pub(super) fn objects(view: &View<'_>, machine: &ObservedMachine) -> Option<Objects> {
    let (live, config) = (machine.infrastructure.as_ref()?, machine.kubeadm_config.as_ref()?);
    let target = Target::of_value(live);
    let mut infrastructure = desired::infrastructure(view.observed, &target.name, Some(live))?;
    let from = |key: &str| annotation_of(&infrastructure, key).unwrap_or_default().to_owned();
    let annotations = json!({
        CLONED_FROM_NAME: from(CLONED_FROM_NAME),
        CLONED_FROM_GROUP_KIND: from(CLONED_FROM_GROUP_KIND),
        UPDATE_IN_PROGRESS: "",
    });
    set_metadata(&mut infrastructure, annotations);
    let name = config.metadata.name.as_deref().unwrap_or_default();
    let mut intent = desired::kubeadm_config(view.observed, name, Flavour::Join, Some(config));
    set_metadata(&mut intent, json!({ UPDATE_IN_PROGRESS: "" }));
    Some(Objects { infrastructure: (target, infrastructure), config: (Target::of(config), intent) })
}

/// Labels and annotations have a manager of their own, but for these.
fn set_metadata(intent: &mut Value, annotations: Value) {
    intent["metadata"]["annotations"] = annotations;
    if let Some(metadata) = intent["metadata"].as_object_mut() {
        metadata.remove("labels");
    }
}

/// The second write and all that follow it.
pub(super) fn hand_over(view: &View<'_>, machine: &ObservedMachine, objects: Objects, decision: &mut Decision) {
    let Objects { infrastructure, config } = objects;
    decision.apply(infrastructure.0, KUBEADM_CONTROL_PLANE, infrastructure.1);
    decision.apply(config.0.clone(), KUBEADM_CONTROL_PLANE, config.1);
    if has_unowned_init_configuration(machine) {
        decision.patch(Patch::object(config.0, json!({ "spec": { "initConfiguration": null } })));
    }
    let target = Target::of(&machine.machine);
    let intent = desired::updated_machine(view.observed, machine, stays_scaffolding(view, machine));
    decision.apply(target.clone(), KUBEADM_CONTROL_PLANE, intent);
    let mut annotations = machine.annotations().clone();
    pending_hooks::mark_pending(&mut annotations, UPDATE_MACHINE);
    let pending = json!({ "metadata": { "annotations": { PENDING_HOOKS: annotations.get(PENDING_HOOKS) } } });
    decision.patch(Patch::object(target.clone(), pending));
    decision.emit(Event::normal(target, SUCCESSFUL_START_IN_PLACE_UPDATE, "Machine starting in-place update"));
}

/// KubeadmConfigs that Cluster API up to v1.11 made have a spec that nobody owns, so that no apply takes a field away.
fn has_unowned_init_configuration(machine: &ObservedMachine) -> bool {
    let Some(config) = machine.kubeadm_config.as_ref().map(encoded) else { return false };
    let is_owned = owned(&config, KUBEADM_CONTROL_PLANE)
        .is_some_and(|fields| fields.pointer("/f:spec/f:initConfiguration").is_some());
    config.pointer("/spec/initConfiguration").is_some() && !is_owned
}
