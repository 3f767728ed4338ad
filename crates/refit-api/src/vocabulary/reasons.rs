//! Reasons of conditions. One word means the same under every condition type that has it.

// Shared by several condition types.

/// It can be used.
pub const AVAILABLE: &str = "Available";
/// It cannot be used.
pub const NOT_AVAILABLE: &str = "NotAvailable";
/// Nobody knows whether it can be used.
pub const AVAILABLE_UNKNOWN: &str = "AvailableUnknown";
/// It is ready, or all of them are.
pub const READY: &str = "Ready";
/// It is not ready, or one of them is not.
pub const NOT_READY: &str = "NotReady";
/// Nobody knows whether it is ready.
pub const READY_UNKNOWN: &str = "ReadyUnknown";
/// It is as it should be, or all of them are.
pub const UP_TO_DATE: &str = "UpToDate";
/// It differs from what its owner wants, or one of them does.
pub const NOT_UP_TO_DATE: &str = "NotUpToDate";
/// Nobody knows whether all are as they should be.
pub const UP_TO_DATE_UNKNOWN: &str = "UpToDateUnknown";
/// Some Machines are not as they should be.
pub const ROLLING_OUT: &str = "RollingOut";
/// All Machines are as they should be.
pub const NOT_ROLLING_OUT: &str = "NotRollingOut";
/// On Clusters: one of the owners of Machines does not say.
pub const ROLLING_OUT_UNKNOWN: &str = "RollingOutUnknown";
/// There are too few Machines.
pub const SCALING_UP: &str = "ScalingUp";
/// There are enough Machines.
pub const NOT_SCALING_UP: &str = "NotScalingUp";
/// On Clusters: one of the owners of Machines does not say.
pub const SCALING_UP_UNKNOWN: &str = "ScalingUpUnknown";
/// There are too many Machines.
pub const SCALING_DOWN: &str = "ScalingDown";
/// There are not too many Machines.
pub const NOT_SCALING_DOWN: &str = "NotScalingDown";
/// On Clusters: one of the owners of Machines does not say.
pub const SCALING_DOWN_UNKNOWN: &str = "ScalingDownUnknown";
/// Unhealthy Machines are being replaced.
pub const REMEDIATING: &str = "Remediating";
/// No Machine is being replaced for its health.
pub const NOT_REMEDIATING: &str = "NotRemediating";
/// There are no Machines, and none is wanted.
pub const NO_REPLICAS: &str = "NoReplicas";
/// The number of replicas is not set yet.
pub const WAITING_FOR_REPLICAS_SET: &str = "WaitingForReplicasSet";
/// The condition of another object makes no sense.
pub const INVALID_CONDITION_REPORTED: &str = "InvalidConditionReported";
/// Something went wrong that the user cannot know of; it is in the logs.
pub const INTERNAL_ERROR: &str = "InternalError";
/// The object that is referred to is not there.
pub const OBJECT_DOES_NOT_EXIST: &str = "ObjectDoesNotExist";
/// The object that is referred to was there, and is gone.
pub const OBJECT_DELETED: &str = "ObjectDeleted";
/// The controller leaves the object as it is.
pub const PAUSED: &str = "Paused";
/// The controller works on the object.
pub const NOT_PAUSED: &str = "NotPaused";
/// The workload cluster does not answer.
pub const CONNECTION_DOWN: &str = "ConnectionDown";
/// Looking at the workload cluster failed, or it is too early for it.
pub const INSPECTION_FAILED: &str = "InspectionFailed";
/// It is not being deleted.
pub const NOT_DELETING: &str = "NotDeleting";
/// It is being deleted, or belongs to a Machine that is.
pub const DELETING: &str = "Deleting";
/// All that had to go before it is gone.
pub const DELETION_COMPLETED: &str = "DeletionCompleted";
/// Its deletion waits for the workers.
pub const WAITING_FOR_WORKERS_DELETION: &str = "WaitingForWorkersDeletion";
/// Its deletion waits for the provider's object.
pub const WAITING_FOR_INFRASTRUCTURE_DELETION: &str = "WaitingForInfrastructureDeletion";
/// The control plane served its API once.
pub const INITIALIZED: &str = "Initialized";
/// The control plane never served its API.
pub const NOT_INITIALIZED: &str = "NotInitialized";
/// It is healthy, or all of them are.
pub const HEALTHY: &str = "Healthy";
/// It is not healthy, or one of them is not.
pub const NOT_HEALTHY: &str = "NotHealthy";
/// Nobody knows whether all are healthy.
pub const HEALTH_UNKNOWN: &str = "HealthUnknown";

// Conditions that are made from others.

/// A condition that should be there is not there yet.
pub const NOT_YET_REPORTED: &str = "NotYetReported";
/// The condition of another object has no reason, as those of v1beta1 may.
pub const NO_REASON_REPORTED: &str = "NoReasonReported";
/// One of the merged conditions is bad, and nobody gave a better word.
pub const ISSUES_REPORTED: &str = "IssuesReported";
/// One of the merged conditions is unknown, and nobody gave a better word.
pub const UNKNOWN_REPORTED: &str = "UnknownReported";
/// All merged conditions are fine, and nobody gave a better word.
pub const INFO_REPORTED: &str = "InfoReported";

// Machine: Available, UpToDate, Updating, BootstrapConfigReady.

/// It is ready, but not for long enough.
pub const WAITING_FOR_MIN_READY_SECONDS: &str = "WaitingForMinReadySeconds";
/// Under UpToDate: it is on the way to what its owner wants.
pub const UPDATING: &str = "Updating";
/// No update in place is under way.
pub const NOT_UPDATING: &str = "NotUpdating";
/// An update in place is under way.
pub const IN_PLACE_UPDATING: &str = "InPlaceUpdating";
/// The last try of an update in place failed.
pub const IN_PLACE_UPDATE_FAILED: &str = "InPlaceUpdateFailed";
/// There is no bootstrap object, as the user brought the Secret.
pub const DATA_SECRET_PROVIDED: &str = "DataSecretProvided";

// Machine: NodeReady, NodeHealthy.

/// The Node says that it is ready.
pub const NODE_READY: &str = "NodeReady";
/// The Node says that it is not ready.
pub const NODE_NOT_READY: &str = "NodeNotReady";
/// The Node does not say whether it is ready.
pub const NODE_READY_UNKNOWN: &str = "NodeReadyUnknown";
/// The Node is ready and under no pressure.
pub const NODE_HEALTHY: &str = "NodeHealthy";
/// The Node is not ready, or under pressure.
pub const NODE_NOT_HEALTHY: &str = "NodeNotHealthy";
/// The Node does not say whether it is ready or under pressure.
pub const NODE_HEALTHY_UNKNOWN: &str = "NodeHealthyUnknown";
/// There is no Node.
pub const NODE_DOES_NOT_EXIST: &str = "NodeDoesNotExist";
/// There was a Node, and it is gone.
pub const NODE_DELETED: &str = "NodeDeleted";

// Machine: HealthCheckSucceeded, OwnerRemediated, ExternallyRemediated.

/// No check failed.
pub const HEALTH_CHECK_SUCCEEDED: &str = "HealthCheckSucceeded";
/// A condition of the Node is bad for too long.
pub const UNHEALTHY_NODE: &str = "UnhealthyNode";
/// A condition of the Machine is bad for too long.
pub const UNHEALTHY_MACHINE: &str = "UnhealthyMachine";
/// The Node did not come in time.
pub const NODE_STARTUP_TIMEOUT: &str = "NodeStartupTimeout";
/// A user asked for its replacement.
pub const HAS_REMEDIATE_ANNOTATION: &str = "HasRemediateAnnotation";
/// Somebody should replace or repair it, and nobody has begun.
pub const WAITING_FOR_REMEDIATION: &str = "WaitingForRemediation";
/// It will not be replaced for its health.
pub const CANNOT_BE_REMEDIATED: &str = "CannotBeRemediated";
/// It will be replaced for its health, but not now.
pub const REMEDIATION_DEFERRED: &str = "RemediationDeferred";
/// It is being replaced for its health.
pub const MACHINE_DELETING: &str = "MachineDeleting";
/// The template of the repair request is not there.
pub const REMEDIATION_TEMPLATE_NOT_FOUND: &str = "RemediationTemplateNotFound";
/// The repair request could not be created.
pub const REMEDIATION_REQUEST_CREATION_FAILED: &str = "RemediationRequestCreationFailed";

// Machine: Deleting, in the order in which they come.

/// Somebody asked to be waited for before the drain.
pub const WAITING_FOR_PRE_DRAIN_HOOK: &str = "WaitingForPreDrainHook";
/// The Pods are leaving the Node.
pub const DRAINING_NODE: &str = "DrainingNode";
/// The volumes are leaving the Node.
pub const WAITING_FOR_VOLUME_DETACH: &str = "WaitingForVolumeDetach";
/// Somebody asked to be waited for before the host goes.
pub const WAITING_FOR_PRE_TERMINATE_HOOK: &str = "WaitingForPreTerminateHook";
/// The bootstrap object is going.
pub const WAITING_FOR_BOOTSTRAP_DELETION: &str = "WaitingForBootstrapDeletion";
/// The Node is being deleted.
pub const DELETING_NODE: &str = "DeletingNode";

// Machine of a control plane.

/// The Pod runs.
pub const POD_RUNNING: &str = "Running";
/// The Pod is on the way.
pub const POD_PROVISIONING: &str = "Provisioning";
/// There is no Pod.
pub const POD_DOES_NOT_EXIST: &str = "DoesNotExist";
/// The Pod, or a container of it, failed.
pub const POD_FAILED: &str = "Failed";
/// The Node has kubeadm's labels and taints.
pub const LABELS_AND_TAINTS_SET: &str = "Set";
/// The Node lacks one of kubeadm's labels or taints.
pub const LABELS_AND_TAINTS_NOT_SET: &str = "NotSet";

// MachineDeployment.

/// The number of available replicas is not known yet.
pub const WAITING_FOR_AVAILABLE_REPLICAS_SET: &str = "WaitingForAvailableReplicasSet";

// MachineHealthCheck.

/// Few enough Machines are unhealthy to replace one.
pub const REMEDIATION_ALLOWED: &str = "RemediationAllowed";
/// So many Machines are unhealthy that replacing them is not the answer.
pub const TOO_MANY_UNHEALTHY: &str = "TooManyUnhealthy";

// Cluster.

/// The API of the workload cluster answered lately.
pub const PROBE_SUCCEEDED: &str = "ProbeSucceeded";
/// The API of the workload cluster did not answer for too long.
pub const PROBE_FAILED: &str = "ProbeFailed";
/// There are no workers, and none are wanted.
pub const NO_WORKERS: &str = "NoWorkers";
/// Under TopologyReconciled: the objects of the topology could not be brought in line.
pub const RECONCILE_FAILED: &str = "ReconcileFailed";
/// Under TopologyReconciled: the class of the topology is not in order.
pub const CLUSTER_CLASS_NOT_RECONCILED: &str = "ClusterClassNotReconciled";
/// Its deletion waits for an extension.
pub const WAITING_FOR_BEFORE_DELETE_HOOK: &str = "WaitingForBeforeDeleteHook";
/// Its deletion waits for the control plane.
pub const WAITING_FOR_CONTROL_PLANE_DELETION: &str = "WaitingForControlPlaneDeletion";

// KubeadmControlPlane.

/// Its deletion waits for its Machines.
pub const WAITING_FOR_MACHINE_DELETION: &str = "WaitingForMachineDeletion";

// ExtensionConfig.

/// The extension said which handlers it has.
pub const DISCOVERED: &str = "Discovered";
/// The extension could not be asked, or its answer made no sense.
pub const NOT_DISCOVERED: &str = "NotDiscovered";
