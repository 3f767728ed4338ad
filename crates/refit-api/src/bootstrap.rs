//! Resources of the group `bootstrap.cluster.x-k8s.io`: what kubeadm is told, and what is done to the host around it.

mod cluster_configuration;
mod discovery;
mod disk;
mod env_var;
mod host;
mod init_join;
mod kubeadm_config;
mod kubeadm_config_template;

pub use cluster_configuration::*;
pub use discovery::*;
pub use disk::*;
pub use env_var::*;
pub use host::*;
pub use init_join::*;
pub use kubeadm_config::*;
pub use kubeadm_config_template::*;

pub const GROUP: &str = "bootstrap.cluster.x-k8s.io";
pub const VERSION: &str = "v1beta2";
