//! What the controller of a control plane asks of a workload cluster, behind one trait: [`WorkloadCluster`].
//!
//! It reads Nodes, static Pods, etcd and the ConfigMap `kubeadm-config`, and changes the last two, kube-proxy and CoreDNS.
//! What follows from that is decided elsewhere, in `refit_plan::control_plane`; this crate decides nothing about Machines.
//! Connecting to the API server of the workload cluster is somebody else's, too: a `kube::Client` comes in.

pub mod etcd;
mod kubernetes;
mod request;
mod workload;

pub use kubernetes::{EtcdAccess, KubeWorkload};
pub use workload::{Skips, WorkloadCluster, WorkloadError};
