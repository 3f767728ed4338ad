//! What MachineHealthChecks say of a Machine, and what its owner makes of it.

use std::borrow::Cow;

use crate::conditions::common::{MACHINE_IS_DELETING, SEE_LOGS};
use crate::conditions::{NewCondition, Status};
use crate::vocabulary::refit::condition_types as refit_types;
use crate::vocabulary::{condition_types as types, reasons};

/// No check failed.
pub fn healthy() -> NewCondition {
    NewCondition::new(types::HEALTH_CHECK_SUCCEEDED, Status::True, reasons::HEALTH_CHECK_SUCCEEDED)
}

/// Conditions of the Node are bad for too long.
pub fn unhealthy_node(problems: &[impl AsRef<str>]) -> NewCondition {
    failed(reasons::UNHEALTHY_NODE, problems)
}

/// Conditions of the Machine, and maybe of the Node, are bad for too long.
pub fn unhealthy_machine(problems: &[impl AsRef<str>]) -> NewCondition {
    failed(reasons::UNHEALTHY_MACHINE, problems)
}

/// The Node did not come within this time.
pub fn node_startup_timeout(after: &str) -> NewCondition {
    failed(reasons::NODE_STARTUP_TIMEOUT, &[format!("Node failed to report startup in {after}")])
}

/// The Node is gone.
pub fn node_deleted(name: &str) -> NewCondition {
    failed(reasons::NODE_DELETED, &[format!("Node {name} has been deleted")])
}

/// A user asked for its replacement.
pub fn marked_for_remediation() -> NewCondition {
    NewCondition::new(types::HEALTH_CHECK_SUCCEEDED, Status::False, reasons::HAS_REMEDIATE_ANNOTATION)
        .with_message("Health check failed: marked for remediation via cluster.x-k8s.io/remediate-machine annotation")
}

/// Its owner should replace it, and has not begun.
pub fn waiting_for_remediation() -> NewCondition {
    owner_remediated(reasons::WAITING_FOR_REMEDIATION, "Waiting for remediation")
}

/// Its owner will not replace it, and why.
pub fn cannot_be_remediated(message: impl Into<Cow<'static, str>>) -> NewCondition {
    owner_remediated(reasons::CANNOT_BE_REMEDIATED, message)
}

/// Its owner will not replace it for its health, as the rollout removes it anyway.
pub fn pending_removal() -> NewCondition {
    cannot_be_remediated("Machine won't be remediated because it is pending removal due to rollout")
}

/// Its owner keeps it, as its update failed and machines are to stay. The user may ask for it by name.
pub fn kept_after_a_failed_update() -> NewCondition {
    cannot_be_remediated(
        "Machine won't be remediated because its update failed and refit.dev/in-place is Require: take the annotation \
         refit.dev/update-failed off to try again, change the template, or have it replaced by the annotation \
         cluster.x-k8s.io/remediate-machine",
    )
}

/// Its owner waits for the end of its update.
pub fn waiting_for_the_update() -> NewCondition {
    remediation_deferred("Waiting because the Machine is being updated in place")
}

/// Its owner waits for the health check to look at it after its update.
pub fn waiting_for_the_check() -> NewCondition {
    remediation_deferred("Waiting because the health check failed for an update of the Machine that is over")
}

/// Whether a failed health check, by the message of its condition, is about the update of the Machine itself.
pub fn is_about_the_update(message: &str) -> bool {
    let complaint = |type_: &str| format!("\n  * Condition {type_} on Machine ");
    [types::UPDATING, refit_types::UPDATE_FAILED].iter().any(|type_| message.contains(&complaint(type_)))
}

/// Its owner will replace it later, and why not now.
pub fn remediation_deferred(message: impl Into<Cow<'static, str>>) -> NewCondition {
    owner_remediated(reasons::REMEDIATION_DEFERRED, message)
}

/// Its owner replaces so many others that it may not begin with this one. `max` is the limit as the user wrote it.
pub fn too_many_remediations(max: &str) -> NewCondition {
    remediation_deferred(format!(
        "Waiting because there are already too many remediations in progress \
         (spec.strategy.remediation.maxInFlight is {max})"
    ))
}

/// Its owner replaces it.
pub fn remediation_deleting() -> NewCondition {
    owner_remediated(reasons::MACHINE_DELETING, MACHINE_IS_DELETING)
}

/// Its owner tried to replace it and could not.
pub fn remediation_failed() -> NewCondition {
    owner_remediated(reasons::INTERNAL_ERROR, SEE_LOGS)
}

/// Somebody outside of Cluster API should repair it, and is not done.
pub fn waiting_for_external_remediation() -> NewCondition {
    NewCondition::new(types::EXTERNALLY_REMEDIATED, Status::False, reasons::WAITING_FOR_REMEDIATION)
}

/// The template of the repair request is not there.
pub fn remediation_template_not_found(kind: &str, namespace: &str, name: &str) -> NewCondition {
    NewCondition::new(types::EXTERNALLY_REMEDIATED, Status::False, reasons::REMEDIATION_TEMPLATE_NOT_FOUND)
        .with_message(format!("Error retrieving remediation template {kind} {namespace}/{name}"))
}

/// The repair request could not be created.
pub fn remediation_request_failed() -> NewCondition {
    NewCondition::new(types::EXTERNALLY_REMEDIATED, Status::False, reasons::REMEDIATION_REQUEST_CREATION_FAILED)
        .with_message(SEE_LOGS)
}

fn failed(reason: &'static str, problems: &[impl AsRef<str>]) -> NewCondition {
    let problems: String = problems.iter().map(|problem| format!("\n  * {}", problem.as_ref())).collect();
    NewCondition::new(types::HEALTH_CHECK_SUCCEEDED, Status::False, reason)
        .with_message(format!("Health check failed:{problems}"))
}

fn owner_remediated(reason: &'static str, message: impl Into<Cow<'static, str>>) -> NewCondition {
    NewCondition::new(types::OWNER_REMEDIATED, Status::False, reason).with_message(message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conditions::testing::check;

    #[test]
    fn conditions_of_health_read_as_upstreams() {
        check(&[
            (healthy(), "HealthCheckSucceeded=True HealthCheckSucceeded"),
            (
                unhealthy_node(&["a", "b"]),
                "HealthCheckSucceeded=False UnhealthyNode: Health check failed:\n  * a\n  * b",
            ),
            (unhealthy_machine(&["a"]), "HealthCheckSucceeded=False UnhealthyMachine: Health check failed:\n  * a"),
            (
                node_startup_timeout("10m0s"),
                "HealthCheckSucceeded=False NodeStartupTimeout: Health check failed:\n  \
                 * Node failed to report startup in 10m0s",
            ),
            (
                node_deleted("n1"),
                "HealthCheckSucceeded=False NodeDeleted: Health check failed:\n  * Node n1 has been deleted",
            ),
            (
                marked_for_remediation(),
                "HealthCheckSucceeded=False HasRemediateAnnotation: Health check failed: \
                 marked for remediation via cluster.x-k8s.io/remediate-machine annotation",
            ),
        ]);
    }

    #[test]
    fn conditions_of_remediation_read_as_upstreams() {
        check(&[
            (waiting_for_remediation(), "OwnerRemediated=False WaitingForRemediation: Waiting for remediation"),
            (cannot_be_remediated("no"), "OwnerRemediated=False CannotBeRemediated: no"),
            (
                pending_removal(),
                "OwnerRemediated=False CannotBeRemediated: \
                 Machine won't be remediated because it is pending removal due to rollout",
            ),
            (remediation_deferred("later"), "OwnerRemediated=False RemediationDeferred: later"),
            (
                too_many_remediations("1"),
                "OwnerRemediated=False RemediationDeferred: Waiting because there are already too many remediations \
                 in progress (spec.strategy.remediation.maxInFlight is 1)",
            ),
            (remediation_deleting(), "OwnerRemediated=False MachineDeleting: Machine is deleting"),
            (remediation_failed(), "OwnerRemediated=False InternalError: Please check controller logs for errors"),
            (waiting_for_external_remediation(), "ExternallyRemediated=False WaitingForRemediation"),
            (
                remediation_template_not_found("RepairTemplate", "ns", "fix"),
                "ExternallyRemediated=False RemediationTemplateNotFound: \
                 Error retrieving remediation template RepairTemplate ns/fix",
            ),
            (
                remediation_request_failed(),
                "ExternallyRemediated=False RemediationRequestCreationFailed: Please check controller logs for errors",
            ),
        ]);
    }
}
