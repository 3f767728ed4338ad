//! Condition types. One word means the same on every kind that has it; [`crate::conditions`] knows which kind has which.

// Shared by several kinds.

/// On Clusters, MachineDeployments, KubeadmControlPlanes, Machines: it can be used, and has been so for long enough.
pub const AVAILABLE: &str = "Available";
/// On Machines, KubeadmConfigs and providers' objects: all parts of it work.
pub const READY: &str = "Ready";
/// On owners of Machines, from [`READY`] of the Machines.
pub const MACHINES_READY: &str = "MachinesReady";
/// On owners of Machines, from [`UP_TO_DATE`] of the Machines.
pub const MACHINES_UP_TO_DATE: &str = "MachinesUpToDate";
/// On owners of Machines and on Clusters: some Machines are not as they should be. Bad when true.
pub const ROLLING_OUT: &str = "RollingOut";
/// On owners of Machines and on Clusters: there are too few Machines. Bad when true.
pub const SCALING_UP: &str = "ScalingUp";
/// On owners of Machines and on Clusters: there are too many Machines. Bad when true.
pub const SCALING_DOWN: &str = "ScalingDown";
/// On owners of Machines and on Clusters: unhealthy Machines are being replaced. Bad when true.
pub const REMEDIATING: &str = "Remediating";
/// On all: deletion is under way, and the reason says where it is. Bad when true.
pub const DELETING: &str = "Deleting";
/// On all, before anything else is done: the controller leaves the object as it is. Bad when true.
pub const PAUSED: &str = "Paused";
/// On Clusters and Machines, from [`READY`] of the provider's object.
pub const INFRASTRUCTURE_READY: &str = "InfrastructureReady";
/// On KubeadmControlPlanes and KubeadmConfigs: the cluster's certificates are there.
pub const CERTIFICATES_AVAILABLE: &str = "CertificatesAvailable";

// Machine.

/// By the Machine controller, on control planes by their controller: it is as its owner wants it.
pub const UP_TO_DATE: &str = "UpToDate";
/// An update in place is under way. Bad when true.
pub const UPDATING: &str = "Updating";
/// From [`READY`] of the bootstrap provider's object.
pub const BOOTSTRAP_CONFIG_READY: &str = "BootstrapConfigReady";
/// The Node says that it is ready.
pub const NODE_READY: &str = "NodeReady";
/// The Node is ready and under no pressure.
pub const NODE_HEALTHY: &str = "NodeHealthy";
/// By MachineHealthChecks: no check failed.
pub const HEALTH_CHECK_SUCCEEDED: &str = "HealthCheckSucceeded";
/// By MachineHealthChecks when false, then by the owner: the owner is done with replacing it.
pub const OWNER_REMEDIATED: &str = "OwnerRemediated";
/// By MachineHealthChecks: somebody outside of Cluster API is done with repairing it.
pub const EXTERNALLY_REMEDIATED: &str = "ExternallyRemediated";

// Machine of a control plane, all by the KubeadmControlPlane controller.

/// The kube-apiserver of the Machine runs.
pub const API_SERVER_POD_HEALTHY: &str = "APIServerPodHealthy";
/// The kube-controller-manager of the Machine runs.
pub const CONTROLLER_MANAGER_POD_HEALTHY: &str = "ControllerManagerPodHealthy";
/// The kube-scheduler of the Machine runs.
pub const SCHEDULER_POD_HEALTHY: &str = "SchedulerPodHealthy";
/// The etcd of the Machine runs.
pub const ETCD_POD_HEALTHY: &str = "EtcdPodHealthy";
/// The etcd of the Machine is a voting member without alarms.
pub const ETCD_MEMBER_HEALTHY: &str = "EtcdMemberHealthy";
/// The Node has the labels and taints that kubeadm gives to control planes.
pub const NODE_KUBEADM_LABELS_AND_TAINTS_SET: &str = "NodeKubeadmLabelsAndTaintsSet";

// MachineHealthCheck.

/// Few enough Machines are unhealthy to replace one.
pub const REMEDIATION_ALLOWED: &str = "RemediationAllowed";

// Cluster.

/// The API of the workload cluster answered lately.
pub const REMOTE_CONNECTION_PROBE: &str = "RemoteConnectionProbe";
/// The control plane served its API once. Never taken back.
pub const CONTROL_PLANE_INITIALIZED: &str = "ControlPlaneInitialized";
/// From [`AVAILABLE`] of the control plane.
pub const CONTROL_PLANE_AVAILABLE: &str = "ControlPlaneAvailable";
/// From [`AVAILABLE`] of the MachineDeployments.
pub const WORKERS_AVAILABLE: &str = "WorkersAvailable";
/// From [`READY`] of the control plane's Machines.
pub const CONTROL_PLANE_MACHINES_READY: &str = "ControlPlaneMachinesReady";
/// From [`READY`] of the workers' Machines.
pub const WORKER_MACHINES_READY: &str = "WorkerMachinesReady";
/// From [`UP_TO_DATE`] of the control plane's Machines.
pub const CONTROL_PLANE_MACHINES_UP_TO_DATE: &str = "ControlPlaneMachinesUpToDate";
/// From [`UP_TO_DATE`] of the workers' Machines.
pub const WORKER_MACHINES_UP_TO_DATE: &str = "WorkerMachinesUpToDate";
/// By the topology controller: the objects of the topology are as its class says.
pub const TOPOLOGY_RECONCILED: &str = "TopologyReconciled";

// KubeadmControlPlane.

/// kubeadm init succeeded once. Never taken back.
pub const INITIALIZED: &str = "Initialized";
/// From [`ETCD_MEMBER_HEALTHY`] of the Machines. Not there with an external etcd.
pub const ETCD_CLUSTER_HEALTHY: &str = "EtcdClusterHealthy";
/// From the Pod conditions of the Machines.
pub const CONTROL_PLANE_COMPONENTS_HEALTHY: &str = "ControlPlaneComponentsHealthy";

// KubeadmConfig.

/// The bootstrap data is in its Secret.
pub const DATA_SECRET_AVAILABLE: &str = "DataSecretAvailable";

// ExtensionConfig.

/// The extension said which handlers it has.
pub const DISCOVERED: &str = "Discovered";
