//! Labels.

/// On everything of a cluster, by every controller: the name of the Cluster.
pub const CLUSTER_NAME: &str = "cluster.x-k8s.io/cluster-name";
/// On MachineSets and Machines: the name of the MachineDeployment. Keeps a MachineSet from adopting what came from another.
pub const DEPLOYMENT_NAME: &str = "cluster.x-k8s.io/deployment-name";
/// On Machines: the name of the MachineSet, or a hash of it when the name is no label value.
pub const SET_NAME: &str = "cluster.x-k8s.io/set-name";
/// On Machines: the name of the MachinePool.
pub const POOL_NAME: &str = "cluster.x-k8s.io/pool-name";
/// On the MachineSets of a MachineDeployment and their Machines: what tells the sets apart. Never changes for a set.
pub const MACHINE_TEMPLATE_HASH: &str = "machine-template-hash";
/// On Machines and what belongs to them: they are of the control plane. The value is empty.
pub const CONTROL_PLANE: &str = "cluster.x-k8s.io/control-plane";
/// On Machines and what belongs to them: the name of the control plane object, hashed when it is too long.
pub const CONTROL_PLANE_NAME: &str = "cluster.x-k8s.io/control-plane-name";
/// On anything, by users: only controllers that were started with this value look at it.
pub const WATCH_FILTER: &str = "cluster.x-k8s.io/watch-filter";
/// On Nodes, by the Machine controller: the provider may take the host away at any time.
pub const INTERRUPTIBLE: &str = "cluster.x-k8s.io/interruptible";
/// On Pods of the workload cluster, by users: `skip` leaves it alone in a drain, `wait-completed` waits for its end.
pub const DRAIN: &str = "cluster.x-k8s.io/drain";
/// On what a provider installs: the name of the provider.
pub const PROVIDER: &str = "cluster.x-k8s.io/provider";

/// On a CRD: the versions of it that fulfil Cluster API's contract v1beta2.
pub const CONTRACT_V1BETA2: &str = "cluster.x-k8s.io/v1beta2";
/// On a CRD: the versions of it that fulfil Cluster API's contract v1beta1. Looked at when the newer label is not there.
pub const CONTRACT_V1BETA1: &str = "cluster.x-k8s.io/v1beta1";

/// On Nodes, by kubeadm: the Node is of the control plane.
pub const NODE_ROLE_CONTROL_PLANE: &str = "node-role.kubernetes.io/control-plane";
/// Start of the labels that say what a Node is for. The Machine controller copies them from the Machine to the Node.
pub const NODE_ROLE_PREFIX: &str = "node-role.kubernetes.io";
/// Domain of labels that a kubelet may not set on its own Node. Copied from the Machine, subdomains too.
pub const NODE_RESTRICTION_DOMAIN: &str = "node-restriction.kubernetes.io";
/// Domain of labels and annotations that Cluster API manages on Nodes. Copied from the Machine, subdomains too.
pub const NODE_DOMAIN: &str = "node.cluster.x-k8s.io";
