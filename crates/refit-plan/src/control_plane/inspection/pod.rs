//! What a static Pod says of its component.

use k8s_openapi::api::core::v1::{ContainerStatus, Pod as PodObject};
use refit_api::conditions::NewCondition;
use refit_api::conditions::machine::control_plane::{Pod, inspection_failed};

use super::node::{Hosted, hosted};
use super::{Component, Seen, SeenPod, clip};
use crate::control_plane::observed::ObservedMachine;

/// The condition of the component on this Machine.
pub(super) fn condition(seen: &Seen, machine: &ObservedMachine, component: Component) -> NewCondition {
    let pod = component.pod();
    let unknown = |why: String| inspection_failed(pod.condition_type(), why);
    let node = match hosted(seen, machine) {
        Hosted::Deleting => return pod.deleting(),
        Hosted::NotYet(why) => return unknown(why),
        Hosted::Unreadable(why) => return unknown(format!("Failed to get the Node hosting the Pod: {}", clip(why))),
        Hosted::On(name, node) => match super::node::stale(name, node) {
            Some(why) => return unknown(why),
            None => name,
        },
    };
    match seen.pods.get(&(node.to_owned(), component)) {
        Some(SeenPod::Found(object)) => of_pod(pod, object),
        Some(SeenPod::Missing) => pod.does_not_exist(),
        Some(SeenPod::Unreadable { why }) => unknown(format!("Failed to get the Pod: {}", clip(why))),
        None => unknown("The Pod was not looked at".to_owned()),
    }
}

fn of_pod(pod: Pod, object: &PodObject) -> NewCondition {
    let status = object.status.as_ref();
    match status.and_then(|status| status.phase.as_deref()) {
        Some("Running") => running(pod, object),
        Some("Pending") if !is_true(object, "PodScheduled") => pod.provisioning("Waiting to be scheduled"),
        Some("Pending") if !is_true(object, "Initialized") => pod.provisioning("Running init containers"),
        Some("Pending") => pod.provisioning(""),
        Some("Succeeded" | "Failed") => pod.failed("All the containers have been terminated"),
        Some("Unknown") => inspection_failed(pod.condition_type(), "Pod is reporting Unknown status"),
        _ => inspection_failed(pod.condition_type(), "Pod does not report its phase"),
    }
}

/// Its containers were started once. They need not run now.
fn running(pod: Pod, object: &PodObject) -> NewCondition {
    if is_true(object, "Ready") {
        return pod.running();
    }
    let containers = object.status.as_ref().and_then(|status| status.container_statuses.as_deref()).unwrap_or_default();
    let waiting = reasons(containers, waiting);
    let terminated = reasons(containers, terminated);
    match (waiting, terminated) {
        (Some(waiting), _) if containers.iter().any(has_failed_before) => pod.failed(waiting),
        (Some(waiting), _) => pod.provisioning(waiting),
        (None, Some(terminated)) => pod.failed(terminated),
        (None, None) => pod.provisioning("Waiting for startup or readiness probes"),
    }
}

fn is_true(object: &PodObject, type_: &str) -> bool {
    let conditions = object.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.into_iter().flatten().any(|condition| condition.type_ == type_ && condition.status == "True")
}

/// What the containers in this state say, if one is in it.
fn reasons(containers: &[ContainerStatus], state: fn(&ContainerStatus) -> Option<&str>) -> Option<String> {
    let reasons: Vec<&str> = containers.iter().filter_map(state).collect();
    (!reasons.is_empty()).then(|| clip(&reasons.join(", ")))
}

fn waiting(container: &ContainerStatus) -> Option<&str> {
    let waiting = container.state.as_ref()?.waiting.as_ref()?;
    Some(waiting.reason.as_deref().unwrap_or_default())
}

fn terminated(container: &ContainerStatus) -> Option<&str> {
    let terminated = container.state.as_ref()?.terminated.as_ref()?;
    Some(terminated.reason.as_deref().unwrap_or_default())
}

/// A container that is started again after a failure waits, so that only its last end tells of it.
fn has_failed_before(container: &ContainerStatus) -> bool {
    let last = container.last_state.as_ref().and_then(|state| state.terminated.as_ref());
    last.is_some_and(|terminated| terminated.exit_code != 0)
}
