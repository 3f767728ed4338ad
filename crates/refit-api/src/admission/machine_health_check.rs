//! Defaults and rules of MachineHealthChecks.

#[cfg(test)]
mod tests;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use super::cluster_name::{label_with_cluster, validate_unchanged};
use super::rollout::validate_int_or_percent;
use super::{Admission, FieldError, FieldPath, Verdict};
use crate::cluster::{MachineHealthCheck, MachineHealthCheckChecks, MachineHealthCheckRemediationTriggerIf};
use crate::selector::Selector;
use crate::vocabulary::labels;

/// For how long a Machine may be without a Node when the user does not say.
pub const NODE_STARTUP_TIMEOUT_SECONDS: i32 = 600;
/// The least that a user may set. Below it, Machines would be replaced while they start.
pub const MIN_NODE_STARTUP_TIMEOUT_SECONDS: i32 = 30;
/// Lets a Machine be without a Node for ever.
const DISABLED: i32 = 0;

impl Admission for MachineHealthCheck {
    fn set_defaults(&mut self, _old: Option<&Self>) {
        label_with_cluster(&mut self.metadata, &self.spec.cluster_name);
        self.spec.checks.node_startup_timeout_seconds.get_or_insert(NODE_STARTUP_TIMEOUT_SECONDS);
    }

    fn validate(&self, old: Option<&Self>) -> Verdict {
        let spec = FieldPath::new("spec");
        let old_name = old.map(|old| old.spec.cluster_name.as_str());
        [
            validate_selector(&self.spec.selector, &self.spec.cluster_name),
            validate_unchanged(old_name, &self.spec.cluster_name),
            validate_checks(&self.spec.checks, &spec.child("checks")),
            validate_trigger(&self.spec.remediation.trigger_if, &spec.child("remediation.triggerIf")),
        ]
        .concat()
        .into()
    }
}

/// A Machine has time to start.
pub fn validate_checks(checks: &MachineHealthCheckChecks, path: &FieldPath) -> Vec<FieldError> {
    let allowed = |timeout: &i32| *timeout == DISABLED || *timeout >= MIN_NODE_STARTUP_TIMEOUT_SECONDS;
    let path = path.child("nodeStartupTimeoutSeconds");
    let wrong = checks.node_startup_timeout_seconds.filter(|timeout| !allowed(timeout));
    wrong
        .map(|timeout| {
            path.invalid(timeout, format!("must be 0 (for ever) or at least {MIN_NODE_STARTUP_TIMEOUT_SECONDS}"))
        })
        .into_iter()
        .collect()
}

/// The bound on unhealthy Machines is a number.
pub fn validate_trigger(trigger: &MachineHealthCheckRemediationTriggerIf, path: &FieldPath) -> Vec<FieldError> {
    let path = path.child("unhealthyLessThanOrEqualTo");
    validate_int_or_percent(trigger.unhealthy_less_than_or_equal_to.as_ref(), &path)
}

/// A check watches some Machines, and none of another Cluster.
fn validate_selector(selector: &LabelSelector, cluster_name: &str) -> Vec<FieldError> {
    let path = FieldPath::new("spec.selector");
    let named = selector.match_labels.as_ref().and_then(|labels| labels.get(labels::CLUSTER_NAME));
    let mut errors = match Selector::from_field(Some(selector)) {
        Ok(parsed) if parsed.is_everything() => vec![path.required("must not be empty")],
        Ok(_) => Vec::new(),
        Err(error) => vec![path.invalid(selector, error.to_string())],
    };
    if named.is_some_and(|named| named != cluster_name) {
        errors.push(path.invalid(selector, "must not name another Cluster than spec.clusterName"));
    }
    errors
}
