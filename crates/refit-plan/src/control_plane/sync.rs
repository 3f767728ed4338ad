//! Keeps labels, annotations and everything else up to date that changes without an update.
//!
//! The objects of a Machine have two managers: one for the spec, which is applied at creation and by an update in place
//! only, and one for labels and annotations, which is applied whenever they change. An apply at creation gives both to
//! the first, so that its hold on labels and annotations is taken away afterwards.

use refit_api::cluster::MachineDeletionSpec;
use refit_api::vocabulary::annotations::{CLONED_FROM_GROUP_KIND, CLONED_FROM_NAME, UPDATE_IN_PROGRESS};
use refit_api::vocabulary::managers::{KUBEADM_CONTROL_PLANE, KUBEADM_CONTROL_PLANE_METADATA};
use serde_json::{Value, json};

use super::applied::{is_applied, is_apply_of, owned};
use super::decision::Decision;
use super::desired;
use super::observed::ObservedMachine;
use super::view::View;
use crate::effect::{Patch, Target};
use crate::merge::difference;

/// What the manager of the spec may hold of an object's annotations: an update in place applies them.
const OF_THE_SPEC: [&str; 3] = [CLONED_FROM_NAME, CLONED_FROM_GROUP_KIND, UPDATE_IN_PROGRESS];

/// Writes what differs.
pub(super) fn decide(view: &View<'_>, decision: &mut Decision) {
    for machine in view.machines() {
        if machine.is_deleting() {
            sync_deleting(view, machine, decision);
        } else {
            sync_machine(view, machine, decision);
            sync_objects(view, machine, decision);
        }
    }
}

/// Whether a Machine is still there only until the others are updated: until then it keeps the mark.
pub(super) fn stays_scaffolding(view: &View<'_>, machine: &ObservedMachine) -> bool {
    let is_over = view.observed.machines.len() <= view.observed.desired_replicas() && view.outdated().is_empty();
    machine.is_scaffolding() && !is_over
}

fn sync_machine(view: &View<'_>, machine: &ObservedMachine, decision: &mut Decision) {
    let intent = desired::synced_machine(view.observed, machine, stays_scaffolding(view, machine));
    if !is_applied(&encoded(&machine.machine), KUBEADM_CONTROL_PLANE, &intent) {
        decision.apply(Target::of(&machine.machine), KUBEADM_CONTROL_PLANE, intent);
    }
}

/// What still matters for a Machine on its way out. Nothing else of it is touched.
fn sync_deleting(view: &View<'_>, machine: &ObservedMachine, decision: &mut Decision) {
    let template = &view.observed.control_plane.spec.machine_template.spec;
    let (wanted, found) = (&template.deletion, &machine.machine.spec.deletion);
    // A timeout that is not asked for is left to its default.
    let deletion = MachineDeletionSpec {
        node_drain_timeout_seconds: wanted.node_drain_timeout_seconds.or(found.node_drain_timeout_seconds),
        node_volume_detach_timeout_seconds: wanted
            .node_volume_detach_timeout_seconds
            .or(found.node_volume_detach_timeout_seconds),
        node_deletion_timeout_seconds: wanted.node_deletion_timeout_seconds.or(found.node_deletion_timeout_seconds),
    };
    let before = json!({ "spec": { "deletion": found, "taints": machine.machine.spec.taints } });
    let after = json!({ "spec": { "deletion": deletion, "taints": template.taints } });
    if let Some(merge) = difference(&before, &after) {
        decision.patch(Patch::object(Target::of(&machine.machine), merge));
    }
}

fn sync_objects(view: &View<'_>, machine: &ObservedMachine, decision: &mut Decision) {
    let config = machine.kubeadm_config.as_ref().map(encoded);
    for object in machine.infrastructure.iter().chain(config.as_ref()) {
        release_metadata(object, decision);
        let intent = metadata_intent(view, object);
        if !is_applied(object, KUBEADM_CONTROL_PLANE_METADATA, &intent) {
            decision.apply(Target::of_value(object), KUBEADM_CONTROL_PLANE_METADATA, intent);
        }
    }
}

fn metadata_intent(view: &View<'_>, object: &Value) -> Value {
    let target = Target::of_value(object);
    json!({
        "apiVersion": target.api_version,
        "kind": target.kind,
        "metadata": {
            "name": target.name,
            "namespace": target.namespace,
            "labels": desired::labels_of(view.observed),
            "annotations": desired::annotations_of(view.observed),
        },
    })
}

/// Takes labels and annotations from the manager of the spec, so that it can never take them away.
fn release_metadata(object: &Value, decision: &mut Decision) {
    if !owned(object, KUBEADM_CONTROL_PLANE).is_some_and(holds_metadata) {
        return;
    }
    let mut entries = object.pointer("/metadata/managedFields").cloned().unwrap_or_default();
    for entry in entries.as_array_mut().into_iter().flatten().filter(|entry| is_apply_of(entry, KUBEADM_CONTROL_PLANE))
    {
        if let Some(fields) = entry.pointer_mut("/fieldsV1/f:metadata").and_then(Value::as_object_mut) {
            fields.remove("f:labels");
            fields.remove("f:annotations");
        }
    }
    let mut patch = Patch::object(Target::of_value(object), json!({ "metadata": { "managedFields": entries } }));
    patch.resource_version = text(object, "/metadata/resourceVersion");
    decision.patch(patch);
}

fn holds_metadata(fields: &Value) -> bool {
    let is_of_the_spec =
        |name: &String| name == "." || OF_THE_SPEC.iter().any(|own| name.strip_prefix("f:") == Some(own));
    let annotations = fields.pointer("/f:metadata/f:annotations").and_then(Value::as_object);
    fields.pointer("/f:metadata/f:labels").is_some() || annotations.is_some_and(|held| !held.keys().all(is_of_the_spec))
}

pub(super) fn text(object: &Value, pointer: &str) -> Option<String> {
    object.pointer(pointer).and_then(Value::as_str).map(str::to_owned)
}

pub(super) fn encoded(object: &impl serde::Serialize) -> Value {
    serde_json::to_value(object).expect("an object of ours must encode")
}
