//! When an update has failed for good.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use refit_api::cluster::{Cluster, MachineDeployment};
use refit_api::policy::UpdateRetries;
use serde_json::Value;

use crate::machine::progress::{Failure, Progress};
use crate::policy;

/// How often an update is tried again after its extension answered that it failed, if nobody says otherwise: the tries are
/// 1, 2, 4, 8 and 16 seconds apart. A failure is an answer, and more tries rarely change it.
pub const DEFAULT_RETRIES: u32 = 5;

/// The same for tries to which the extension gave no answer. It may be restarted, or its host may: 2 + 4 + ... + 256 seconds
/// and eleven times 300 seconds are more than an hour.
pub const DEFAULT_RETRIES_WITHOUT_ANSWER: u32 = 20;

/// How often an update is tried again and how long it may take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    /// Nothing: `DEFAULT_RETRIES` and `DEFAULT_RETRIES_WITHOUT_ANSWER`.
    pub retries: Option<UpdateRetries>,
    /// Nothing: it may take for ever.
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
    /// Those of a policy that cannot be read: giving up is what it would have to allow.
    pub(crate) const NONE: Self = Self { retries: Some(UpdateRetries::Unlimited), timeout: None };

    /// Whether one more failure of this sort is one too many.
    pub(super) fn is_last_try(&self, progress: &Progress, failure: Failure) -> bool {
        let (failures, retries) = self.counted(progress, failure);
        retries.is_some_and(|retries| failures >= retries)
    }

    /// Which try has failed, after it is counted, and of how many. `progress` is that after the failure.
    pub(super) fn counted_tries(&self, progress: &Progress, failure: Failure) -> String {
        match self.counted(progress, failure) {
            (failures, Some(retries)) => format!("try {failures} of {}", retries.saturating_add(1)),
            (failures, None) => format!("try {failures}"),
        }
    }

    /// The failures that count against the limit of this sort, and that limit.
    fn counted(&self, progress: &Progress, failure: Failure) -> (u32, Option<u32>) {
        match (self.retries, failure) {
            (Some(UpdateRetries::Limited(retries)), _) => (progress.failures(), Some(retries)),
            (Some(UpdateRetries::Unlimited), _) => (progress.failures(), None),
            (None, Failure::Answered) => (progress.answered_failures(), Some(DEFAULT_RETRIES)),
            (None, Failure::Unanswered) => (progress.failures(), Some(DEFAULT_RETRIES_WITHOUT_ANSWER)),
        }
    }

    /// When the update has taken too long.
    pub(crate) fn deadline(&self, started_at: Option<Timestamp>) -> Option<Timestamp> {
        let timeout = SignedDuration::try_from(self.timeout?).ok()?;
        started_at?.checked_add(timeout).ok()
    }
}
