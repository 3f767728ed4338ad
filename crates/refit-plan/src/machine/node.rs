//! The Node of a Machine: finding it, and telling it what it should know.

use refit_api::cluster::MachineNodeReference;
use refit_api::conditions::machine::node as node_conditions;
use refit_api::vocabulary::{annotations, events, labels};

use super::draft::Draft;
use super::node_patch;
use super::observed::NodeSeen;
use super::problem::Problem;
use crate::effect::{Effect, Event};
use crate::waiting::WaitingOn;

/// Takes over the Node once it is there, and keeps its labels, annotations and taints.
pub(super) fn reconcile(draft: &mut Draft<'_>) {
    match &draft.seen.node {
        NodeSeen::Found(node) => {
            let name = node.metadata.name.clone().unwrap_or_default();
            if draft.machine.status.node_ref.is_none() {
                draft.machine.status.node_ref = Some(MachineNodeReference { name: name.clone() });
                draft.events.push(Event::normal(draft.target(), events::SUCCESSFUL_SET_NODE_REF, name));
            }
            draft.machine.status.node_info = node.status.as_ref().and_then(|status| status.node_info.clone());
            patch(draft);
        }
        NodeSeen::Missing if draft.seen.is_deleting() => {}
        NodeSeen::Missing => missing(draft),
        NodeSeen::Unreadable { why } => {
            draft.problems.push(Problem::Unreadable { kind: "Node".to_owned(), why: why.clone() });
            let [condition, _] = node_conditions::internal_error();
            draft.tell_once(events::FAILED_TO_RETRIEVE_NODE, why.clone(), &condition);
        }
        NodeSeen::NotConnected => draft.wait("waiting for a connection to the workload cluster"),
        NodeSeen::NotLookedFor => {}
    }
}

fn missing(draft: &mut Draft<'_>) {
    match &draft.machine.status.node_ref {
        Some(node) => draft.problems.push(Problem::NodeGone { node: node.name.clone() }),
        None => {
            let machines = vec![draft.name()];
            draft.waiting_on.push(WaitingOn::Provisioning { machines });
        }
    }
}

fn patch(draft: &mut Draft<'_>) {
    let Some(node) = draft.seen.node.node() else { return };
    let outdated = match node_patch::is_outdated(draft.seen) {
        Ok(outdated) => outdated,
        Err(found) => {
            let expected = "a whole number";
            draft.problems.push(Problem::Annotation { annotation: annotations::REVISION, expected, found });
            return;
        }
    };
    let Some(patch) = node_patch::patch(draft.seen, &draft.machine, node, outdated) else { return };
    let becomes_interruptible = patch
        .merge
        .pointer("/metadata/labels")
        .is_some_and(|changed| changed.get(labels::INTERRUPTIBLE).is_some_and(serde_json::Value::is_string));
    draft.first.push(Effect::Patch(patch));
    if becomes_interruptible {
        let name = node.metadata.name.clone().unwrap_or_default();
        let event = Event::normal(draft.target(), events::SUCCESSFUL_SET_INTERRUPTIBLE_NODE_LABEL, name);
        draft.events.push(event);
    }
}
