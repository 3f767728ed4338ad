//! The workload clusters: a client and the Nodes of each that somebody asks for.
//!
//! Asking never waits. One task per cluster connects by the kubeconfig in the cluster's Secret, watches its Nodes, probes
//! it, and gives it up when it does not answer; then it tries anew, after growing delays. All of it ends when the Cluster
//! does.

mod connect;
mod link;
mod metrics;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use k8s_openapi::api::core::v1::{Node, Secret};
use kube::Client;
use kube::core::PartialObjectMeta;
use refit_api::cluster::Cluster;
use refit_plan::machine::Connection;

pub use connect::{ConnectError, Connector, by_kubeconfig};
use link::Link;
pub use metrics::WorkloadMetrics;

use crate::cache::{Change, Informer, ObjectKey};
use crate::chance::Chance;
use crate::clock::Clock;

/// By the provider's id of the Node.
pub const NODE_BY_PROVIDER_ID: &str = "provider-id";

/// What the name of a Cluster is followed by in the name of the Secret with its kubeconfig.
const SECRET_SUFFIX: &str = "-kubeconfig";

/// What is known of a workload cluster now.
#[derive(Clone, Default)]
pub struct Workload {
    pub connection: Connection,
    /// Nothing while there is no connection.
    pub connected: Option<Connected>,
}

/// A workload cluster that answers.
#[derive(Clone)]
pub struct Connected {
    pub client: Client,
    /// All of them have been listed; found [by provider id](NODE_BY_PROVIDER_ID) and by name.
    pub nodes: Informer<Node>,
}

/// Hears of a Node of a Cluster that has changed.
type NodeListener = Box<dyn Fn(&ObjectKey, &Change<Node>) + Send + Sync>;

/// Who wants to hear of workload clusters. It must not block.
pub struct Listener {
    /// A Node of a Cluster has changed.
    pub node: NodeListener,
    /// A Cluster has been connected to, or the connection is lost.
    pub connection: Box<dyn Fn(&ObjectKey) + Send + Sync>,
}

/// The workload clusters. Clones are the same.
#[derive(Clone)]
pub struct WorkloadClusters {
    shared: Arc<Shared>,
}

struct Shared {
    management: Client,
    clusters: Informer<Cluster>,
    secrets: Informer<PartialObjectMeta<Secret>>,
    connector: Connector,
    clock: Clock,
    chance: Chance,
    metrics: WorkloadMetrics,
    listeners: Mutex<Vec<Arc<Listener>>>,
    links: Mutex<BTreeMap<ObjectKey, Link>>,
}

impl WorkloadClusters {
    /// None is connected to before somebody asks for it.
    pub fn new(
        management: Client,
        clusters: Informer<Cluster>,
        secrets: Informer<PartialObjectMeta<Secret>>,
        connector: Connector,
        clock: Clock,
        chance: Chance,
    ) -> Self {
        let (metrics, listeners, links) = (WorkloadMetrics::default(), Mutex::default(), Mutex::default());
        let shared = Shared { management, clusters, secrets, connector, clock, chance, metrics, listeners, links };
        let shared = Arc::new(shared);
        let (of_clusters, of_secrets) = (Arc::downgrade(&shared), Arc::downgrade(&shared));
        shared.clusters.subscribe("workload-clusters", Box::new(move |change| cluster_changed(&of_clusters, change)));
        shared.secrets.subscribe("workload-clusters", Box::new(move |change| secret_changed(&of_secrets, change)));
        Self { shared }
    }

    /// Tells the listener of everything that happens from now on.
    pub fn listen(&self, listener: Listener) {
        self.shared.listeners().push(Arc::new(listener));
    }

    /// What is counted of all of them.
    pub fn metrics(&self) -> WorkloadMetrics {
        self.shared.metrics.clone()
    }

    /// What is known of the cluster now. The first who asks has it connected to.
    pub fn get(&self, cluster: &ObjectKey) -> Workload {
        let mut links = self.shared.links();
        if self.shared.clusters.get(cluster).is_none() {
            return Workload::default();
        }
        let link = links.entry(cluster.clone());
        link.or_insert_with(|| Link::start(cluster.clone(), Arc::downgrade(&self.shared))).workload(&self.shared.clock)
    }
}

impl Shared {
    fn forget(&self, cluster: &ObjectKey) {
        let mut links = self.links();
        links.remove(cluster);
        self.metrics.forget(cluster);
    }

    /// Counts, unless the cluster is forgotten: a task that is being ended may come late.
    fn count(&self, cluster: &ObjectKey, count: impl FnOnce(&WorkloadMetrics)) {
        if self.links().contains_key(cluster) {
            count(&self.metrics);
        }
    }

    fn tell_connection(&self, cluster: &ObjectKey) {
        let listeners = self.listeners().clone();
        listeners.iter().for_each(|listener| (listener.connection)(cluster));
    }

    fn tell_node(&self, cluster: &ObjectKey, change: &Change<Node>) {
        let listeners = self.listeners().clone();
        listeners.iter().for_each(|listener| (listener.node)(cluster, change));
    }

    fn listeners(&self) -> MutexGuard<'_, Vec<Arc<Listener>>> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn links(&self) -> MutexGuard<'_, BTreeMap<ObjectKey, Link>> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn cluster_changed(shared: &Weak<Shared>, change: &Change<Cluster>) {
    if let (Some(shared), Some(old), true) = (shared.upgrade(), &change.old, change.is_deletion()) {
        shared.forget(&ObjectKey::of(&**old));
    }
}

/// Another kubeconfig makes another connection.
fn secret_changed(shared: &Weak<Shared>, change: &Change<PartialObjectMeta<Secret>>) {
    let Some((shared, secret)) = shared.upgrade().zip(change.either()) else { return };
    let key = ObjectKey::of(&**secret);
    let Some(name) = key.name.strip_suffix(SECRET_SUFFIX) else { return };
    if let Some(link) = shared.links().get(&ObjectKey::new(key.namespace.clone(), name)) {
        link.secret_changed(secret.metadata.resource_version.as_deref());
    }
}
