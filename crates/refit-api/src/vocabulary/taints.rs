//! Taints of Nodes. Users may not ask for those that others manage.

/// Effect NoSchedule, from the bootstrap data of workers until the Machine controller has labelled the Node.
pub const NODE_UNINITIALIZED: &str = "node.cluster.x-k8s.io/uninitialized";
/// Effect PreferNoSchedule, by the Machine controller: the MachineSet of the Node's Machine is being replaced.
pub const NODE_OUTDATED_REVISION: &str = "node.cluster.x-k8s.io/outdated-revision";
/// Start of the taints that Kubernetes manages. Users may ask for none of them but [`NODE_OUT_OF_SERVICE`].
pub const NODE_KUBERNETES_PREFIX: &str = "node.kubernetes.io/";
/// By users: the Node is down for good, and its volumes may be detached by force.
pub const NODE_OUT_OF_SERVICE: &str = "node.kubernetes.io/out-of-service";
/// By Kubernetes: the Node does not answer, so what it last said of its Pods may be wrong.
pub const NODE_UNREACHABLE: &str = "node.kubernetes.io/unreachable";
/// Start of the taints that cloud providers manage.
pub const NODE_CLOUD_PROVIDER_PREFIX: &str = "node.cloudprovider.kubernetes.io/";
/// By kubeadm: the Node is of the control plane. Only control planes may ask for it.
pub const NODE_ROLE_CONTROL_PLANE: &str = "node-role.kubernetes.io/control-plane";
/// What [`NODE_ROLE_CONTROL_PLANE`] was called once. Refused everywhere.
pub const NODE_ROLE_MASTER: &str = "node-role.kubernetes.io/master";
