//! Keeps labels, annotations and everything else up to date that changes without an update.
//!
//! The objects of a Machine have two managers: one for the spec, which is applied at creation and by an update in place
//! only, and one for labels and annotations, which is applied whenever they change. An apply at creation gives both to
//! the first, so that its hold on labels and annotations is taken away afterwards.

use kube::core::ObjectMeta;
use refit_api::cluster::MachineDeletionSpec;
use refit_api::vocabulary::managers::{KUBEADM_CONTROL_PLANE, KUBEADM_CONTROL_PLANE_METADATA};
use serde_json::{Value, json};

use super::applied::is_applied;
use super::decision::Decision;
use super::desired;
use super::observed::ObservedMachine;
use super::view::View;
use crate::effect::{Patch, Target};
use crate::field_ownership::{Layout, remember, repair};
use crate::merge::difference;
use crate::ownership::replace_managed_fields;

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
    let metadata = &machine.machine.metadata;
    let target = Target::of(&machine.machine);
    let entries = metadata.managed_fields.as_deref().unwrap_or_default();
    if let Some(entries) = remember(entries, KUBEADM_CONTROL_PLANE, &target.api_version) {
        return decision.write(replace_managed_fields(target, metadata, &entries));
    }
    let intent = desired::synced_machine(view.observed, machine, stays_scaffolding(view, machine));
    if !is_applied(&encoded(&machine.machine), KUBEADM_CONTROL_PLANE, &intent) {
        decision.apply(target, KUBEADM_CONTROL_PLANE, intent);
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
        mend_owners(object, decision);
        let intent = metadata_intent(view, object);
        if !is_applied(object, KUBEADM_CONTROL_PLANE_METADATA, &intent) {
            decision.apply(Target::of_value(object), KUBEADM_CONTROL_PLANE_METADATA, intent);
        }
    }
}

/// Brings the managed fields of an object into order before its labels and annotations are applied: after its creation,
/// where Cluster API up to v1.11 wrote them, and where the API server has lost them.
fn mend_owners(object: &Value, decision: &mut Decision) {
    // Metadata that cannot be read has no owners that could be mended; the apply says what is wrong with it.
    let metadata: ObjectMeta = serde_json::from_value(object["metadata"].clone()).unwrap_or_default();
    let entries = metadata.managed_fields.as_deref().unwrap_or_default();
    let target = Target::of_value(object);
    if let Some(entries) = repair(entries, Layout::KUBEADM_CONTROL_PLANE, &target.api_version) {
        decision.write(replace_managed_fields(target, &metadata, &entries));
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

pub(super) fn text(object: &Value, pointer: &str) -> Option<String> {
    object.pointer(pointer).and_then(Value::as_str).map(str::to_owned)
}

pub(super) fn encoded(object: &impl serde::Serialize) -> Value {
    serde_json::to_value(object).expect("an object of ours must encode")
}
