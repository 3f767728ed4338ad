//! What is told of a control plane and of its Machines.
//!
//! Counters, versions and conditions come from the Machines as this decision leaves them. `CertificatesAvailable` is
//! somebody else's, and so is what older versions of the API reported; both are kept.

mod available;
mod health;
mod machines;
mod replicas;

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use refit_api::conditions::{self, NewCondition, PausedBy, kubeadm_control_plane as words};
use refit_api::controlplane::{KubeadmControlPlane, KubeadmControlPlaneStatus};
use refit_api::vocabulary::{condition_types as types, events, labels};
use serde_json::json;

use super::decision::Decision;
use super::preflight::Blocker;
use super::view::View;
use crate::effect::{Effect, Event, Part, Patch, Target};
use crate::merge::difference;
use crate::waiting::{self, WaitingOn};

/// When to look again at a control plane that does not run yet, or not well.
const UNHEALTHY_RETRY: Duration = Duration::from_secs(20);

/// Machines with their conditions as they are after this decision.
pub(super) type Told<'a> = BTreeMap<&'a str, Vec<Condition>>;

/// Writes down what has become of everything.
pub(super) fn report(view: &View<'_>, decision: &mut Decision) {
    let told = machines::report(view, decision);
    let status = status(view, &told, decision);
    requeue(view, &status, decision);
    let is_change = push_status(view, status, decision);
    if is_change && decision.blockers.iter().any(|blocker| matches!(blocker, Blocker::Components | Blocker::Etcd)) {
        tell_unhealthy(view, decision);
    }
}

/// What is told of a control plane while something that it depends on cannot be read: nothing is decided about it.
pub fn unreadable(control_plane: &KubeadmControlPlane, why: String, now: Timestamp) -> Option<Effect> {
    let mut status = control_plane.status.clone();
    let condition = waiting::blocked(&[WaitingOn::Other { what: why }], |_| None);
    conditions::set(&mut status.conditions, condition, control_plane.metadata.generation, now);
    status_patch(control_plane, &control_plane.status, &status)
}

/// Of a control plane that is left alone, only that is told.
pub(super) fn report_paused(view: &View<'_>, by: PausedBy, decision: &mut Decision) {
    let mut status = view.observed.control_plane.status.clone();
    set(view, &mut status, conditions::paused("KubeadmControlPlane", by));
    push_status(view, status, decision);
}

fn status(view: &View<'_>, told: &Told<'_>, decision: &Decision) -> KubeadmControlPlaneStatus {
    let mut status = view.observed.control_plane.status.clone();
    status.selector =
        Some(format!("{}={},{}", labels::CLUSTER_NAME, view.observed.cluster_name(), labels::CONTROL_PLANE));
    replicas::count(view, told, &mut status);
    // Only who has nothing left to do about it has seen to the generation. In one write with what has come of it: nobody is to
    // read the counters of before as those of a rollout that is over.
    if decision.steps.is_empty() && decision.ask.is_empty() {
        status.observed_generation = view.observed.control_plane.metadata.generation.or(status.observed_generation);
    }
    status.last_remediation = replicas::last_remediation(view).or(status.last_remediation);
    if is_initialized_now(view) {
        status.initialization.control_plane_initialized = Some(true);
    }
    let is_initialized = status.initialization.control_plane_initialized == Some(true);
    set(view, &mut status, if is_initialized { words::initialized() } else { words::not_initialized() });
    let made = replicas::conditions(view, told, decision)
        .into_iter()
        .chain(health::conditions(view, is_initialized))
        .chain([conditions::not_paused(), deleting(view), waiting::blocked(&decision.waiting_on, |_| None)]);
    for condition in made {
        set(view, &mut status, condition);
    }
    let available = available::condition(view, &status.conditions);
    set(view, &mut status, available);
    status
}

fn set(view: &View<'_>, status: &mut KubeadmControlPlaneStatus, condition: NewCondition) {
    let generation = view.observed.control_plane.metadata.generation;
    conditions::set(&mut status.conditions, condition, generation, view.observed.now);
}

/// `kubeadm init` has succeeded. Not if the only Machine is on its way out: its successor must not join what is gone.
fn is_initialized_now(view: &View<'_>) -> bool {
    let mut machines = view.machines();
    let is_leaving = match (machines.next(), machines.next()) {
        (Some(only), None) => only.is_deleting() || only.is_to_be_remediated(),
        _ => false,
    };
    view.observed.has_kubeadm_config && !is_leaving
}

fn deleting(view: &View<'_>) -> NewCondition {
    let observed = view.observed;
    if observed.control_plane.metadata.deletion_timestamp.is_none() {
        conditions::not_deleting()
    } else if !observed.workers.is_empty() {
        words::deleting::waiting_for_workers(&observed.workers)
    } else if !observed.machines.is_empty() {
        words::deleting::waiting_for_machines(observed.machines.len(), replicas::stale(view).as_deref())
    } else {
        words::deleting::completed()
    }
}

fn requeue(view: &View<'_>, status: &KubeadmControlPlaneStatus, decision: &mut Decision) {
    let is_deleting = view.observed.control_plane.metadata.deletion_timestamp.is_some();
    let is_unwell = conditions::is_false(&status.conditions, types::INITIALIZED)
        || conditions::is_false(&status.conditions, types::CONTROL_PLANE_COMPONENTS_HEALTHY);
    if is_unwell && !is_deleting && decision.requeue_after.is_none() {
        decision.requeue(UNHEALTHY_RETRY);
    }
}

/// Reports the status if it changed, and tells whether it did.
fn push_status(view: &View<'_>, status: KubeadmControlPlaneStatus, decision: &mut Decision) -> bool {
    let patch = status_patch(&view.observed.control_plane, &view.read.control_plane.status, &status);
    let is_change = patch.is_some();
    decision.reports.extend(patch);
    is_change
}

fn status_patch(
    control_plane: &KubeadmControlPlane,
    before: &KubeadmControlPlaneStatus,
    after: &KubeadmControlPlaneStatus,
) -> Option<Effect> {
    let [before, after] = [before, after].map(|status| json!({ "status": status }));
    let merge = difference(&before, &after)?;
    let resource_version = control_plane.metadata.resource_version.clone();
    let patch = Patch { part: Part::Status, resource_version, ..Patch::object(Target::of(control_plane), merge) };
    Some(Effect::Patch(patch))
}

/// Told when it becomes so, and not again until what is reported changes.
fn tell_unhealthy(view: &View<'_>, decision: &mut Decision) {
    let problems = decision.waiting_on.iter().find_map(|reason| match reason {
        WaitingOn::Preflight { problems } => Some(format!("[{}]", problems.join(", "))),
        _ => None,
    });
    let message = format!(
        "Waiting for control plane to pass preflight checks to continue reconciliation: {}",
        problems.unwrap_or_default()
    );
    let about = Target::of(&view.observed.control_plane);
    decision.reports.push(Effect::Emit(Event::warning(about, events::CONTROL_PLANE_UNHEALTHY, message)));
}
