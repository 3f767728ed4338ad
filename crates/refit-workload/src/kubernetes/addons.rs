//! kube-proxy and CoreDNS, which follow once all machines are as they should be.

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment};
use k8s_openapi::api::core::v1::{Container, PodTemplateSpec};
use kube::Api;
use refit_api::bootstrap::ClusterConfiguration;
use refit_api::version::KubernetesVersion;
use refit_plan::control_plane::workload::{coredns, image};
use serde_json::{Value, json};

use super::{KubeWorkload, NAMESPACE};
use crate::WorkloadError;
use crate::etcd::chain;
use crate::request::{Kind, change, read_if_served};

const KUBE_PROXY: &str = "kube-proxy";
const COREDNS: &str = "coredns";

impl KubeWorkload {
    pub(super) async fn update_kube_proxy(
        &self,
        version: &KubernetesVersion,
        configuration: &ClusterConfiguration,
    ) -> Result<(), WorkloadError> {
        let api: Api<DaemonSet> = Api::namespaced(self.client.clone(), NAMESPACE);
        let what = "DaemonSet kube-system/kube-proxy";
        change(&api, KUBE_PROXY, what, Kind::Strategic, |set| {
            let current = image_of(set.spec.as_ref().map(|spec| &spec.template), KUBE_PROXY, what)?;
            let wanted = image::kube_proxy(current, version, configuration);
            let wanted = wanted.map_err(|error| unusable(what, &error))?;
            Ok((wanted != current).then(|| with_image(KUBE_PROXY, &wanted)))
        })
        .await
    }

    pub(super) async fn update_coredns(&self, configuration: &ClusterConfiguration) -> Result<(), WorkloadError> {
        let api: Api<Deployment> = Api::namespaced(self.client.clone(), NAMESPACE);
        let what = "Deployment kube-system/coredns";
        let wanted_of = |deployment: &Deployment| {
            let current = image_of(deployment.spec.as_ref().map(|spec| &spec.template), COREDNS, what)?;
            let wanted = coredns::image(current, configuration).map_err(|error| unusable(what, &error))?;
            Ok::<_, WorkloadError>((wanted != current).then_some(wanted))
        };
        // What kubeadm is told comes first. It is written only when the image may follow.
        let Some(found) = read_if_served(&api, COREDNS, what).await? else { return Ok(()) };
        wanted_of(&found)?;
        self.write_dns(configuration).await?;
        change(&api, COREDNS, what, Kind::Strategic, |deployment| {
            Ok(wanted_of(deployment)?.map(|wanted| with_image(COREDNS, &wanted)))
        })
        .await
    }
}

/// The image of the container of this name.
fn image_of<'a>(template: Option<&'a PodTemplateSpec>, name: &str, what: &str) -> Result<&'a str, WorkloadError> {
    let containers = template.and_then(|template| template.spec.as_ref()).map(|spec| spec.containers.as_slice());
    let container = containers.unwrap_or_default().iter().find(|container: &&Container| container.name == name);
    let image = container.and_then(|container| container.image.as_deref());
    image.ok_or_else(|| WorkloadError::Unusable {
        what: what.to_owned(),
        why: format!("it has no container {name} with an image"),
    })
}

fn with_image(container: &str, image: &str) -> Value {
    json!({ "spec": { "template": { "spec": { "containers": [{ "name": container, "image": image }] } } } })
}

fn unusable(what: &str, error: &dyn std::error::Error) -> WorkloadError {
    WorkloadError::Unusable { what: what.to_owned(), why: chain(error) }
}
