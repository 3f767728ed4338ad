//! The record of a replacement: on the control plane while the successor is to come, then on the successor.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use refit_api::conditions::NewCondition;
use refit_api::conditions::machine::health;
use refit_api::controlplane::LastRemediationStatus;
use refit_api::vocabulary::annotations::REMEDIATION_FOR;
use serde::{Deserialize, Serialize};

use super::has_passed;
use crate::control_plane::observed::{Observed, ObservedMachine};
use crate::duration::go_duration;

/// After how long without trouble an unhealthy Machine counts as a new case, unless the user says otherwise.
const MIN_HEALTHY_PERIOD_SECONDS: i32 = 60 * 60;

/// A Machine that was replaced, and how often for the same trouble.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Record {
    pub machine: String,
    /// In whole seconds, as upstream writes it.
    pub timestamp: Timestamp,
    pub retry_count: i32,
}

impl Record {
    pub fn encode(&self) -> String {
        serde_json::to_string(self).expect("two strings and a number must encode")
    }

    pub fn decode(annotation: &str) -> Result<Self, String> {
        serde_json::from_str(annotation).map_err(|error| error.to_string())
    }

    pub fn to_status(&self) -> LastRemediationStatus {
        LastRemediationStatus {
            machine: self.machine.clone(),
            time: Time(self.timestamp),
            retry_count: self.retry_count,
        }
    }
}

/// How often Machines were replaced for the same trouble before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Retry(i32);

impl Retry {
    /// The number of this replacement, or why it must not be now.
    pub fn of(observed: &Observed, machine: &ObservedMachine) -> Result<Self, NewCondition> {
        let Some(text) = machine.annotations().get(REMEDIATION_FOR) else { return Ok(Self(0)) };
        let last = Record::decode(text).map_err(|why| {
            health::cannot_be_remediated(format!("the annotation {REMEDIATION_FOR} cannot be read: {why}"))
        })?;
        let limits = &observed.control_plane.spec.remediation;
        let min_healthy = seconds(limits.min_healthy_period_seconds.unwrap_or(MIN_HEALTHY_PERIOD_SECONDS));
        if has_passed(last.timestamp, min_healthy, observed.now) {
            return Ok(Self(0));
        }
        let period = limits.retry_period_seconds.unwrap_or(0);
        if !has_passed(last.timestamp, seconds(period), observed.now) {
            return Err(health::remediation_deferred(format!(
                "KubeadmControlPlane can't remediate this machine because the operation already failed in the latest \
                 {} (RetryPeriodSeconds)",
                go_duration(period)
            )));
        }
        match limits.max_retry {
            Some(max) if last.retry_count >= max => Err(health::cannot_be_remediated(format!(
                "KubeadmControlPlane can't remediate this machine because the operation already failed {max} times \
                 (MaxRetry)"
            ))),
            _ => Ok(Self(last.retry_count.saturating_add(1))),
        }
    }

    pub fn record(self, observed: &Observed, machine: &ObservedMachine) -> Record {
        let timestamp = Timestamp::from_second(observed.now.as_second()).unwrap_or(observed.now);
        Record { machine: machine.name().to_owned(), timestamp, retry_count: self.0 }
    }
}

fn seconds(count: i32) -> Duration {
    Duration::from_secs(u64::try_from(count).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_reads_as_upstreams() {
        let text = r#"{"machine":"m1","timestamp":"2026-01-02T03:04:05Z","retryCount":2}"#;
        let record = Record::decode(text).expect("the record must decode");
        assert_eq!(record.encode(), text);
        assert_eq!(record.retry_count, 2);
    }
}
