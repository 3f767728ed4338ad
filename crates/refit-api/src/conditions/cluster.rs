//! Conditions of Clusters.

use super::{Aggregate, NewCondition, Reasons, Referenced, Source, Status, replicas};
use crate::cluster::ConditionPolarity;
use crate::vocabulary::{condition_types as types, reasons};

mod available;
pub mod deleting;

pub use super::replicas::remediating;
pub use super::{internal_error, not_deleting, not_paused, paused};
pub use available::available;

/// How the infrastructure is doing.
pub const INFRASTRUCTURE: Referenced = Referenced {
    type_: types::INFRASTRUCTURE_READY,
    good: reasons::READY,
    bad: reasons::NOT_READY,
    flag: "status.initialization.provisioned",
    referrer: "cluster",
};

/// How the control plane is doing.
pub const CONTROL_PLANE: Referenced = Referenced {
    type_: types::CONTROL_PLANE_AVAILABLE,
    good: reasons::AVAILABLE,
    bad: reasons::NOT_AVAILABLE,
    flag: "status.initialization.controlPlaneInitialized",
    referrer: "cluster",
};

/// The API of the workload cluster answered lately.
pub fn probe_succeeded() -> NewCondition {
    NewCondition::new(types::REMOTE_CONNECTION_PROBE, Status::True, reasons::PROBE_SUCCEEDED)
}

/// The API of the workload cluster did not answer for too long.
pub fn probe_failed(last_success: Option<jiff::Timestamp>) -> NewCondition {
    const FAILED: &str = "Remote connection probe failed";
    match last_success {
        None => probe(FAILED.to_owned()),
        Some(time) => probe(format!("{FAILED}, probe last succeeded at {}", super::common::rfc3339(time))),
    }
}

/// Nobody has talked to the workload cluster yet.
pub fn not_connected_yet() -> NewCondition {
    probe("Remote connection not established yet".to_owned())
}

/// The control plane served its API once. Never to be taken back.
pub fn control_plane_initialized() -> NewCondition {
    NewCondition::new(types::CONTROL_PLANE_INITIALIZED, Status::True, reasons::INITIALIZED)
}

/// The control plane never served its API.
pub fn control_plane_not_initialized() -> NewCondition {
    NewCondition::new(types::CONTROL_PLANE_INITIALIZED, Status::False, reasons::NOT_INITIALIZED)
        .with_message("Control plane not yet initialized")
}

/// There is no control plane object, and none of the control-plane Machines has a Node.
pub fn waiting_for_first_control_plane_node() -> NewCondition {
    NewCondition::new(types::CONTROL_PLANE_INITIALIZED, Status::False, reasons::NOT_INITIALIZED)
        .with_message("Waiting for the first control plane machine to have status.nodeRef set")
}

/// The control plane object is not there, so nobody can say whether it served its API.
pub fn control_plane_missing(kind: &str) -> NewCondition {
    NewCondition::new(types::CONTROL_PLANE_INITIALIZED, Status::Unknown, reasons::OBJECT_DOES_NOT_EXIST)
        .with_message(format!("{kind} does not exist"))
}

/// From `Available` of the MachineDeployments.
pub fn workers_available(workers: &[Source<'_>]) -> NewCondition {
    let aggregate = Aggregate {
        target: types::WORKERS_AVAILABLE,
        source: types::AVAILABLE,
        polarity: ConditionPolarity::Positive,
        reasons: AVAILABLE,
    };
    let no_workers = || NewCondition::new(types::WORKERS_AVAILABLE, Status::True, reasons::NO_WORKERS);
    aggregate.of(workers).unwrap_or_else(no_workers)
}

/// From `Ready` of the control plane's Machines.
pub fn control_plane_machines_ready(machines: &[Source<'_>]) -> NewCondition {
    replicas::of_machines(types::CONTROL_PLANE_MACHINES_READY, types::READY, replicas::READY, machines)
}

/// From `Ready` of the workers' Machines.
pub fn worker_machines_ready(machines: &[Source<'_>]) -> NewCondition {
    replicas::of_machines(types::WORKER_MACHINES_READY, types::READY, replicas::READY, machines)
}

/// From `UpToDate` of the control plane's Machines.
pub fn control_plane_machines_up_to_date(machines: &[Source<'_>]) -> NewCondition {
    let target = types::CONTROL_PLANE_MACHINES_UP_TO_DATE;
    replicas::of_machines(target, types::UP_TO_DATE, replicas::UP_TO_DATE, machines)
}

/// From `UpToDate` of the workers' Machines.
pub fn worker_machines_up_to_date(machines: &[Source<'_>]) -> NewCondition {
    let target = types::WORKER_MACHINES_UP_TO_DATE;
    replicas::of_machines(target, types::UP_TO_DATE, replicas::UP_TO_DATE, machines)
}

/// From `RollingOut` of the owners of Machines.
pub fn rolling_out(owners: &[Source<'_>]) -> NewCondition {
    let (issue, unknown, info) = (reasons::ROLLING_OUT, reasons::ROLLING_OUT_UNKNOWN, reasons::NOT_ROLLING_OUT);
    of_owners(types::ROLLING_OUT, Reasons { issue, unknown, info }, owners)
}

/// From `ScalingUp` of the owners of Machines.
pub fn scaling_up(owners: &[Source<'_>]) -> NewCondition {
    let (issue, unknown, info) = (reasons::SCALING_UP, reasons::SCALING_UP_UNKNOWN, reasons::NOT_SCALING_UP);
    of_owners(types::SCALING_UP, Reasons { issue, unknown, info }, owners)
}

/// From `ScalingDown` of the owners of Machines.
pub fn scaling_down(owners: &[Source<'_>]) -> NewCondition {
    let (issue, unknown, info) = (reasons::SCALING_DOWN, reasons::SCALING_DOWN_UNKNOWN, reasons::NOT_SCALING_DOWN);
    of_owners(types::SCALING_DOWN, Reasons { issue, unknown, info }, owners)
}

/// The Machines that are unhealthy, if any, are not replaced for it.
pub fn not_remediating(unhealthy: &[&str]) -> NewCondition {
    replicas::not_remediating(unhealthy, None)
}

const AVAILABLE: Reasons =
    Reasons { issue: reasons::NOT_AVAILABLE, unknown: reasons::AVAILABLE_UNKNOWN, info: reasons::AVAILABLE };

fn probe(message: String) -> NewCondition {
    NewCondition::new(types::REMOTE_CONNECTION_PROBE, Status::False, reasons::PROBE_FAILED).with_message(message)
}

/// From a condition of the owners of Machines, of which there may be none, that is bad when true.
fn of_owners(type_: &'static str, reasons: Reasons, owners: &[Source<'_>]) -> NewCondition {
    let aggregate = Aggregate { target: type_, source: type_, polarity: ConditionPolarity::Negative, reasons };
    aggregate.of(owners).unwrap_or_else(|| NewCondition::new(type_, Status::False, reasons.info))
}

#[cfg(test)]
mod tests;
