//! Workload clusters: logical clusters of an embedded API server.
//!
//! Where the management cluster is that server, they are on the same one. Otherwise the provider runs one of its own:
//! [`WorkloadServer`].

mod server;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use kube::Client;
use refit_api::cluster::APIEndpoint;
use refit_apiserver::access;
use refit_apiserver::clusters::ClusterError;
use refit_apiserver::credentials::CredentialsError;
use refit_apiserver::host::Host;
use refit_apiserver::server::{Kubeconfigs, Server};

use crate::kinds::WorkloadStatus;

pub use server::{WorkloadServer, WorkloadServerError};

/// Makes, reaches and drops workload clusters. Cloning shares them.
#[derive(Clone)]
pub struct Workloads {
    inner: Arc<Inner>,
    /// One per cluster in use.
    clients: Arc<Mutex<BTreeMap<String, Client>>>,
}

struct Inner {
    host: Host,
    kubeconfigs: Kubeconfigs,
    url: String,
}

impl Workloads {
    /// Workload clusters on a server that is there already.
    pub fn on(host: Host, server: &Server) -> Self {
        let (kubeconfigs, url) = (server.kubeconfigs(), server.url().to_owned());
        Self { inner: Arc::new(Inner { host, kubeconfigs, url }), clients: Arc::default() }
    }

    /// The same workload clusters, with clients of their own: a client ends with the runtime that it was made in.
    #[must_use]
    pub fn with_own_clients(&self) -> Self {
        Self { inner: Arc::clone(&self.inner), clients: Arc::default() }
    }

    /// Where their API servers listen: all on the same address, told apart by the path in the kubeconfig.
    pub fn endpoint(&self) -> APIEndpoint {
        let address = self.inner.url.trim_start_matches("https://");
        let (host, port) = address.rsplit_once(':').unwrap_or((address, ""));
        let host = host.trim_matches(['[', ']']).to_owned();
        APIEndpoint { host: Some(host), port: port.parse().ok() }
    }

    /// The workload cluster of a Cluster.
    pub fn find(&self, namespace: &str, cluster: &str) -> Option<WorkloadStatus> {
        let name = logical_name(namespace, cluster);
        let found = self.inner.host.clusters().find(&name)?;
        Some(WorkloadStatus { name, uid: found.uid, server: self.inner.url.clone() })
    }

    /// Makes the workload cluster of a Cluster, where it is not there yet.
    pub async fn create(&self, namespace: &str, cluster: &str) -> Result<(), ClusterError> {
        match self.inner.host.clusters().create(&logical_name(namespace, cluster)).await {
            Ok(_) | Err(ClusterError::Exists { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Drops the workload cluster of a Cluster with everything in it, where it is there.
    pub async fn drop(&self, namespace: &str, cluster: &str) -> Result<(), ClusterError> {
        let name = logical_name(namespace, cluster);
        self.clients().remove(&name);
        match self.inner.host.clusters().drop(&name).await {
            Ok(()) | Err(ClusterError::Missing { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// The kubeconfig of a workload cluster; nothing where there is none.
    pub fn kubeconfig(
        &self,
        namespace: &str,
        cluster: &str,
        now: Timestamp,
    ) -> Result<Option<String>, CredentialsError> {
        let found = self.inner.host.clusters().find(&logical_name(namespace, cluster));
        found.map(|cluster| self.inner.kubeconfigs.of_cluster(&cluster, now)).transpose()
    }

    /// A client in this process that may do everything in the workload cluster. Call inside a tokio runtime.
    pub fn client(&self, namespace: &str, cluster: &str) -> Client {
        let name = logical_name(namespace, cluster);
        let connect = || Client::new(self.inner.host.service(access::admin()).in_cluster(&name), "default");
        self.clients().entry(name.clone()).or_insert_with(connect).clone()
    }

    fn clients(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Client>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The logical cluster of a Cluster. A namespace has no dot in its name.
fn logical_name(namespace: &str, cluster: &str) -> String {
    format!("{namespace}.{cluster}")
}
