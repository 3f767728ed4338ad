//! Finalizers. Each is put on by the controller of the kind before it does anything else.

/// On Clusters.
pub const CLUSTER: &str = "cluster.cluster.x-k8s.io";
/// On MachineDeployments.
pub const MACHINE_DEPLOYMENT: &str = "cluster.x-k8s.io/machinedeployment";
/// On MachineSets.
pub const MACHINE_SET: &str = "cluster.x-k8s.io/machineset";
/// On Machines.
pub const MACHINE: &str = "machine.cluster.x-k8s.io";
/// On KubeadmControlPlanes.
pub const KUBEADM_CONTROL_PLANE: &str = "kubeadm.controlplane.cluster.x-k8s.io";
/// On the MachineDeployments of a managed topology, by the topology controller.
pub const MACHINE_DEPLOYMENT_TOPOLOGY: &str = "machinedeployment.topology.cluster.x-k8s.io";
/// On the MachineSets of a managed topology, by the topology controller.
pub const MACHINE_SET_TOPOLOGY: &str = "machineset.topology.cluster.x-k8s.io";
