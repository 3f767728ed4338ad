//! Upstream's CRD files, from its own Go module.

use refit_peers::{ClusterApi, require_cluster_api_module};
use serde_json::Value;

/// Upstream's CRD of a group and plural. Nothing where there is no Go to get it with; the test then says so and returns.
pub fn crd(group: &str, plural: &str) -> Option<Value> {
    let folder = match group {
        "bootstrap.cluster.x-k8s.io" => "bootstrap/kubeadm/config/crd/bases",
        "controlplane.cluster.x-k8s.io" => "controlplane/kubeadm/config/crd/bases",
        _ => "core/config/crd/bases",
    };
    let path = require_cluster_api_module(ClusterApi::Controllers)?.join(folder).join(format!("{group}_{plural}.yaml"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    Some(serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}
