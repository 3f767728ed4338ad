//! What each stage of a deletion does, and what it says.

use jiff::SignedDuration;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use refit_api::cluster::MachineDeletionStatus;
use refit_api::conditions::machine::deleting;
use refit_api::conditions::{NewCondition, get};
use refit_api::vocabulary::{condition_types as types, events, finalizers, reasons};

use super::Stage;
use crate::effect::{Delete, Effect, Event, Target};
use crate::machine::draft::Draft;
use crate::machine::errand::Errand;
use crate::machine::node_patch;
use crate::machine::observed::{DrainState, External, NodeSeen, VolumesState, is_deleting};
use crate::machine::phase::whole_seconds;
use crate::machine::problem::Problem;

/// How long a drain or a wait for volumes is left alone before it is looked at again.
const LOOK_AGAIN: SignedDuration = SignedDuration::from_secs(20);
/// After how long a Node that is being deleted is looked for again.
const NODE_RETRY: SignedDuration = SignedDuration::from_secs(2);

/// Does what the stage asks for. Gives the condition, or nothing where it stays as it is.
pub(super) fn act(draft: &mut Draft<'_>, stage: &Stage) -> Option<NewCondition> {
    tell_what_is_over(draft, stage);
    match stage {
        Stage::WaitingForPreDrainHooks { hooks } => {
            begin(draft, |deletion| &mut deletion.wait_for_pre_drain_hook_start_time);
            draft.wait("waiting for pre-drain hooks");
            Some(deleting::waiting_for_pre_drain_hooks(&as_strs(hooks)))
        }
        Stage::DrainingNode { node } => Some(drain(draft, node)),
        Stage::WaitingForVolumes { node } => Some(volumes(draft, node)),
        Stage::WaitingForPreTerminateHooks { hooks } => {
            begin(draft, |deletion| &mut deletion.wait_for_pre_terminate_hook_start_time);
            draft.wait("waiting for pre-terminate hooks");
            Some(deleting::waiting_for_pre_terminate_hooks(&as_strs(hooks)))
        }
        Stage::DeletingInfrastructure => {
            let infrastructure = draft.seen.infrastructure.clone();
            delete(draft, &infrastructure);
            Some(deleting::waiting_for_infrastructure(&draft.machine.spec.infrastructure_ref.kind))
        }
        Stage::DeletingBootstrap => {
            let bootstrap = draft.seen.bootstrap.clone();
            delete(draft, &bootstrap);
            let kind = draft.machine.spec.bootstrap.config_ref.as_ref().map(|it| it.kind.clone());
            Some(deleting::waiting_for_bootstrap(&kind.unwrap_or_default()))
        }
        Stage::DeletingNode { node } => delete_node(draft, node),
        Stage::Completed => {
            draft.machine.metadata.finalizers.iter_mut().for_each(|it| it.retain(|it| it != finalizers::MACHINE));
            Some(deleting::completed())
        }
        Stage::Undecided { why } => {
            draft.problems.push(Problem::Unreadable { kind: "control plane".to_owned(), why: why.clone() });
            Some(deleting::internal_error())
        }
    }
}

/// Whether the time for a step, counted from its beginning, is over. No time or zero is for ever.
pub(super) fn is_over(
    draft: &Draft<'_>,
    begin: fn(&MachineDeletionStatus) -> Option<&Time>,
    timeout_seconds: Option<i32>,
) -> bool {
    let begin = draft.machine.status.deletion.as_ref().and_then(begin);
    let limit = timeout_seconds.filter(|seconds| *seconds > 0).map(|seconds| SignedDuration::from_secs(seconds.into()));
    begin.zip(limit).is_some_and(|(begin, limit)| draft.seen.now.duration_since(begin.0) >= limit)
}

/// Why the Node cannot be deleted.
pub(super) fn node_deletion_failure(draft: &Draft<'_>) -> Option<String> {
    match &draft.seen.node {
        NodeSeen::NotConnected => Some("there is no connection to the workload cluster".to_owned()),
        NodeSeen::Unreadable { why } => Some(why.clone()),
        NodeSeen::NotLookedFor => Some("it was not looked for".to_owned()),
        NodeSeen::Found(_) | NodeSeen::Missing => draft.seen.node_deletion_error.clone(),
    }
}

/// Whether the Machine goes even if its Node cannot be deleted.
pub(super) fn is_node_deletion_out_of_time(draft: &Draft<'_>) -> bool {
    let timeout = draft.machine.spec.deletion.node_deletion_timeout_seconds.filter(|seconds| *seconds > 0);
    let since = draft.machine.metadata.deletion_timestamp.as_ref();
    since.zip(timeout).is_some_and(|(since, timeout)| {
        draft.seen.now.duration_since(since.0) >= SignedDuration::from_secs(timeout.into())
    })
}

fn drain(draft: &mut Draft<'_>, node: &str) -> NewCondition {
    let since = begin(draft, |deletion| &mut deletion.node_drain_start_time);
    let seen = draft.seen.drain.as_ref();
    let fresh = seen.filter(|drain| draft.seen.now.duration_since(drain.at) < LOOK_AGAIN);
    match fresh.map(|drain| drain.at) {
        Some(at) => draft.requeue_at(at.checked_add(LOOK_AGAIN).unwrap_or(at)),
        None => draft.errand = Some(Errand::Drain { node: node.to_owned() }),
    }
    draft.wait(format!("waiting for pods to leave node {node}"));
    match seen.map(|drain| &drain.state) {
        Some(DrainState::InProgress { words }) => deleting::draining_node(words.clone()),
        Some(DrainState::Failed { why }) => {
            draft.problems.push(Problem::Drain { why: why.clone() });
            let words = format!("error draining Machine's node {node:?}: {why}");
            let condition = deleting::draining_node_failed();
            draft.tell_once(events::FAILED_DRAIN_NODE, words, &condition);
            condition
        }
        Some(DrainState::Done) | None => {
            deleting::draining_node(format!("Drain not completed yet (started at {since}):"))
        }
    }
}

fn volumes(draft: &mut Draft<'_>, node: &str) -> NewCondition {
    let since = begin(draft, |deletion| &mut deletion.wait_for_node_volume_detach_start_time);
    let seen = draft.seen.volumes.as_ref();
    let fresh = seen.filter(|volumes| draft.seen.now.duration_since(volumes.at) < LOOK_AGAIN);
    match fresh.map(|volumes| volumes.at) {
        Some(at) => draft.requeue_at(at.checked_add(LOOK_AGAIN).unwrap_or(at)),
        None => draft.errand = Some(Errand::InspectVolumes { node: node.to_owned() }),
    }
    draft.wait(format!("waiting for volumes to leave node {node}"));
    let condition = deleting::waiting_for_volume_detach(since);
    match seen.map(|volumes| &volumes.state) {
        Some(VolumesState::Attached { words }) if !words.is_empty() => {
            let message = format!("{}\n{words}", condition.message);
            condition.with_message(message)
        }
        Some(VolumesState::Failed { why }) => volumes_failed(draft, node, why),
        Some(VolumesState::Attached { .. } | VolumesState::Detached) | None => condition,
    }
}

fn volumes_failed(draft: &mut Draft<'_>, node: &str, why: &str) -> NewCondition {
    draft.problems.push(Problem::Volumes { why: why.to_owned() });
    let words = format!("error waiting for node volumes detaching, Machine's node {node:?}: {why}");
    let condition = deleting::waiting_for_volume_detach_failed();
    draft.tell_once(events::FAILED_WAIT_FOR_VOLUME_DETACH, words, &condition);
    condition
}

/// Deletes the object after the status says so. An object that is going already is only waited for.
fn delete(draft: &mut Draft<'_>, object: &External) {
    if let External::Found { object, .. } = object
        && !is_deleting(object)
    {
        draft.last.push(Effect::Delete(Delete::at_any_version(Target::of_value(object))));
    }
    let machines = vec![draft.name()];
    draft.waiting_on.push(crate::waiting::WaitingOn::Deletions { machines });
}

fn delete_node(draft: &mut Draft<'_>, node: &str) -> Option<NewCondition> {
    if let Some(found) = draft.seen.node.node() {
        draft.last.push(Effect::Delete(Delete::at_any_version(node_patch::target(found))));
    }
    draft.requeue_in(NODE_RETRY);
    draft.wait(format!("waiting for node {node} to be deleted"));
    let why = node_deletion_failure(draft)?;
    let condition = deleting::deleting_node_failed();
    draft.tell_once(events::FAILED_DELETE_NODE, format!("error deleting Machine's Node: {why}"), &condition);
    draft.problems.push(Problem::NodeDeletion { node: node.to_owned(), why });
    Some(condition)
}

/// Notes when a step began, once.
fn begin(draft: &mut Draft<'_>, field: fn(&mut MachineDeletionStatus) -> &mut Option<Time>) -> jiff::Timestamp {
    let now = Time(whole_seconds(draft.seen.now));
    field(draft.machine.status.deletion.get_or_insert_default()).get_or_insert(now).0
}

/// Tells people of the end of a drain or of a wait for volumes, in the round in which the next stage begins.
fn tell_what_is_over(draft: &mut Draft<'_>, stage: &Stage) {
    let Some(before) = get(&draft.seen.machine.status.conditions, types::DELETING) else { return };
    let node = draft.machine.status.node_ref.as_ref().map(|node| node.name.clone()).unwrap_or_default();
    let is_drained = draft.seen.drain.as_ref().is_some_and(|drain| drain.state == DrainState::Done);
    let is_detached = draft.seen.volumes.as_ref().is_some_and(|volumes| volumes.state == VolumesState::Detached);
    let (reason, words) = match (before.reason.as_str(), stage) {
        (_, Stage::DrainingNode { .. }) => return,
        (reasons::DRAINING_NODE, _) if is_drained => {
            (events::SUCCESSFUL_DRAIN_NODE, format!("success draining Machine's node {node:?}"))
        }
        (_, Stage::WaitingForVolumes { .. }) => return,
        (reasons::WAITING_FOR_VOLUME_DETACH, _) if is_detached => (
            events::NODE_VOLUMES_DETACHED,
            format!("success waiting for node volumes detaching Machine's node {node:?}"),
        ),
        _ => return,
    };
    draft.events.push(Event::normal(draft.target(), reason, words));
}

fn as_strs(hooks: &[String]) -> Vec<&str> {
    hooks.iter().map(String::as_str).collect()
}
