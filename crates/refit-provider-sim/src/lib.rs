//! Simulated machines and workload clusters, for demos, tests and scale.
//!
//! An infrastructure, a bootstrap and a control plane provider by Cluster API's contract, whose hosts are entries in the status of their
//! SimMachines and Nodes in a logical cluster of the embedded API server. What becomes of an object is decided by pure
//! functions ([`cluster`], [`control_plane`], [`bootstrap`], [`machine`], [`update`], [`kubelet`]); [`Provider`] carries it out.
//!
//! Nothing runs here: no container, no process, no disk. A host is as durable as the API server that holds its status.

pub mod bootstrap;
pub mod cluster;
pub mod control_plane;
pub mod etcd;
pub mod facts;
mod hosts;
mod images;
pub mod kinds;
mod kubeadm;
pub mod kubelet;
pub mod machine;
mod name;
pub mod node;
mod nodes;
mod provider;
mod readiness;
pub mod static_pod;
mod steady;
pub mod update;
pub mod words;
mod workload;

pub use etcd::etcd_connector;
pub use hosts::SimHosts;
pub use kinds::crds;
pub use provider::Provider;
pub use workload::{WorkloadServer, WorkloadServerError, Workloads};
