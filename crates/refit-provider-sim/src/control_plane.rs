//! Decides what becomes of a SimControlPlane. Pure.

use jiff::Timestamp;
use refit_api::conditions::{NewCondition, Status};
use refit_api::vocabulary::{condition_types, reasons};

use crate::facts::{ClusterFacts, pause};
use crate::kinds::{InitializedStatus, SimControlPlane, SimControlPlaneStatus};
use crate::readiness::with_conditions;

/// Everything that the decision may look at.
#[derive(Debug, Clone, Copy)]
pub struct Observed<'a> {
    pub now: Timestamp,
    pub plane: &'a SimControlPlane,
    /// The Cluster that owns it.
    pub owner: Option<&'a ClusterFacts>,
    /// Whether the workload cluster is there.
    pub has_workload: bool,
}

/// The status that a SimControlPlane should have. A new version is there at once.
pub fn decide(observed: &Observed<'_>) -> SimControlPlaneStatus {
    let Observed { plane, owner, has_workload, now } = *observed;
    let (is_paused, paused) = pause("SimControlPlane", plane, owner);
    let status = plane.status.clone();
    if is_paused || plane.metadata.deletion_timestamp.is_some() {
        return SimControlPlaneStatus { conditions: with_conditions(&status.conditions, [paused], now), ..status };
    }
    let is_there = has_workload && owner.is_some();
    let conditions = with_conditions(&status.conditions, [available(is_there), paused], now);
    if !is_there {
        return SimControlPlaneStatus { conditions, ..status };
    }
    SimControlPlaneStatus {
        conditions,
        initialization: InitializedStatus { control_plane_initialized: Some(true) },
        version: plane.spec.version.clone(),
        external_managed_control_plane: Some(true),
    }
}

fn available(is_there: bool) -> NewCondition {
    let reason = if is_there { reasons::AVAILABLE } else { reasons::NOT_AVAILABLE };
    let message = if is_there { "" } else { "Waiting for the workload cluster" };
    NewCondition::new(condition_types::AVAILABLE, Status::from(is_there), reason).with_message(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_control_plane_is_initialized_once_its_workload_cluster_is_there() {
        let mut plane = SimControlPlane::default();
        plane.spec.version = Some("v1.34.0".to_owned());
        let owner = ClusterFacts::default();
        let cases = [(None, true, None), (Some(&owner), false, None), (Some(&owner), true, Some(true))];
        for (owner, has_workload, initialized) in cases {
            let now = Timestamp::UNIX_EPOCH;
            plane.status = decide(&Observed { now, plane: &plane, owner, has_workload });
            assert_eq!(plane.status.initialization.control_plane_initialized, initialized);
            assert_eq!(decide(&Observed { now, plane: &plane, owner, has_workload }), plane.status);
        }
        assert_eq!(plane.status.version, plane.spec.version);
        let lost = decide(&Observed { now: Timestamp::UNIX_EPOCH, plane: &plane, owner: None, has_workload: false });
        assert_eq!(lost.initialization, plane.status.initialization, "never taken back");
    }
}
