//! The deletion of a Machine, stage by stage: hooks of others, drain, volumes, host, bootstrap data, Node.

mod act;
mod node_access;

use refit_api::conditions::NewCondition;
use refit_api::vocabulary::annotations::{
    EXCLUDE_NODE_DRAINING, EXCLUDE_WAIT_FOR_NODE_VOLUME_DETACH, PRE_DRAIN_HOOK_PREFIX, PRE_TERMINATE_HOOK_PREFIX,
};

use super::draft::Draft;
use super::in_place::{self, Report};
use super::observed::{DrainState, External, NodeSeen, VolumesState};
use node_access::NodeAccess;
pub(super) use node_access::is_unreachable;

/// How far the deletion of a Machine is. What was passed is not come back to, save where the user adds a hook.
enum Stage {
    /// Somebody has to be heard before the drain. Taking the annotations off leads out.
    WaitingForPreDrainHooks { hooks: Vec<String> },
    /// Pods leave the Node. Done, not wanted or out of time leads out.
    DrainingNode { node: String },
    /// Volumes leave the Node. The same leads out.
    WaitingForVolumes { node: String },
    /// Somebody has to be heard before the host goes. Taking the annotations off leads out.
    WaitingForPreTerminateHooks { hooks: Vec<String> },
    /// The host goes. Its being gone leads out.
    DeletingInfrastructure,
    /// The bootstrap configuration goes. Its being gone leads out.
    DeletingBootstrap,
    /// The Node goes, as nobody else takes it off. Its being gone, or the end of the time for it, leads out.
    DeletingNode { node: String },
    /// Nothing is left but the Machine.
    Completed,
    /// It cannot be told whether the Node may be touched.
    Undecided { why: String },
}

/// What the conditions say of the deletion.
pub(super) struct Outcome {
    /// Nothing: what the condition says stays.
    pub deleting: Option<NewCondition>,
    /// What becomes of an update that was going on.
    pub update: Report,
}

/// Takes the next step of the deletion.
pub(super) fn reconcile(draft: &mut Draft<'_>) -> Outcome {
    let update = in_place::abort(draft);
    let stage = Stage::of(draft);
    Outcome { deleting: act::act(draft, &stage), update }
}

impl Stage {
    fn of(draft: &Draft<'_>) -> Self {
        let node = match NodeAccess::of(draft) {
            NodeAccess::Allowed { node } => Some(node),
            NodeAccess::Denied => None,
            NodeAccess::Unknown { why } => return Self::Undecided { why },
        };
        node.clone()
            .and_then(|node| before_termination(draft, node))
            .or_else(|| pre_terminate(draft))
            .or_else(|| objects(draft))
            .or_else(|| node.and_then(|node| deleting_node(draft, node)))
            .unwrap_or(Self::Completed)
    }
}

/// The stages in which the host still runs and its Node may be touched.
fn before_termination(draft: &Draft<'_>, node: String) -> Option<Stage> {
    let hooks = hooks(draft, PRE_DRAIN_HOOK_PREFIX);
    if !hooks.is_empty() {
        return Some(Stage::WaitingForPreDrainHooks { hooks });
    }
    if is_drain_due(draft) {
        return Some(Stage::DrainingNode { node });
    }
    is_detach_due(draft).then_some(Stage::WaitingForVolumes { node })
}

fn pre_terminate(draft: &Draft<'_>) -> Option<Stage> {
    let hooks = hooks(draft, PRE_TERMINATE_HOOK_PREFIX);
    (!hooks.is_empty()).then_some(Stage::WaitingForPreTerminateHooks { hooks })
}

fn objects(draft: &Draft<'_>) -> Option<Stage> {
    // Only one that is known to be gone is gone. An object that cannot be read may be a running host.
    if draft.seen.infrastructure != External::Missing {
        return Some(Stage::DeletingInfrastructure);
    }
    let has_bootstrap = draft.machine.spec.bootstrap.config_ref.is_some();
    (has_bootstrap && draft.seen.bootstrap != External::Missing).then_some(Stage::DeletingBootstrap)
}

fn deleting_node(draft: &Draft<'_>, node: String) -> Option<Stage> {
    let is_gone = match &draft.seen.node {
        NodeSeen::Missing => true,
        NodeSeen::Found(found) => found.metadata.deletion_timestamp.is_some(),
        NodeSeen::NotLookedFor | NodeSeen::NotConnected | NodeSeen::Unreadable { .. } => false,
    };
    let is_hopeless = act::node_deletion_failure(draft).is_some() && act::is_node_deletion_out_of_time(draft);
    (!is_gone && !is_hopeless).then_some(Stage::DeletingNode { node })
}

/// Whether Pods are still to leave the Node, and may be waited for.
fn is_drain_due(draft: &Draft<'_>) -> bool {
    let is_done = draft.seen.drain.as_ref().is_some_and(|drain| drain.state == DrainState::Done);
    let is_out_of_time = act::is_over(
        draft,
        |it| it.node_drain_start_time.as_ref(),
        draft.machine.spec.deletion.node_drain_timeout_seconds,
    );
    !is_done
        && !is_out_of_time
        && !draft.has_annotation(EXCLUDE_NODE_DRAINING)
        && draft.seen.node != NodeSeen::Missing
        && is_host_untouched(draft)
}

/// Whether volumes are still to leave the Node, and may be waited for.
fn is_detach_due(draft: &Draft<'_>) -> bool {
    let is_done = draft.seen.volumes.as_ref().is_some_and(|volumes| volumes.state == VolumesState::Detached);
    let is_out_of_time = act::is_over(
        draft,
        |it| it.wait_for_node_volume_detach_start_time.as_ref(),
        draft.machine.spec.deletion.node_volume_detach_timeout_seconds,
    );
    !is_done
        && !is_out_of_time
        && !draft.has_annotation(EXCLUDE_WAIT_FOR_NODE_VOLUME_DETACH)
        && draft.seen.node != NodeSeen::Missing
        && !draft.seen.node.node().is_some_and(is_unreachable)
        && is_host_untouched(draft)
}

/// Whether the host is still meant to run: nobody deletes it, and nobody was told that it is about to go.
fn is_host_untouched(draft: &Draft<'_>) -> bool {
    let deletion = draft.machine.status.deletion.as_ref();
    let is_terminating = deletion.is_some_and(|it| it.wait_for_pre_terminate_hook_start_time.is_some());
    !is_terminating && draft.seen.infrastructure.is_live()
}

fn hooks(draft: &Draft<'_>, prefix: &str) -> Vec<String> {
    draft.annotations().keys().filter(|key| key.starts_with(prefix)).cloned().collect()
}
