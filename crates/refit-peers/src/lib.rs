//! The real servers that refit is tested against: where they are, how they are built, started and ended.
//!
//! A test asks [`require_peers`] for the programs and gives them to [`ControlPlane::start`]. Everything that was
//! started ends with the value, and also when the test process is killed.
//!
//! For tests only, on Unix only. Nothing that refit ships depends on this crate. It knows no client and no runtime:
//! what comes out is an address, a certificate, a token and a kubeconfig file.

#![warn(missing_docs)]

mod control_plane;
mod etcd;
mod extension;
mod go;
mod programs;
mod report;
mod require;

pub use control_plane::{ControlPlane, Options, StartError};
pub use etcd::{EtcdCluster, EtcdTls};
pub use extension::GoExtension;
pub use go::{ClusterApi, GoError, Kubernetes, cluster_api_module, kubernetes_module};
pub use programs::{BuildError, Peers, PeersError, Program};
pub use report::chain;
pub use require::{SKIPPED_TESTS, is_ci, require_cluster_api_module, require_extension, require_peers};
