//! What a Machine says of its Node, and for how long it says what it last knew.

use jiff::Timestamp;
use refit_api::conditions::machine::node;
use refit_api::conditions::{NewCondition, Status, get};
use refit_api::vocabulary::condition_types as types;

use crate::machine::draft::Draft;
use crate::machine::observed::NodeSeen;

/// After so many failed probes, the workload cluster has been tried often enough to say something.
const PROBES: u32 = 5;

/// `NodeReady` and `NodeHealthy`; nothing where they stay as they are.
pub(super) fn of(draft: &Draft<'_>) -> Option<[NewCondition; 2]> {
    let cluster = &draft.seen.cluster.status;
    if cluster.initialization.infrastructure_provisioned != Some(true) {
        return Some(node::waiting_for_cluster_infrastructure());
    }
    let initialized = get(&cluster.conditions, types::CONTROL_PLANE_INITIALIZED);
    let Some(initialized) = initialized.filter(|condition| Status::of(condition) == Status::True) else {
        return Some(node::waiting_for_control_plane());
    };
    let initialized_at = initialized.last_transition_time.0;
    let connection = draft.seen.connection;
    if connection.last_probe_success.is_none() && connection.consecutive_failures < PROBES {
        return (!is_said(draft)).then(node::not_connected_yet);
    }
    if is_lost(draft, initialized_at) {
        return Some(node::connection_down(connection.last_probe_success));
    }
    match &draft.seen.node {
        NodeSeen::NotConnected => (!is_said(draft)).then(|| node::connection_down(connection.last_probe_success)),
        NodeSeen::Unreadable { .. } => Some(node::internal_error()),
        NodeSeen::Found(found) => {
            let conditions = found.status.as_ref().and_then(|status| status.conditions.clone()).unwrap_or_default();
            Some(node::from_node(&conditions))
        }
        NodeSeen::Missing | NodeSeen::NotLookedFor => Some(without_node(draft)),
    }
}

/// Whether the workload cluster has not answered for longer than its last word counts.
fn is_lost(draft: &Draft<'_>, initialized_at: Timestamp) -> bool {
    let last = draft.seen.connection.last_probe_success.map_or(initialized_at, |last| last.max(initialized_at));
    draft.seen.now.duration_since(last) > draft.seen.settings.remote_conditions_grace_period
}

fn is_said(draft: &Draft<'_>) -> bool {
    let conditions = &draft.machine.status.conditions;
    [types::NODE_READY, types::NODE_HEALTHY].iter().all(|type_| get(conditions, type_).is_some())
}

fn without_node(draft: &Draft<'_>) -> [NewCondition; 2] {
    let machine = &draft.machine;
    match (&machine.status.node_ref, draft.seen.is_deleting(), &machine.spec.provider_id) {
        (Some(reference), true, _) => node::gone(&reference.name),
        (None, true, _) => node::does_not_exist(),
        (Some(reference), false, _) => node::gone_too_early(&reference.name),
        (None, false, Some(provider_id)) => node::waiting_for_node(provider_id),
        (None, false, None) => node::waiting_for_provider_id(&machine.spec.infrastructure_ref.kind),
    }
}
