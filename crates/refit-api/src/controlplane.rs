//! Resources of the group `controlplane.cluster.x-k8s.io`.

mod kubeadm_control_plane;
mod rollout;
mod status;

pub use kubeadm_control_plane::*;
pub use rollout::*;
pub use status::*;

pub const GROUP: &str = "controlplane.cluster.x-k8s.io";
pub const VERSION: &str = "v1beta2";
