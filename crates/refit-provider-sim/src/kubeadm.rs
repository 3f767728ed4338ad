//! What kubeadm leaves in a workload cluster once for all its control plane machines. Pure.
//!
//! CoreDNS is not among it: the embedded server has no Deployments, and whoever runs a control plane does without.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{DaemonSet, DaemonSetSpec};
use k8s_openapi::api::core::v1::{ConfigMap, Container, PodSpec, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use refit_api::cluster::APIEndpoint;
use refit_api::version::KubernetesVersion;
use serde_json::{Value, json};

use crate::images;
use crate::words::KUBE_SYSTEM;

/// The first minor version whose kubeadm writes v1beta4.
const FIRST_WITH_V1BETA4: u64 = 31;

/// The workload cluster that kubeadm sets up.
#[derive(Debug, Clone, Copy)]
pub struct KubeadmCluster<'a> {
    pub name: &'a str,
    /// The version of the first machine.
    pub version: &'a str,
    pub endpoint: &'a APIEndpoint,
}

impl KubeadmCluster<'_> {
    /// The ConfigMap `kubeadm-config`.
    pub fn config(&self) -> ConfigMap {
        // JSON is YAML.
        let text = serde_json::to_string_pretty(&self.configuration()).unwrap_or_default();
        config_map(text)
    }

    /// The DaemonSet kube-proxy.
    pub fn kube_proxy(&self) -> DaemonSet {
        let labels = BTreeMap::from([("k8s-app".to_owned(), "kube-proxy".to_owned())]);
        let container = Container {
            name: "kube-proxy".to_owned(),
            image: Some(images::kube_proxy(self.version)),
            ..Container::default()
        };
        let mut template = PodTemplateSpec {
            spec: Some(PodSpec { containers: vec![container], ..PodSpec::default() }),
            ..PodTemplateSpec::default()
        };
        template.metadata.get_or_insert_default().labels = Some(labels.clone());
        let selector = LabelSelector { match_labels: Some(labels), ..LabelSelector::default() };
        let mut object = DaemonSet {
            spec: Some(DaemonSetSpec { selector, template, ..DaemonSetSpec::default() }),
            ..DaemonSet::default()
        };
        object.metadata.name = Some("kube-proxy".to_owned());
        object.metadata.namespace = Some(KUBE_SYSTEM.to_owned());
        object
    }

    fn configuration(&self) -> Value {
        let minor =
            KubernetesVersion::parse_tolerant(self.version).map_or(FIRST_WITH_V1BETA4, |version| version.minor());
        let api = if minor < FIRST_WITH_V1BETA4 { "v1beta3" } else { "v1beta4" };
        let APIEndpoint { host, port } = self.endpoint;
        json!({
            "apiVersion": format!("kubeadm.k8s.io/{api}"),
            "kind": "ClusterConfiguration",
            "apiServer": {},
            "certificatesDir": "/etc/kubernetes/pki",
            "clusterName": self.name,
            "controlPlaneEndpoint": format!("{}:{}", host.as_deref().unwrap_or_default(), port.unwrap_or_default()),
            "controllerManager": {},
            "dns": {},
            "etcd": { "local": { "dataDir": "/var/lib/etcd" } },
            "imageRepository": images::REPOSITORY,
            "kubernetesVersion": self.version,
            "networking": { "dnsDomain": "cluster.local", "serviceSubnet": "10.96.0.0/12" },
            "scheduler": {},
        })
    }
}

fn config_map(text: String) -> ConfigMap {
    let mut object =
        ConfigMap { data: Some([("ClusterConfiguration".to_owned(), text)].into()), ..ConfigMap::default() };
    object.metadata.name = Some("kubeadm-config".to_owned());
    object.metadata.namespace = Some(KUBE_SYSTEM.to_owned());
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_is_of_the_version_of_kubeadm() {
        let endpoint = APIEndpoint { host: Some("127.0.0.1".to_owned()), port: Some(6443) };
        for (version, api) in [("v1.30.0", "kubeadm.k8s.io/v1beta3"), ("v1.31.0", "kubeadm.k8s.io/v1beta4")] {
            let config = KubeadmCluster { name: "demo", version, endpoint: &endpoint }.config();
            let text = &config.data.expect("there must be data")["ClusterConfiguration"];
            let found: Value = serde_json::from_str(text).expect("it must be JSON, which is YAML");
            assert_eq!((found["apiVersion"].as_str(), found["kubernetesVersion"].as_str()), (Some(api), Some(version)));
            assert_eq!(found["controlPlaneEndpoint"], "127.0.0.1:6443");
        }
    }
}
