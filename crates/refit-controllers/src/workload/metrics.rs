//! What is counted of workload clusters, under upstream's names.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::cache::ObjectKey;

/// The metrics of all workload clusters of a process. Clones count together.
#[derive(Debug, Clone, Default)]
pub struct WorkloadMetrics {
    last: Family<ClusterLabels, Gauge>,
    probes: Family<ProbeLabels, Counter>,
    connection: Family<ClusterLabels, Gauge>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ClusterLabels {
    cluster_name: String,
    cluster_namespace: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ProbeLabels {
    cluster_name: String,
    cluster_namespace: String,
    status: &'static str,
}

const SUCCESS: &str = "success";
const ERROR: &str = "error";

impl WorkloadMetrics {
    /// Shows the metrics where this registry is shown. The encoder appends `_total` to counters.
    pub fn register(&self, registry: &mut Registry) {
        let help = "Whether the last probe of the workload cluster was answered";
        registry.register("capi_cluster_cache_healthcheck", help, self.last.clone());
        let help = "Probes of the workload cluster, by what came of them";
        registry.register("capi_cluster_cache_healthchecks", help, self.probes.clone());
        let help = "Whether there is a connection to the workload cluster";
        registry.register("capi_cluster_cache_connection_up", help, self.connection.clone());
    }

    pub(super) fn probed(&self, cluster: &ObjectKey, is_success: bool) {
        self.last.get_or_create(&labels(cluster)).set(i64::from(is_success));
        self.probes.get_or_create(&probe(cluster, if is_success { SUCCESS } else { ERROR })).inc();
    }

    pub(super) fn connected(&self, cluster: &ObjectKey, is_up: bool) {
        self.connection.get_or_create(&labels(cluster)).set(i64::from(is_up));
    }

    /// The Cluster is gone, and so is what was counted of it: what goes and comes must not fill the memory.
    pub(super) fn forget(&self, cluster: &ObjectKey) {
        self.last.remove(&labels(cluster));
        self.connection.remove(&labels(cluster));
        for status in [SUCCESS, ERROR] {
            self.probes.remove(&probe(cluster, status));
        }
    }
}

fn labels(cluster: &ObjectKey) -> ClusterLabels {
    ClusterLabels { cluster_name: cluster.name.clone(), cluster_namespace: cluster.namespace.clone() }
}

fn probe(cluster: &ObjectKey, status: &'static str) -> ProbeLabels {
    ProbeLabels { cluster_name: cluster.name.clone(), cluster_namespace: cluster.namespace.clone(), status }
}
