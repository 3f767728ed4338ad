//! What machines of a new version need before they come: a binding, and the ConfigMap that kubeadm reads.

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use kube::Api;
use kube::api::PostParams;
use refit_api::bootstrap::ClusterConfiguration;
use refit_api::decode::from_yaml;
use refit_api::version::KubernetesVersion;
use refit_api::vocabulary::managers::KUBEADM_CONTROL_PLANE;
use refit_plan::control_plane::workload::kubeadm_config::{KubeadmConfigError, updated, with_dns};
use refit_plan::control_plane::workload::{KUBELET_CLIENT_BINDING, kubelet_client_binding};
use serde_json::{Value, json};

use super::{KubeWorkload, NAMESPACE};
use crate::WorkloadError;
use crate::etcd::{chain, clip};
use crate::request::{About, Kind, bounded, change, is_conflict, read};

/// The ConfigMap of kubeadm.
pub(super) const KUBEADM_CONFIG: &str = "kubeadm-config";
/// Its key with the configuration of the cluster.
const KEY: &str = "ClusterConfiguration";
const WHAT: &str = "ConfigMap kube-system/kubeadm-config";

impl KubeWorkload {
    /// Makes the binding if it is missing. One that is there is its owner's.
    pub(super) async fn bind_kubelet_client(&self, version: &KubernetesVersion) -> Result<(), WorkloadError> {
        let Some(binding) = kubelet_client_binding(version) else { return Ok(()) };
        let binding: ClusterRoleBinding =
            serde_json::from_value(binding).expect("the binding must be a ClusterRoleBinding");
        let api: Api<ClusterRoleBinding> = Api::all(self.client.clone());
        let what = format!("ClusterRoleBinding {KUBELET_CLIENT_BINDING}");
        if read(&api, KUBELET_CLIENT_BINDING, &what).await?.is_some() {
            return Ok(());
        }
        let params = PostParams { field_manager: Some(KUBEADM_CONTROL_PLANE.to_owned()), ..PostParams::default() };
        match bounded(About { what: &what, done: "created" }, api.create(&params, &binding)).await {
            Err(error) if is_conflict(&error) => Ok(()),
            outcome => outcome.map(drop),
        }
    }

    /// Writes what machines of this version read.
    pub(super) async fn write_kubeadm_config(
        &self,
        version: &KubernetesVersion,
        configuration: &ClusterConfiguration,
    ) -> Result<(), WorkloadError> {
        self.change_kubeadm_config(|document| updated(document, version, configuration)).await
    }

    /// Writes which CoreDNS is wanted, so that kubeadm does not bring another one back.
    pub(super) async fn write_dns(&self, configuration: &ClusterConfiguration) -> Result<(), WorkloadError> {
        self.change_kubeadm_config(|document| with_dns(document, configuration)).await
    }

    async fn change_kubeadm_config(
        &self,
        edit: impl Fn(&Value) -> Result<Value, KubeadmConfigError>,
    ) -> Result<(), WorkloadError> {
        let api: Api<ConfigMap> = Api::namespaced(self.client.clone(), NAMESPACE);
        change(&api, KUBEADM_CONFIG, WHAT, Kind::Merge, |map| {
            let before = document(map)?;
            let after = edit(&before).map_err(|error| unusable(&chain(&error)))?;
            Ok((before != after).then(|| json!({ "data": { KEY: text(&after) } })))
        })
        .await
    }
}

fn document(map: &ConfigMap) -> Result<Value, WorkloadError> {
    let text = map.data.as_ref().and_then(|data| data.get(KEY));
    let text = text.ok_or_else(|| unusable(&format!("it has no key {KEY}")))?;
    from_yaml(text).map_err(|error| unusable(&chain(&error)))
}

/// Go reads this YAML as it is meant: Kubernetes still goes by YAML 1.1.
fn text(document: &Value) -> String {
    let options = serde_saphyr::ser_options! { prefer_block_scalars: false };
    serde_saphyr::to_string_with_options(document, options).expect("JSON must be YAML")
}

fn unusable(why: &str) -> WorkloadError {
    WorkloadError::Unusable { what: WHAT.to_owned(), why: clip(why) }
}
