//! The Nodes of a control plane: which Machine is on which, and whether kubeadm has marked them.

use k8s_openapi::api::core::v1::{Node, Taint};
use refit_api::conditions::NewCondition;
use refit_api::conditions::machine::control_plane::{
    inspection_failed, labels_and_taints_deleting, labels_and_taints_not_set, labels_and_taints_set,
};
use refit_api::vocabulary::condition_types::NODE_KUBEADM_LABELS_AND_TAINTS_SET;
use refit_api::vocabulary::labels::NODE_ROLE_CONTROL_PLANE as ROLE_LABEL;
use refit_api::vocabulary::taints::{NODE_ROLE_CONTROL_PLANE as ROLE_TAINT, NODE_UNREACHABLE};

use super::{Context, Seen, clip};
use crate::control_plane::observed::ObservedMachine;
use crate::coverage::kubeadm_config::Flavour;

/// Where the components of a Machine are.
pub(super) enum Hosted<'a> {
    /// The Machine is being deleted, so nothing is expected of it.
    Deleting,
    /// It has no Node yet, or not any more. Why, for people.
    NotYet(String),
    /// The Nodes could not be read.
    Unreadable(&'a str),
    /// On this Node.
    On(&'a str, &'a Node),
}

pub(super) fn hosted<'a>(seen: &'a Seen, machine: &'a ObservedMachine) -> Hosted<'a> {
    if machine.is_deleting() {
        return Hosted::Deleting;
    }
    let Some(name) = machine.node_name() else { return Hosted::NotYet(awaited(machine)) };
    match &seen.nodes {
        Err(why) => Hosted::Unreadable(why),
        Ok(nodes) => match nodes.get(name) {
            Some(node) => Hosted::On(name, node),
            None => Hosted::NotYet(format!("Node {name} does not exist")),
        },
    }
}

/// What a Machine without a Node waits for.
fn awaited(machine: &ObservedMachine) -> String {
    let spec = &machine.machine.spec;
    match spec.provider_id.as_deref().filter(|id| !id.is_empty()) {
        Some(id) => format!("Waiting for a Node with spec.providerID {id} to exist"),
        None => format!("Waiting for {} to report spec.providerID", spec.infrastructure_ref.kind),
    }
}

/// Why nothing that the kubelet of this Node once said can be relied on.
pub(super) fn stale(name: &str, node: &Node) -> Option<String> {
    let is_unreachable = taints(node).any(|taint| taint.key == NODE_UNREACHABLE && taint.effect == "NoExecute");
    if is_unreachable {
        return Some(format!("Node {name} is unreachable"));
    }
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    let ready = conditions.iter().find(|condition| condition.type_ == "Ready");
    let is_unknown = ready.is_some_and(|ready| ready.status == "Unknown");
    is_unknown.then(|| "Node Ready condition is Unknown, Pod data might be stale".to_owned())
}

/// Whether the Node carries what kubeadm puts on it.
pub(super) fn condition(seen: &Seen, machine: &ObservedMachine) -> NewCondition {
    let unknown = |why: String| inspection_failed(NODE_KUBEADM_LABELS_AND_TAINTS_SET, why);
    let (name, node) = match hosted(seen, machine) {
        Hosted::Deleting => return labels_and_taints_deleting(),
        Hosted::NotYet(why) => return unknown(why),
        Hosted::Unreadable(why) => return unknown(format!("Failed to get the Node: {}", clip(why))),
        Hosted::On(name, node) => (name, node),
    };
    let missing = missing(machine, node);
    if missing.is_empty() {
        labels_and_taints_set()
    } else {
        labels_and_taints_not_set(clip(&format!("Node {name} lacks {}", missing.join(", "))))
    }
}

/// Nodes of the control plane that are of no Machine. While a Machine has no Node, one of them may become its own.
pub(super) fn without_machine(seen: &Seen, context: &Context<'_>) -> Vec<String> {
    let Ok(nodes) = &seen.nodes else { return Vec::new() };
    let taken: Vec<Option<&str>> = context.machines.values().map(ObservedMachine::node_name).collect();
    if taken.contains(&None) {
        return Vec::new();
    }
    let strays = nodes.iter().filter(|(name, node)| has_role(node) && !taken.contains(&Some(name.as_str())));
    strays.map(|(name, _)| name.clone()).collect()
}

fn missing(machine: &ObservedMachine, node: &Node) -> Vec<String> {
    let label = (!has_role(node)).then(|| format!("label {ROLE_LABEL}"));
    let has = |wanted: &Taint| taints(node).any(|taint| taint.key == wanted.key && taint.effect == wanted.effect);
    let taints = wanted_taints(machine).into_iter().filter(|taint| !has(taint));
    label.into_iter().chain(taints.map(|taint| format!("taint {}:{}", taint.key, taint.effect))).collect()
}

/// The taints that kubeadm was told to set, or its own. None are asked for where nobody knows what it was told.
fn wanted_taints(machine: &ObservedMachine) -> Vec<Taint> {
    let Some(spec) = machine.kubeadm_config.as_ref().map(|config| &config.spec) else { return Vec::new() };
    let registration = match Flavour::of(spec) {
        Flavour::Init => &spec.init_configuration.node_registration,
        Flavour::Join => &spec.join_configuration.node_registration,
    };
    let own = || vec![Taint { key: ROLE_TAINT.to_owned(), effect: "NoSchedule".to_owned(), ..Taint::default() }];
    registration.taints.clone().unwrap_or_else(own)
}

fn has_role(node: &Node) -> bool {
    node.metadata.labels.as_ref().is_some_and(|labels| labels.contains_key(ROLE_LABEL))
}

fn taints(node: &Node) -> impl Iterator<Item = &Taint> {
    node.spec.iter().flat_map(|spec| spec.taints.iter().flatten())
}
