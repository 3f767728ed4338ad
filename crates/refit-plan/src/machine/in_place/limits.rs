//! When an update has failed for good.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use refit_api::cluster::{Cluster, MachineDeployment};
use serde_json::Value;

use crate::machine::progress::Progress;
use crate::policy;

/// How often an update is tried again and how long it may take. What is nothing has no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    pub retries: Option<u32>,
    pub timeout: Option<Duration>,
}

/// The limits that the owner of a Machine, or else its Cluster, sets.
///
/// `control_plane` is the owner of a control-plane Machine. An annotation that makes no sense is an error, and no
/// reason to give an update up.
pub fn limits_of(
    cluster: &Cluster,
    machine_deployment: Option<&MachineDeployment>,
    control_plane: Option<&Value>,
) -> Result<Limits, String> {
    let of_deployment = machine_deployment.and_then(|it| it.metadata.annotations.clone());
    let of_control_plane = || {
        let annotations = control_plane?.pointer("/metadata/annotations")?;
        serde_json::from_value(annotations.clone()).ok()
    };
    let own = policy::read(of_deployment.or_else(of_control_plane).as_ref())?;
    let policy = own.or(policy::read(cluster.metadata.annotations.as_ref())?);
    Ok(Limits { retries: policy.update_retries, timeout: policy.update_timeout })
}

impl Limits {
    /// Whether one more failure is one too many.
    pub(super) fn is_last_try(&self, progress: &Progress) -> bool {
        self.retries.is_some_and(|retries| progress.failures() >= retries)
    }

    /// When the update has taken too long.
    pub(crate) fn deadline(&self, started_at: Option<Timestamp>) -> Option<Timestamp> {
        let timeout = SignedDuration::try_from(self.timeout?).ok()?;
        started_at?.checked_add(timeout).ok()
    }
}
