//! Annotations.

// The hand-over of a Machine from one MachineSet to another, and the update of it.

/// On the old MachineSet, by the MachineDeployment controller: the MachineSet that its surplus Machines go to.
pub const MOVE_MACHINES_TO_MACHINESET: &str = "in-place-updates.internal.cluster.x-k8s.io/move-machines-to-machineset";
/// On the new MachineSet, by the MachineDeployment controller: the MachineSets that it takes Machines from, sorted,
/// with commas between. A move needs both sides to agree.
pub const RECEIVE_MACHINES_FROM_MACHINESETS: &str =
    "in-place-updates.internal.cluster.x-k8s.io/receive-machines-from-machinesets";
/// On the new MachineSet, by the MachineDeployment controller: the moved Machines that its replicas count by now,
/// sorted, with commas between.
pub const ACKNOWLEDGED_MOVE: &str = "in-place-updates.internal.cluster.x-k8s.io/acknowledged-move";
/// On a Machine, by the MachineSet that gave it away: its new MachineSet does not count it yet. Empty.
pub const PENDING_ACKNOWLEDGE_MOVE: &str = "in-place-updates.internal.cluster.x-k8s.io/pending-acknowledge-move";
/// On a Machine and its infrastructure and bootstrap objects, by their owner: an update in place is going on. Empty;
/// the Machine controller takes it off.
pub const UPDATE_IN_PROGRESS: &str = "in-place-updates.internal.cluster.x-k8s.io/update-in-progress";
/// On a Machine, by its owner: the hooks that still have to be called for it, sorted, with commas between.
pub const PENDING_HOOKS: &str = "runtime.cluster.x-k8s.io/pending-hooks";

// Runtime extensions.

/// On an ExtensionConfig, by users: `namespace/name` of the Secret whose `ca.crt` becomes the CA bundle.
pub const INJECT_CA_FROM_SECRET: &str = "runtime.cluster.x-k8s.io/inject-ca-from-secret";
/// On a Cluster, by its controller: all hooks before its deletion are done.
pub const OK_TO_DELETE: &str = "runtime.cluster.x-k8s.io/ok-to-delete";

// MachineDeployments and MachineSets.

/// On a MachineDeployment and its MachineSets, by the controller: the number of the rollout.
pub const REVISION: &str = "machinedeployment.clusters.x-k8s.io/revision";
/// On a MachineSet, by the controller: the numbers that it had before. Deprecated.
pub const REVISION_HISTORY: &str = "machinedeployment.clusters.x-k8s.io/revision-history";
/// On a MachineSet, by the controller: the replicas of its MachineDeployment.
pub const DESIRED_REPLICAS: &str = "machinedeployment.clusters.x-k8s.io/desired-replicas";
/// On a MachineSet, by the controller: the most Machines that its MachineDeployment may have, surge and all.
pub const MAX_REPLICAS: &str = "machinedeployment.clusters.x-k8s.io/max-replicas";
/// On a MachineSet, by the MachineDeployment controller: `true` makes it create no Machines.
pub const DISABLE_MACHINE_CREATE: &str = "cluster.x-k8s.io/disable-machine-create";
/// On a MachineSet or a bootstrap template, by users: the preflight checks to leave out, with commas between.
pub const SKIP_PREFLIGHT_CHECKS: &str = "machineset.cluster.x-k8s.io/skip-preflight-checks";
/// On a MachineDeployment or MachineSet, by users: the fewest replicas that the autoscaler may set.
pub const AUTOSCALER_MIN_SIZE: &str = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size";
/// On a MachineDeployment or MachineSet, by users: the most replicas that the autoscaler may set.
pub const AUTOSCALER_MAX_SIZE: &str = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size";

// What users ask of single objects.

/// On anything, by users: controllers leave it as it is.
pub const PAUSED: &str = "cluster.x-k8s.io/paused";
/// On a Machine, by users: it goes first when there are too many. Any value.
pub const DELETE_MACHINE: &str = "cluster.x-k8s.io/delete-machine";
/// On a Machine, by users: MachineHealthChecks leave it out.
pub const SKIP_REMEDIATION: &str = "cluster.x-k8s.io/skip-remediation";
/// On a Machine, by users: MachineHealthChecks take it for unhealthy at once.
pub const REMEDIATE_MACHINE: &str = "cluster.x-k8s.io/remediate-machine";
/// On a Machine, by users: its Node is not drained before it goes.
pub const EXCLUDE_NODE_DRAINING: &str = "machine.cluster.x-k8s.io/exclude-node-draining";
/// On a Machine, by users: nobody waits for the volumes of its Node before it goes.
pub const EXCLUDE_WAIT_FOR_NODE_VOLUME_DETACH: &str = "machine.cluster.x-k8s.io/exclude-wait-for-node-volume-detach";
/// Start of annotations on a Machine, by anybody: its deletion waits before the drain while one is there.
pub const PRE_DRAIN_HOOK_PREFIX: &str = "pre-drain.delete.hook.machine.cluster.x-k8s.io";
/// Start of annotations on a Machine, by anybody: its deletion waits before the host goes while one is there.
pub const PRE_TERMINATE_HOOK_PREFIX: &str = "pre-terminate.delete.hook.machine.cluster.x-k8s.io";

// Where an object came from.

/// On infrastructure and bootstrap objects, by whoever made them: the name of the template.
pub const CLONED_FROM_NAME: &str = "cluster.x-k8s.io/cloned-from-name";
/// On infrastructure and bootstrap objects, by whoever made them: `Kind.group` of the template.
pub const CLONED_FROM_GROUP_KIND: &str = "cluster.x-k8s.io/cloned-from-groupkind";
/// On anything stored in an old version, by conversion webhooks: what that version cannot say.
pub const CONVERSION_DATA: &str = "cluster.x-k8s.io/conversion-data";
/// On anything, by `kubectl apply` from the client side: what was applied last.
pub const LAST_APPLIED_CONFIGURATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

// Control planes.

/// On the Machines of a KubeadmControlPlane, by it: the etcd member must go before the host does.
pub const KCP_CLEANUP_HOOK: &str = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/kcp-cleanup";
/// On a KubeadmControlPlane, by its controller: a Machine was deleted and its successor is to come, as JSON.
pub const REMEDIATION_IN_PROGRESS: &str = "controlplane.cluster.x-k8s.io/remediation-in-progress";
/// On a control-plane Machine, by its controller: the unhealthy Machine that it replaces, as JSON.
pub const REMEDIATION_FOR: &str = "controlplane.cluster.x-k8s.io/remediation-for";
/// On a KubeadmControlPlane, by users: the controller leaves CoreDNS alone.
pub const SKIP_COREDNS: &str = "controlplane.cluster.x-k8s.io/skip-coredns";
/// On a KubeadmControlPlane, by users: the controller leaves kube-proxy alone.
pub const SKIP_KUBE_PROXY: &str = "controlplane.cluster.x-k8s.io/skip-kube-proxy";
/// On a control-plane Machine, by upstream before v1.12: the cluster configuration it was made with. Taken off on sight.
pub const KUBEADM_CLUSTER_CONFIGURATION: &str = "controlplane.cluster.x-k8s.io/kubeadm-cluster-configuration";
/// On a KubeadmConfig or, above it, a Machine: when the certificates on the host expire, in RFC 3339.
pub const CERTIFICATES_EXPIRY: &str = "machine.cluster.x-k8s.io/certificates-expiry";
/// On a Cluster, by the topology controller: the version that an upgrade over several minors is at.
pub const TOPOLOGY_UPGRADE_STEP: &str = "topology.internal.cluster.x-k8s.io/upgrade-step";

// Topologies of Clusters. All on a Cluster, by users.

/// How many MachineDeployments are upgraded at a time.
pub const TOPOLOGY_UPGRADE_CONCURRENCY: &str = "topology.cluster.x-k8s.io/upgrade-concurrency";
/// The Cluster may get a topology after it was created.
pub const UNSAFE_UPDATE_CLASS_NAME: &str = "unsafe.topology.cluster.x-k8s.io/disable-update-class-name-check";
/// The version of the topology may go down.
pub const UNSAFE_UPDATE_VERSION: &str = "unsafe.topology.cluster.x-k8s.io/disable-update-version-check";

// Nodes. All by the Machine controller.

/// On a Node: the name of its Cluster.
pub const NODE_CLUSTER_NAME: &str = "cluster.x-k8s.io/cluster-name";
/// On a Node: the namespace of its Cluster.
pub const NODE_CLUSTER_NAMESPACE: &str = "cluster.x-k8s.io/cluster-namespace";
/// On a Node: the name of its Machine.
pub const NODE_MACHINE: &str = "cluster.x-k8s.io/machine";
/// On a Node: the kind of its Machine's controller.
pub const NODE_OWNER_KIND: &str = "cluster.x-k8s.io/owner-kind";
/// On a Node: the name of its Machine's controller.
pub const NODE_OWNER_NAME: &str = "cluster.x-k8s.io/owner-name";
/// On a Node: the labels that came from its Machine, so that they can be taken off again.
pub const LABELS_FROM_MACHINE: &str = "cluster.x-k8s.io/labels-from-machine";
/// On a Node: the annotations that came from its Machine, so that they can be taken off again.
pub const ANNOTATIONS_FROM_MACHINE: &str = "cluster.x-k8s.io/annotations-from-machine";
/// On a Node: the taints, as `key:effect`, that came from its Machine, so that they can be taken off again.
pub const TAINTS_FROM_MACHINE: &str = "cluster.x-k8s.io/taints-from-machine";
