//! Field managers. Who applies with which name decides who may take a field away again.

/// Applies MachineSets.
pub const MACHINE_DEPLOYMENT: &str = "capi-machinedeployment";
/// Applies Machines whole, and the spec of their infrastructure and bootstrap objects.
pub const MACHINE_SET: &str = "capi-machineset";
/// Applies labels and annotations of the infrastructure and bootstrap objects of a MachineSet's Machines.
pub const MACHINE_SET_METADATA: &str = "capi-machineset-metadata";
/// Applies control-plane Machines whole, and the spec of their infrastructure and bootstrap objects.
pub const KUBEADM_CONTROL_PLANE: &str = "capi-kubeadmcontrolplane";
/// Applies labels and annotations of the infrastructure and bootstrap objects of control-plane Machines.
pub const KUBEADM_CONTROL_PLANE_METADATA: &str = "capi-kubeadmcontrolplane-metadata";
/// Applies what a managed topology consists of.
pub const TOPOLOGY: &str = "capi-topology";
/// Every patch that is not an apply: the name of upstream's binaries, so that both write as the same manager.
pub const PATCHES: &str = "manager";
/// What the API server calls the owner of fields that were there before the first apply.
pub const BEFORE_FIRST_APPLY: &str = "before-first-apply";
