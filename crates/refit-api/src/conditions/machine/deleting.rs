//! The steps of a Machine's deletion, in the order in which they come.

use std::borrow::Cow;

use crate::conditions::NewCondition;
use crate::conditions::common::{DELETION_COMPLETED, SEE_LOGS, deleting, rfc3339};
use crate::vocabulary::reasons;

/// It has just begun.
pub fn started() -> NewCondition {
    deleting(reasons::DELETING, "Deletion started")
}

/// It cannot go on, and the logs say why.
pub fn internal_error() -> NewCondition {
    deleting(reasons::INTERNAL_ERROR, SEE_LOGS)
}

/// Somebody asked to be waited for before the drain. `hooks` are the annotations that say so.
pub fn waiting_for_pre_drain_hooks(hooks: &[&str]) -> NewCondition {
    let message = format!("Waiting for pre-drain hooks to succeed (hooks: {})", hooks.join(","));
    deleting(reasons::WAITING_FOR_PRE_DRAIN_HOOK, message)
}

/// The Pods are leaving the Node. The message says which, and what holds them.
pub fn draining_node(message: impl Into<Cow<'static, str>>) -> NewCondition {
    deleting(reasons::DRAINING_NODE, message)
}

/// The drain failed.
pub fn draining_node_failed() -> NewCondition {
    draining_node("Error draining Node, please check controller logs for errors")
}

/// The volumes are leaving the Node.
pub fn waiting_for_volume_detach(since: jiff::Timestamp) -> NewCondition {
    let message = format!("Waiting for Node volumes to be detached (started at {})", rfc3339(since));
    deleting(reasons::WAITING_FOR_VOLUME_DETACH, message)
}

/// Waiting for the volumes failed.
pub fn waiting_for_volume_detach_failed() -> NewCondition {
    const MESSAGE: &str = "Error waiting for volumes to be detached from Node, please check controller logs for errors";
    deleting(reasons::WAITING_FOR_VOLUME_DETACH, MESSAGE)
}

/// Somebody asked to be waited for before the host goes. `hooks` are the annotations that say so.
pub fn waiting_for_pre_terminate_hooks(hooks: &[&str]) -> NewCondition {
    let message = format!("Waiting for pre-terminate hooks to succeed (hooks: {})", hooks.join(","));
    deleting(reasons::WAITING_FOR_PRE_TERMINATE_HOOK, message)
}

/// The host is going.
pub fn waiting_for_infrastructure(kind: &str) -> NewCondition {
    deleting(reasons::WAITING_FOR_INFRASTRUCTURE_DELETION, format!("Waiting for {kind} to be deleted"))
}

/// The bootstrap configuration is going.
pub fn waiting_for_bootstrap(kind: &str) -> NewCondition {
    deleting(reasons::WAITING_FOR_BOOTSTRAP_DELETION, format!("Waiting for {kind} to be deleted"))
}

/// The host or the bootstrap configuration could not be deleted.
pub fn delete_failed(kind: &str) -> NewCondition {
    let message = format!("Failed to delete {kind}, please check controller logs for errors");
    deleting(reasons::INTERNAL_ERROR, message)
}

/// The Node could not be deleted.
pub fn deleting_node_failed() -> NewCondition {
    deleting(reasons::DELETING_NODE, "Error deleting Node, please check controller logs for errors")
}

/// All is gone but the Machine itself.
pub fn completed() -> NewCondition {
    deleting(reasons::DELETION_COMPLETED, DELETION_COMPLETED)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conditions::testing::check;

    #[test]
    fn steps_of_the_deletion_read_as_upstreams() {
        let begin = jiff::Timestamp::UNIX_EPOCH;
        check(&[
            (started(), "Deleting=True Deleting: Deletion started"),
            (internal_error(), "Deleting=True InternalError: Please check controller logs for errors"),
            (
                waiting_for_pre_drain_hooks(&["a", "b"]),
                "Deleting=True WaitingForPreDrainHook: Waiting for pre-drain hooks to succeed (hooks: a,b)",
            ),
            (draining_node("Drain not completed yet"), "Deleting=True DrainingNode: Drain not completed yet"),
            (
                draining_node_failed(),
                "Deleting=True DrainingNode: Error draining Node, please check controller logs for errors",
            ),
            (
                waiting_for_volume_detach(begin),
                "Deleting=True WaitingForVolumeDetach: \
                 Waiting for Node volumes to be detached (started at 1970-01-01T00:00:00Z)",
            ),
            (
                waiting_for_volume_detach_failed(),
                "Deleting=True WaitingForVolumeDetach: \
                 Error waiting for volumes to be detached from Node, please check controller logs for errors",
            ),
            (
                waiting_for_pre_terminate_hooks(&["a"]),
                "Deleting=True WaitingForPreTerminateHook: Waiting for pre-terminate hooks to succeed (hooks: a)",
            ),
            (
                waiting_for_infrastructure("DevMachine"),
                "Deleting=True WaitingForInfrastructureDeletion: Waiting for DevMachine to be deleted",
            ),
            (
                waiting_for_bootstrap("KubeadmConfig"),
                "Deleting=True WaitingForBootstrapDeletion: Waiting for KubeadmConfig to be deleted",
            ),
            (
                delete_failed("DevMachine"),
                "Deleting=True InternalError: Failed to delete DevMachine, please check controller logs for errors",
            ),
            (
                deleting_node_failed(),
                "Deleting=True DeletingNode: Error deleting Node, please check controller logs for errors",
            ),
            (completed(), "Deleting=True DeletionCompleted: Deletion completed"),
        ]);
    }
}
