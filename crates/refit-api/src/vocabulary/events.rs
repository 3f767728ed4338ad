//! Reasons of events, and the names that the controllers report them under.

// MachineDeployment and MachineSet.

/// A MachineSet, or a Machine, was created.
pub const SUCCESSFUL_CREATE: &str = "SuccessfulCreate";
/// Warning: a MachineSet could not be created.
pub const FAILED_CREATE: &str = "FailedCreate";
/// Warning: a MachineSet could not be changed.
pub const FAILED_UPDATE: &str = "FailedUpdate";
/// A MachineSet got other replicas.
pub const SUCCESSFUL_SCALE: &str = "SuccessfulScale";
/// Warning: a MachineSet could not be given other replicas.
pub const FAILED_SCALE: &str = "FailedScale";
/// A MachineSet, or a Machine, was deleted.
pub const SUCCESSFUL_DELETE: &str = "SuccessfulDelete";
/// Warning: a MachineSet, or a control-plane Machine, could not be deleted.
pub const FAILED_DELETE: &str = "FailedDelete";
/// A MachineSet, or a Machine, without an owner was taken on.
pub const SUCCESSFUL_ADOPT: &str = "SuccessfulAdopt";
/// Warning: a MachineSet, or a Machine, without an owner could not be taken on.
pub const FAILED_ADOPT: &str = "FailedAdopt";

// Machine.

/// On a Machine, by its owner: its objects have the new spec, and the update begins.
pub const SUCCESSFUL_START_IN_PLACE_UPDATE: &str = "SuccessfulStartInPlaceUpdate";
/// The Node of the Machine was found.
pub const SUCCESSFUL_SET_NODE_REF: &str = "SuccessfulSetNodeRef";
/// The Node was marked as one that may go at any time.
pub const SUCCESSFUL_SET_INTERRUPTIBLE_NODE_LABEL: &str = "SuccessfulSetInterruptibleNodeLabel";
/// Warning: looking for the Node failed. The words, spaces and all, are upstream's.
pub const FAILED_TO_RETRIEVE_NODE: &str = "Failed to retrieve Node by ProviderID";
/// The Node is drained.
pub const SUCCESSFUL_DRAIN_NODE: &str = "SuccessfulDrainNode";
/// Warning: draining the Node failed.
pub const FAILED_DRAIN_NODE: &str = "FailedDrainNode";
/// The volumes of the Node are detached.
pub const NODE_VOLUMES_DETACHED: &str = "NodeVolumesDetached";
/// Warning: waiting for the volumes of the Node failed.
pub const FAILED_WAIT_FOR_VOLUME_DETACH: &str = "FailedWaitForVolumeDetach";
/// Warning: the Node could not be deleted.
pub const FAILED_DELETE_NODE: &str = "FailedDeleteNode";

// MachineHealthCheck.

/// On a Machine, by a MachineHealthCheck: it should be replaced.
pub const MACHINE_MARKED_UNHEALTHY: &str = "MachineMarkedUnhealthy";
/// Warning, on a MachineHealthCheck: too many Machines are unhealthy, so none is replaced.
pub const REMEDIATION_RESTRICTED: &str = "RemediationRestricted";

// Cluster. A change of phase is an event too; its reason is the phase.

/// The infrastructure of the cluster is there.
pub const INFRASTRUCTURE_READY: &str = "InfrastructureReady";
/// The first control-plane Machine serves the API.
pub const CONTROL_PLANE_INITIALIZED: &str = "ControlPlaneInitialized";
/// The Cluster is gone.
pub const DELETED: &str = "Deleted";

// KubeadmControlPlane.

/// Warning: the control plane is not healthy enough for the next step.
pub const CONTROL_PLANE_UNHEALTHY: &str = "ControlPlaneUnhealthy";
/// Warning: the first Machine could not be created.
pub const FAILED_INITIALIZATION: &str = "FailedInitialization";
/// Warning: a further Machine could not be created.
pub const FAILED_SCALE_UP: &str = "FailedScaleUp";
/// Warning: a surplus Machine could not be deleted.
pub const FAILED_SCALE_DOWN: &str = "FailedScaleDown";
/// Warning: a Machine without an owner is of a version too far away to be taken on.
pub const ADOPTION_FAILED: &str = "AdoptionFailed";

/// The names that the controllers report events under.
pub mod components {
    /// The controller of Clusters.
    pub const CLUSTER: &str = "cluster-controller";
    /// The controller of MachineDeployments.
    pub const MACHINE_DEPLOYMENT: &str = "machinedeployment-controller";
    /// The controller of MachineSets.
    pub const MACHINE_SET: &str = "machineset-controller";
    /// The controller of Machines.
    pub const MACHINE: &str = "machine-controller";
    /// The controller of MachineHealthChecks.
    pub const MACHINE_HEALTH_CHECK: &str = "machinehealthcheck-controller";
    /// The controller of KubeadmConfigs.
    pub const KUBEADM_CONFIG: &str = "kubeadmconfig-controller";
    /// The controller of KubeadmControlPlanes.
    pub const KUBEADM_CONTROL_PLANE: &str = "kubeadmcontrolplane-controller";
}
