//! The steps of a KubeadmControlPlane's deletion, in the order in which they come.

use crate::conditions::NewCondition;
use crate::conditions::common::{self, DELETION_COMPLETED, SEE_LOGS, bullets};
use crate::conditions::replicas::deleting_machines;
use crate::vocabulary::reasons;

/// It cannot go on, and the logs say why.
pub fn internal_error() -> NewCondition {
    common::deleting(reasons::INTERNAL_ERROR, SEE_LOGS)
}

/// The workers must go first. `objects` are those that are still there, as `Machines: a, b`.
pub fn waiting_for_workers(objects: &[impl AsRef<str>]) -> NewCondition {
    let objects = bullets(objects);
    let message = format!("KubeadmControlPlane deletion blocked because following objects still exist:\n{objects}");
    common::deleting(reasons::WAITING_FOR_WORKERS_DELETION, message)
}

/// The Machines are going. `stale` names those that take too long.
pub fn waiting_for_machines(machines: usize, stale: Option<&str>) -> NewCondition {
    let stale = stale.map(|stale| format!(" and {stale}")).unwrap_or_default();
    common::deleting(reasons::WAITING_FOR_MACHINE_DELETION, format!("{}{stale}", deleting_machines(machines)))
}

/// All is gone but the KubeadmControlPlane itself.
pub fn completed() -> NewCondition {
    common::deleting(reasons::DELETION_COMPLETED, DELETION_COMPLETED)
}
