//! The steps of a Cluster's deletion, in the order in which they come.

use crate::conditions::NewCondition;
use crate::conditions::common::{self, DELETION_COMPLETED, SEE_LOGS, bullets};
use crate::vocabulary::reasons;

/// It cannot go on, and the logs say why.
pub fn internal_error() -> NewCondition {
    common::deleting(reasons::INTERNAL_ERROR, SEE_LOGS)
}

/// An extension asked for time.
pub fn waiting_for_before_delete_hook() -> NewCondition {
    common::deleting(reasons::WAITING_FOR_BEFORE_DELETE_HOOK, "Waiting for BeforeClusterDelete hook")
}

/// The workers are going. `objects` are those that are still there, as `MachineDeployments: a, b`.
pub fn waiting_for_workers(objects: &[impl AsRef<str>]) -> NewCondition {
    common::deleting(reasons::WAITING_FOR_WORKERS_DELETION, bullets(objects))
}

/// The control plane is going.
pub fn waiting_for_control_plane(kind: &str) -> NewCondition {
    common::deleting(reasons::WAITING_FOR_CONTROL_PLANE_DELETION, format!("Waiting for {kind} to be deleted"))
}

/// The infrastructure is going.
pub fn waiting_for_infrastructure(kind: &str) -> NewCondition {
    common::deleting(reasons::WAITING_FOR_INFRASTRUCTURE_DELETION, format!("Waiting for {kind} to be deleted"))
}

/// All is gone but the Cluster itself.
pub fn completed() -> NewCondition {
    common::deleting(reasons::DELETION_COMPLETED, DELETION_COMPLETED)
}
