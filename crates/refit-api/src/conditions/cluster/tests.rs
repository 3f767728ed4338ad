use kube::core::ObjectMeta;

use super::*;
use crate::conditions::testing::check;
use crate::conditions::{machine_deployment, set};

#[test]
fn conditions_of_clusters_read_as_upstreams() {
    check(&[
        (probe_succeeded(), "RemoteConnectionProbe=True ProbeSucceeded"),
        (probe_failed(None), "RemoteConnectionProbe=False ProbeFailed: Remote connection probe failed"),
        (
            probe_failed(Some(jiff::Timestamp::UNIX_EPOCH)),
            "RemoteConnectionProbe=False ProbeFailed: \
             Remote connection probe failed, probe last succeeded at 1970-01-01T00:00:00Z",
        ),
        (not_connected_yet(), "RemoteConnectionProbe=False ProbeFailed: Remote connection not established yet"),
        (control_plane_initialized(), "ControlPlaneInitialized=True Initialized"),
        (
            control_plane_not_initialized(),
            "ControlPlaneInitialized=False NotInitialized: Control plane not yet initialized",
        ),
        (
            waiting_for_first_control_plane_node(),
            "ControlPlaneInitialized=False NotInitialized: \
             Waiting for the first control plane machine to have status.nodeRef set",
        ),
        (
            control_plane_missing("KubeadmControlPlane"),
            "ControlPlaneInitialized=Unknown ObjectDoesNotExist: KubeadmControlPlane does not exist",
        ),
        (
            INFRASTRUCTURE.gone_too_early("DevCluster"),
            "InfrastructureReady=False ObjectDeleted: DevCluster has been deleted while the cluster still exists",
        ),
        (
            CONTROL_PLANE.not_yet("KubeadmControlPlane"),
            "ControlPlaneAvailable=False NotAvailable: \
             KubeadmControlPlane status.initialization.controlPlaneInitialized is false",
        ),
        (CONTROL_PLANE.fine(), "ControlPlaneAvailable=True Available"),
        (not_remediating(&["a"]), "Remediating=False NotRemediating: Machine a is not healthy (not to be remediated)"),
    ]);
}

#[test]
fn steps_of_the_deletion_read_as_upstreams() {
    check(&[
        (deleting::internal_error(), "Deleting=True InternalError: Please check controller logs for errors"),
        (
            deleting::waiting_for_before_delete_hook(),
            "Deleting=True WaitingForBeforeDeleteHook: Waiting for BeforeClusterDelete hook",
        ),
        (
            deleting::waiting_for_workers(&["MachineDeployments: a", "Machines: b"]),
            "Deleting=True WaitingForWorkersDeletion: * MachineDeployments: a\n* Machines: b",
        ),
        (
            deleting::waiting_for_control_plane("KubeadmControlPlane"),
            "Deleting=True WaitingForControlPlaneDeletion: Waiting for KubeadmControlPlane to be deleted",
        ),
        (
            deleting::waiting_for_infrastructure("DevCluster"),
            "Deleting=True WaitingForInfrastructureDeletion: Waiting for DevCluster to be deleted",
        ),
        (deleting::completed(), "Deleting=True DeletionCompleted: Deletion completed"),
    ]);
}

#[test]
fn a_cluster_without_workers_has_nothing_to_wait_for() {
    check(&[
        (workers_available(&[]), "WorkersAvailable=True NoWorkers"),
        (control_plane_machines_ready(&[]), "ControlPlaneMachinesReady=True NoReplicas"),
        (worker_machines_ready(&[]), "WorkerMachinesReady=True NoReplicas"),
        (control_plane_machines_up_to_date(&[]), "ControlPlaneMachinesUpToDate=True NoReplicas"),
        (worker_machines_up_to_date(&[]), "WorkerMachinesUpToDate=True NoReplicas"),
        (rolling_out(&[]), "RollingOut=False NotRollingOut"),
        (scaling_up(&[]), "ScalingUp=False NotScalingUp"),
        (scaling_down(&[]), "ScalingDown=False NotScalingDown"),
    ]);
}

#[test]
fn conditions_made_from_owners_have_the_words_of_their_type() {
    let metadata = ObjectMeta { name: Some("md".to_owned()), ..ObjectMeta::default() };
    let owner = |condition| [Source::new("MachineDeployment", &metadata, condition)];
    let up = machine_deployment::scaling_up(1, 3, &[]);
    let not_available = machine_deployment::not_available(1, 3, None);
    check(&[
        (
            scaling_up(&owner(Some(&up))),
            "ScalingUp=True ScalingUp: * MachineDeployment md: Scaling up from 1 to 3 replicas",
        ),
        (
            rolling_out(&owner(None)),
            "RollingOut=Unknown RollingOutUnknown: * MachineDeployment md: Condition RollingOut not yet reported",
        ),
        (
            scaling_down(&owner(None)),
            "ScalingDown=Unknown ScalingDownUnknown: * MachineDeployment md: Condition ScalingDown not yet reported",
        ),
        (
            workers_available(&owner(Some(&not_available))),
            "WorkersAvailable=False NotAvailable: \
             * MachineDeployment md: 1 available replicas, at least 3 required",
        ),
    ]);
}

/// A working Cluster with this condition instead.
fn check_available(changed: NewCondition, is_deleting: bool, expected: &str) {
    let working =
        [not_deleting(), probe_succeeded(), INFRASTRUCTURE.fine(), CONTROL_PLANE.fine(), workers_available(&[])];
    let mut conditions = Vec::new();
    for condition in working.into_iter().chain([changed]) {
        set(&mut conditions, condition, None, jiff::Timestamp::UNIX_EPOCH);
    }
    let gates = [("Gate", ConditionPolarity::Negative)];
    let gates = if conditions.iter().any(|condition| condition.type_ == "Gate") { &gates[..] } else { &[] };
    check(&[(available(&conditions, gates, is_deleting), expected)]);
}

#[test]
fn a_cluster_whose_parts_all_work_is_available() {
    check_available(not_paused(), false, "Available=True Available");
    let expected = "Available=False NotAvailable: * RemoteConnectionProbe: Remote connection probe failed";
    check_available(probe_failed(None), false, expected);
}

#[test]
fn a_negative_gate_is_bad_when_true() {
    let gate = NewCondition::new("Gate", Status::True, "Why");
    check_available(gate, false, "Available=False NotAvailable: * Gate: Why");
}

#[test]
fn what_is_gone_is_no_issue_of_a_cluster_that_is_going() {
    let gone = || INFRASTRUCTURE.gone("DevCluster");
    let expected = "Available=False NotAvailable: * InfrastructureReady: DevCluster has been deleted";
    check_available(gone(), false, expected);
    check_available(gone(), true, "Available=True Available: * InfrastructureReady: DevCluster has been deleted");
}

#[test]
fn only_a_failure_of_the_topology_counts() {
    let topology = |reason: &'static str| NewCondition::new(types::TOPOLOGY_RECONCILED, Status::False, reason);
    check_available(topology("ClusterUpgrading"), false, "Available=True Available");
    let expected = "Available=False NotAvailable: * TopologyReconciled: ReconcileFailed";
    check_available(topology(reasons::RECONCILE_FAILED), false, expected);
}

#[test]
fn a_gate_on_its_own_availability_is_an_internal_error() {
    let gates = [(types::AVAILABLE, ConditionPolarity::Positive)];
    let expected = "Available=Unknown InternalError: Please check controller logs for errors";
    check(&[(available(&[], &gates, false), expected)]);
}
