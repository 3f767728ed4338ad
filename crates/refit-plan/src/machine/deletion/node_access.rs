//! Whether the Node of a Machine that is being deleted may be drained and deleted.

use k8s_openapi::api::core::v1::Node;
use refit_api::contract::get_bool;

use crate::machine::draft::Draft;
use crate::machine::observed::{External, is_deleting};

/// Whether the Node may be touched.
pub(super) enum NodeAccess {
    Allowed {
        node: String,
    },
    /// There is none, or the cluster goes with all of its Nodes, or there is nobody left who could answer.
    Denied,
    Unknown {
        why: String,
    },
}

impl NodeAccess {
    pub fn of(draft: &Draft<'_>) -> Self {
        let cluster = &draft.seen.cluster;
        let Some(node) = draft.machine.status.node_ref.as_ref().map(|node| node.name.clone()) else {
            return Self::Denied;
        };
        if cluster.metadata.deletion_timestamp.is_some() {
            return Self::Denied;
        }
        let has_control_plane = draft.seen.active_control_plane_machines > 0;
        match &draft.seen.control_plane {
            External::Unreadable { why } => Self::Unknown { why: why.clone() },
            External::Found { object, .. } if is_deleting(object) => Self::Denied,
            External::Found { object, .. }
                if get_bool(object, &["status", "externalManagedControlPlane"]) == Ok(Some(true)) =>
            {
                Self::Allowed { node }
            }
            External::Found { .. } | External::Missing | External::NotReferenced if has_control_plane => {
                Self::Allowed { node }
            }
            External::Found { .. } | External::Missing | External::NotReferenced => Self::Denied,
        }
    }
}

/// Whether the control plane of the cluster has lost the Node: it says neither that it is ready nor that it is not.
pub(in crate::machine) fn is_unreachable(node: &Node) -> bool {
    let mut conditions = node.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.any(|condition| condition.type_ == "Ready" && condition.status == "Unknown")
}
