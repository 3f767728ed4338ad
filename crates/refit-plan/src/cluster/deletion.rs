//! The end of a Cluster: first the workers go, then the control plane, then the infrastructure.

use std::time::Duration;

use refit_api::conditions::NewCondition;
use refit_api::conditions::cluster::deleting;
use refit_api::vocabulary::finalizers;
use serde_json::Value;

use super::Draft;
use super::external::is_going;
use super::observed::Descendant;
use crate::effect::{Delete, Effect, Target};
use crate::machine::External;

/// When to look again what is left, as upstream. What goes is heard of before.
const RETRY: Duration = Duration::from_secs(5);

/// How many names of each kind are told.
const MAX_NAMES: usize = 5;

/// Deletes what is due. Tells how far it is; nothing if that cannot be told.
pub(super) fn reconcile(draft: &mut Draft<'_>) -> Option<NewCondition> {
    let seen = draft.seen;
    let workers: Vec<(&str, Vec<&Descendant>)> = [
        ("MachineDeployments", seen.descendants.machine_deployments.iter().collect()),
        ("MachineSets", seen.descendants.machine_sets.iter().collect()),
        ("worker Machines", seen.descendants.machines.iter().filter(|machine| !machine.is_control_plane).collect()),
    ]
    .into_iter()
    .filter(|(_, left): &(_, Vec<_>)| !left.is_empty())
    .collect();
    if !workers.is_empty() {
        delete(draft, workers.iter().flat_map(|(_, left)| left.iter().copied()));
        let words: Vec<String> = workers.iter().map(|(kind, left)| format!("{kind}: {}", names(left))).collect();
        return Some(deleting::waiting_for_workers(&words));
    }
    control_plane(draft).or_else(|| infrastructure(draft)).unwrap_or_else(|| leave(draft))
}

/// Nothing if it is gone; else how far it is, if that can be told.
fn control_plane(draft: &mut Draft<'_>) -> Option<Option<NewCondition>> {
    let seen = draft.seen;
    let machines: Vec<&Descendant> = seen.descendants.machines.iter().collect();
    let kind = match (&seen.cluster.spec.control_plane_ref, machines.is_empty()) {
        (Some(reference), _) => reference.kind.clone(),
        (None, false) => "control plane Machines".to_owned(),
        (None, true) => return None,
    };
    delete(draft, machines.iter().copied());
    match external(draft, &seen.control_plane) {
        Gone::Yes if machines.is_empty() => None,
        Gone::Yes | Gone::NotYet => Some(Some(deleting::waiting_for_control_plane(&kind))),
        Gone::Unknown => Some(None),
    }
}

fn infrastructure(draft: &mut Draft<'_>) -> Option<Option<NewCondition>> {
    let kind = draft.seen.cluster.spec.infrastructure_ref.as_ref()?.kind.clone();
    match external(draft, &draft.seen.infrastructure) {
        Gone::Yes => None,
        Gone::NotYet => Some(Some(deleting::waiting_for_infrastructure(&kind))),
        Gone::Unknown => Some(None),
    }
}

/// Nothing is left but the Cluster.
fn leave(draft: &mut Draft<'_>) -> Option<NewCondition> {
    if let Some(own) = &mut draft.cluster.metadata.finalizers {
        own.retain(|finalizer| finalizer != finalizers::CLUSTER);
    }
    Some(deleting::completed())
}

enum Gone {
    Yes,
    NotYet,
    Unknown,
}

fn external(draft: &mut Draft<'_>, object: &External) -> Gone {
    match object {
        External::NotReferenced | External::Missing => Gone::Yes,
        External::Found { object, .. } => {
            delete_object(draft, object);
            Gone::NotYet
        }
        External::Unreadable { .. } => Gone::Unknown,
    }
}

fn delete_object(draft: &mut Draft<'_>, object: &Value) {
    draft.plan.requeue(RETRY);
    // Whoever takes over an object that is about to go would be refused.
    draft.effects.retain(|effect| !matches!(effect, Effect::Patch(patch) if patch.target == Target::of_value(object)));
    if !is_going(object) {
        draft.effects.push(Effect::Delete(Delete::at_any_version(Target::of_value(object))));
    }
}

/// Deletes those that do not go by themselves, or with somebody else.
fn delete<'a>(draft: &mut Draft<'_>, left: impl Iterator<Item = &'a Descendant>) {
    draft.plan.requeue(RETRY);
    let due = left.filter(|it| !it.is_going && !it.is_controlled);
    draft.effects.extend(due.map(|it| Effect::Delete(Delete::at_any_version(it.target.clone()))));
}

fn names(left: &[&Descendant]) -> String {
    let listed: Vec<&str> = left.iter().take(MAX_NAMES).map(|it| it.target.name.as_str()).collect();
    match left.len().saturating_sub(MAX_NAMES) {
        0 => listed.join(", "),
        more => format!("{}, ... ({more} more)", listed.join(", ")),
    }
}
