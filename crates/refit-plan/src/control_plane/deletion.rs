//! Takes the whole control plane down, after the workers.

use kube::core::ObjectMeta;
use refit_api::vocabulary::annotations::KCP_CLEANUP_HOOK;
use refit_api::vocabulary::finalizers;
use serde_json::json;

use super::decision::Decision;
use super::preflight::DELETION_RETRY;
use super::view::View;
use crate::effect::{Patch, Target};
use crate::waiting::WaitingOn;

/// The next step of the deletion. Updates in place are of no interest any more.
pub(super) fn decide(view: &View<'_>, decision: &mut Decision) {
    let observed = view.observed;
    if !observed.workers.is_empty() {
        decision.wait_for(format!("workers must go first: {}", observed.workers.join("; ")));
        return decision.requeue(DELETION_RETRY);
    }
    if observed.machines.is_empty() {
        return set_finalizers(view, decision, false);
    }
    for machine in view.machines() {
        let target = Target::of(&machine.machine);
        if machine.has(KCP_CLEANUP_HOOK) {
            // No etcd is left to care for.
            let merge = json!({ "metadata": { "annotations": { KCP_CLEANUP_HOOK: null } } });
            decision.patch(Patch::object(target.clone(), merge));
        }
        if !machine.is_deleting() {
            decision.delete(target);
        }
    }
    decision.wait(WaitingOn::Deletions { machines: observed.machines.keys().cloned().collect() });
    decision.requeue(DELETION_RETRY);
}

/// Whether the finalizer is there that keeps the control plane until its Machines are gone.
pub(super) fn has_finalizer(view: &View<'_>) -> bool {
    is_finalizer_set(&view.observed.control_plane.metadata)
}

/// The same of the metadata of a control plane.
pub(super) fn is_finalizer_set(metadata: &ObjectMeta) -> bool {
    metadata.finalizers.iter().flatten().any(|finalizer| finalizer == finalizers::KUBEADM_CONTROL_PLANE)
}

/// Puts the finalizer on, or takes it off.
pub(super) fn set_finalizers(view: &View<'_>, decision: &mut Decision, present: bool) {
    if has_finalizer(view) == present {
        return;
    }
    let metadata = &view.observed.control_plane.metadata;
    let mut all = metadata.finalizers.clone().unwrap_or_default();
    all.retain(|finalizer| finalizer != finalizers::KUBEADM_CONTROL_PLANE);
    all.extend(present.then(|| finalizers::KUBEADM_CONTROL_PLANE.to_owned()));
    let merge = json!({ "metadata": { "finalizers": all } });
    let mut patch = Patch::object(Target::of(&view.observed.control_plane), merge);
    patch.resource_version = metadata.resource_version.clone();
    decision.patch(patch);
}
