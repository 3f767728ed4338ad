//! The one trait that a control plane's controller holds, and how its requests fail.

use futures::future::BoxFuture;
use refit_api::bootstrap::ClusterConfiguration;
use refit_plan::control_plane::inspection::Inspection;

use crate::etcd::EtcdError;

/// A workload cluster, as the controller of its control plane sees it.
///
/// Every method is idempotent, and every request behind it is bounded in time.
pub trait WorkloadCluster: Send + Sync {
    /// Looks at the control plane. `nodes` are the Nodes of the Machines; etcd is asked through the first that answers.
    ///
    /// Never fails: what could not be read says so in what comes back.
    fn inspect<'a>(&'a self, nodes: &'a [String]) -> BoxFuture<'a, Inspection>;

    /// Makes the first of the candidates that takes it the leader of etcd. Does nothing if `from` does not lead.
    fn forward_etcd_leadership<'a>(
        &'a self,
        from: &'a str,
        candidates: &'a [String],
    ) -> BoxFuture<'a, Result<(), WorkloadError>>;

    /// Takes the member of this name out of etcd, by way of another one. Does nothing if there is none. The empty name
    /// stands for a member that has never started.
    fn remove_etcd_member<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<(), WorkloadError>>;

    /// Makes the workload cluster ready for machines of this version: kubeadm's RBAC and the ConfigMap `kubeadm-config`.
    fn prepare<'a>(
        &'a self,
        version: &'a str,
        configuration: &'a ClusterConfiguration,
    ) -> BoxFuture<'a, Result<(), WorkloadError>>;

    /// Brings kube-proxy and CoreDNS to what this version wants. One that is not there is left out.
    fn update_addons<'a>(
        &'a self,
        version: &'a str,
        configuration: &'a ClusterConfiguration,
        skips: Skips,
    ) -> BoxFuture<'a, Result<(), WorkloadError>>;
}

/// What the user sees to. Annotations of the control plane say so.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Skips {
    pub kube_proxy: bool,
    pub coredns: bool,
}

/// Why a workload cluster could not be changed.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    #[error("{what} of the workload cluster could not be {done}")]
    Request {
        /// The object, as `ConfigMap kube-system/kubeadm-config`.
        what: String,
        /// What was tried, as `read`.
        done: &'static str,
        #[source]
        source: Box<kube::Error>,
    },
    #[error("{what} of the workload cluster could not be {done} within {seconds} seconds")]
    Late { what: String, done: &'static str, seconds: u64 },
    /// Somebody else wrote it each time.
    #[error(
        "{what} of the workload cluster was changed by somebody else {tries} times in a row; it is tried again later"
    )]
    Contended { what: String, tries: usize },
    /// What is there cannot be understood, so it is left as it is.
    #[error("{what} of the workload cluster is left as it is: {why}")]
    Unusable { what: String, why: String },
    #[error("{version:?} cannot be used as a Kubernetes version")]
    Version {
        version: String,
        #[source]
        source: refit_api::version::VersionError,
    },
    #[error("etcd of the workload cluster")]
    Etcd(#[from] EtcdError),
    #[error("etcd of the workload cluster cannot be reached: {why}")]
    EtcdIsUnknown { why: String },
    #[error("etcd does not run on the machines of the control plane; whoever runs it sees to its members")]
    EtcdIsExternal,
}
