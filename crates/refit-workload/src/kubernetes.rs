//! A workload cluster behind a `kube::Client`.

mod addons;
mod inspect;
mod kubeadm_config;
mod members;

use futures::FutureExt;
use futures::future::BoxFuture;
use kube::Client;
use refit_api::bootstrap::ClusterConfiguration;
use refit_api::version::KubernetesVersion;
use refit_plan::control_plane::inspection::Inspection;

use crate::etcd::{EtcdAuthority, EtcdConnector, EtcdTarget};
use crate::{Skips, WorkloadCluster, WorkloadError};

/// Where kubeadm puts everything.
const NAMESPACE: &str = "kube-system";

/// A workload cluster that answers.
#[derive(Clone)]
pub struct KubeWorkload {
    client: Client,
    /// The namespace and the name of the Cluster in the management cluster.
    cluster: (String, String),
    etcd: EtcdAccess,
}

/// How etcd is reached.
#[derive(Clone)]
pub enum EtcdAccess {
    /// It does not run on the machines of the control plane.
    External,
    /// It does, and this is how.
    Managed { authority: EtcdAuthority, connector: EtcdConnector },
    /// It does, but something is missing for it: the Secret with its authority.
    Unknown { why: String },
}

impl KubeWorkload {
    /// The cluster that the client talks to, which is that of the Cluster of this namespace and name.
    pub fn new(client: Client, namespace: impl Into<String>, name: impl Into<String>, etcd: EtcdAccess) -> Self {
        Self { client, cluster: (namespace.into(), name.into()), etcd }
    }

    fn target(&self, nodes: Vec<String>, authority: &EtcdAuthority) -> EtcdTarget {
        let (namespace, name) = self.cluster.clone();
        EtcdTarget { client: self.client.clone(), namespace, name, nodes, authority: authority.clone() }
    }
}

impl WorkloadCluster for KubeWorkload {
    fn inspect<'a>(&'a self, nodes: &'a [String]) -> BoxFuture<'a, Inspection> {
        self.look(nodes).map(|seen| Inspection::Seen(Box::new(seen))).boxed()
    }

    fn forward_etcd_leadership<'a>(
        &'a self,
        from: &'a str,
        candidates: &'a [String],
    ) -> BoxFuture<'a, Result<(), WorkloadError>> {
        self.forward_leadership(from, candidates).boxed()
    }

    fn remove_etcd_member<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<(), WorkloadError>> {
        self.remove_member(name).boxed()
    }

    fn prepare<'a>(
        &'a self,
        version: &'a str,
        configuration: &'a ClusterConfiguration,
    ) -> BoxFuture<'a, Result<(), WorkloadError>> {
        async move {
            let version = parse(version)?;
            self.bind_kubelet_client(&version).await?;
            self.write_kubeadm_config(&version, configuration).await
        }
        .boxed()
    }

    fn update_addons<'a>(
        &'a self,
        version: &'a str,
        configuration: &'a ClusterConfiguration,
        skips: Skips,
    ) -> BoxFuture<'a, Result<(), WorkloadError>> {
        async move {
            let version = parse(version)?;
            // One that cannot be updated keeps the other one back no longer than its own attempt.
            let kube_proxy =
                if skips.kube_proxy { Ok(()) } else { self.update_kube_proxy(&version, configuration).await };
            let coredns = if skips.coredns { Ok(()) } else { self.update_coredns(configuration).await };
            kube_proxy.and(coredns)
        }
        .boxed()
    }
}

fn parse(version: &str) -> Result<KubernetesVersion, WorkloadError> {
    let parsed = KubernetesVersion::parse_tolerant(version);
    parsed.map_err(|source| WorkloadError::Version { version: version.to_owned(), source })
}
