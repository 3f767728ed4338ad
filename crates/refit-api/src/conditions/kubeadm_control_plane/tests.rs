use super::*;
use crate::conditions::testing::check;

#[test]
fn conditions_of_control_planes_read_as_upstreams() {
    check(&[
        (available(&[] as &[&str]), "Available=True Available"),
        (available(&["note"]), "Available=True Available: * note"),
        (not_available(&["a", "b"]), "Available=False NotAvailable: * a\n* b"),
        (not_available_before_initialized(), "Available=False NotAvailable: Control plane not yet initialized"),
        (waiting_for_etcd_members(), "Available=False NotAvailable: Waiting for etcd to report the list of members"),
        (
            etcd_members_do_not_match(),
            "Available=False NotAvailable: The list of etcd members does not match the list of Machines and Nodes",
        ),
        (etcd_members_unknown(), "Available=Unknown InspectionFailed: Failed to get etcd members"),
        (initialized(), "Initialized=True Initialized"),
        (not_initialized(), "Initialized=False NotInitialized"),
        (certificates_available(), "CertificatesAvailable=True Available"),
        (
            certificates_not_available(&["ca"]),
            "CertificatesAvailable=False NotAvailable: \
             Cluster certificate for ca is not available, please check cluster certificate secrets",
        ),
        (
            certificates_not_available(&["ca", "etcd"]),
            "CertificatesAvailable=False NotAvailable: \
             Cluster certificates for ca, etcd are not available, please check cluster certificate secrets",
        ),
        (scaling_up(1, 3, &[], &[]), "ScalingUp=True ScalingUp: Scaling up from 1 to 3 replicas"),
        (
            scaling_up(1, 3, &["waiting for etcd cluster to become healthy"], &["DevMachineTemplate"]),
            "ScalingUp=True ScalingUp: Scaling up from 1 to 3 replicas is blocked because:\n\
             * waiting for etcd cluster to become healthy\n* DevMachineTemplate does not exist",
        ),
        (
            scaling_down(3, 1, &["waiting"]),
            "ScalingDown=True ScalingDown: Scaling down from 3 to 1 replicas is blocked because:\n* waiting",
        ),
        (
            not_remediating(&["a"]),
            "Remediating=False NotRemediating: \
             Machine a is not healthy (not to be remediated by KubeadmControlPlane)",
        ),
    ]);
}

#[test]
fn conditions_of_health_read_as_upstreams() {
    use Health::{Components, EtcdCluster};
    let probe = Some(jiff::Timestamp::UNIX_EPOCH);
    check(&[
        (EtcdCluster.healthy(), "EtcdClusterHealthy=True Healthy"),
        (Components.healthy(), "ControlPlaneComponentsHealthy=True Healthy"),
        (EtcdCluster.not_healthy("why"), "EtcdClusterHealthy=False NotHealthy: why"),
        (EtcdCluster.unknown("why"), "EtcdClusterHealthy=Unknown HealthUnknown: why"),
        (
            EtcdCluster.not_reported(),
            "EtcdClusterHealthy=Unknown HealthUnknown: No Machines reporting etcd member status",
        ),
        (
            Components.not_reported(),
            "ControlPlaneComponentsHealthy=Unknown HealthUnknown: No Machines reporting control plane status",
        ),
        (EtcdCluster.inspection_failed("why"), "EtcdClusterHealthy=Unknown InspectionFailed: why"),
        (
            EtcdCluster.waiting_for_infrastructure(),
            "EtcdClusterHealthy=Unknown InspectionFailed: \
             Waiting for Cluster status.infrastructureReady to be true",
        ),
        (
            EtcdCluster.waiting_for_endpoint(),
            "EtcdClusterHealthy=Unknown InspectionFailed: Waiting for Cluster spec.controlPlaneEndpoint to be set",
        ),
        (
            EtcdCluster.waiting_for_initialization(),
            "EtcdClusterHealthy=Unknown InspectionFailed: Waiting for Cluster control plane to be initialized",
        ),
        (
            EtcdCluster.not_connected_yet(),
            "EtcdClusterHealthy=Unknown ConnectionDown: Remote connection not established yet",
        ),
        (
            EtcdCluster.connection_down(probe),
            "EtcdClusterHealthy=Unknown ConnectionDown: Last successful probe at 1970-01-01T00:00:00Z",
        ),
    ]);
}

#[test]
fn steps_of_the_deletion_read_as_upstreams() {
    let stale = stale_machines(&["a"], &[]);
    check(&[
        (deleting::internal_error(), "Deleting=True InternalError: Please check controller logs for errors"),
        (
            deleting::waiting_for_workers(&["Machines: a, b"]),
            "Deleting=True WaitingForWorkersDeletion: \
             KubeadmControlPlane deletion blocked because following objects still exist:\n* Machines: a, b",
        ),
        (deleting::waiting_for_machines(1, None), "Deleting=True WaitingForMachineDeletion: Deleting 1 Machine"),
        (
            deleting::waiting_for_machines(3, stale.as_deref()),
            "Deleting=True WaitingForMachineDeletion: \
             Deleting 3 Machines and Machine a is in deletion since more than 15m",
        ),
        (deleting::completed(), "Deleting=True DeletionCompleted: Deletion completed"),
    ]);
}
