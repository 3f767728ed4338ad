//! Writes what is of a control plane into its workload cluster: the member of etcd, the static Pods, and what kubeadm leaves.

use std::fmt::Debug;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::{Client, Resource, ResourceExt};
use refit_api::cluster::APIEndpoint;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::etcd::{EtcdRefusal, EtcdStore, StoreError};
use crate::kinds::SimComponent;
use crate::kubeadm::KubeadmCluster;
use crate::static_pod::{ControlPlaneReport, StaticPod, StaticPodState};
use crate::words::{KUBE_SYSTEM, MANAGER};

/// Why the control plane of a host is not as it should be in its workload cluster.
#[derive(Debug, thiserror::Error)]
pub enum ControlPlaneError {
    #[error("{what} cannot be read or written: {source}")]
    Request { what: String, source: kube::Error },
    #[error("the simulated etcd: {0}")]
    Etcd(#[from] StoreError),
}

/// What became of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Written {
    All,
    /// All but the Pod of etcd: its member cannot join at the moment.
    WithoutEtcd(EtcdRefusal),
}

/// The control plane of one workload cluster, as its hosts write it.
pub struct ControlPlaneWriter {
    pub workload: Client,
    pub cluster: String,
    pub endpoint: APIEndpoint,
}

impl ControlPlaneWriter {
    /// Makes the workload cluster say what the host says. Doing it twice equals doing it once.
    pub async fn write(
        &self,
        node: &Node,
        version: &str,
        report: &ControlPlaneReport,
        now: Timestamp,
    ) -> Result<Written, ControlPlaneError> {
        let joined = EtcdStore::of(self.workload.clone()).change(|etcd| etcd.observe(&report.member)).await;
        let refusal = match joined {
            Ok(_) => None,
            Err(StoreError::Refused(refusal)) => Some(refusal),
            Err(error) => return Err(error.into()),
        };
        for pod in &report.pods {
            if refusal.is_none() || pod.component != SimComponent::Etcd {
                self.write_pod(node, pod, now).await?;
            }
        }
        self.write_cluster(version).await?;
        Ok(refusal.map_or(Written::All, Written::WithoutEtcd))
    }

    /// The host is gone. Its member of etcd stays in the membership; its Pods go.
    pub async fn remove(&self, node: &str, host: &str) -> Result<(), ControlPlaneError> {
        let etcd = EtcdStore::of(self.workload.clone());
        etcd.change(|etcd| Ok(etcd.lose_host(host))).await?;
        let pods: Api<Pod> = self.pods();
        for component in SimComponent::ALL {
            let name = format!("{}-{node}", component.name());
            delete(&pods, &name, &DeleteParams::default().grace_period(0)).await?;
        }
        Ok(())
    }

    async fn write_pod(&self, node: &Node, wanted: &StaticPod, now: Timestamp) -> Result<(), ControlPlaneError> {
        let (pods, name) = (self.pods(), wanted.name(&node.name_any()));
        let found = pods.get_opt(&name).await.map_err(failed("Pod", &name))?;
        let found = match (found, wanted.state) {
            (None, StaticPodState::Missing | StaticPodState::Unreachable) => return Ok(()),
            (Some(found), StaticPodState::Missing) => return delete(&pods, &name, &exactly(&found)).await,
            (Some(found), StaticPodState::Unreachable) => found,
            (Some(found), StaticPodState::Ready | StaticPodState::Failing) if wanted.is(&found, node) => found,
            (found, StaticPodState::Ready | StaticPodState::Failing) => {
                // A kubelet shows a changed file as another Pod.
                if let Some(found) = found {
                    delete(&pods, &name, &exactly(&found)).await?;
                }
                pods.create(&params(), &wanted.pod(node)).await.map_err(failed("Pod", &name))?
            }
        };
        let Some(status) = wanted.status(&found, now) else { return Ok(()) };
        let patch = Patch::Merge(json!({ "metadata": { "uid": found.uid() }, "status": status }));
        let params = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
        pods.patch_status(&name, &params, &patch).await.map(drop).map_err(failed("Pod", &name))
    }

    /// What kubeadm leaves once. It belongs to whoever runs the control plane from then on.
    async fn write_cluster(&self, version: &str) -> Result<(), ControlPlaneError> {
        let kubeadm = KubeadmCluster { name: &self.cluster, version, endpoint: &self.endpoint };
        create(&self.in_kube_system(), &kubeadm.config()).await?;
        create(&self.in_kube_system(), &kubeadm.kube_proxy()).await
    }

    fn pods(&self) -> Api<Pod> {
        self.in_kube_system()
    }

    fn in_kube_system<K>(&self) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>,
    {
        Api::namespaced(self.workload.clone(), KUBE_SYSTEM)
    }
}

/// Makes an object that may be there already.
async fn create<K>(api: &Api<K>, object: &K) -> Result<(), ControlPlaneError>
where
    K: Resource<DynamicType = ()> + Clone + Debug + Serialize + DeserializeOwned,
{
    match api.create(&params(), object).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
        Err(error) => Err(failed(&K::kind(&()), &object.name_any())(error)),
    }
}

/// Deletes a Pod that may be gone already, or be another one by now.
async fn delete(pods: &Api<Pod>, name: &str, params: &DeleteParams) -> Result<(), ControlPlaneError> {
    match pods.delete(name, params).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if [404, 409].contains(&status.code) => Ok(()),
        Err(error) => Err(failed("Pod", name)(error)),
    }
}

/// At once, and only this one.
fn exactly(pod: &Pod) -> DeleteParams {
    let preconditions = Preconditions { uid: pod.uid(), resource_version: None };
    DeleteParams::default().grace_period(0).preconditions(preconditions)
}

fn params() -> PostParams {
    PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() }
}

fn failed(kind: &str, name: &str) -> impl FnOnce(kube::Error) -> ControlPlaneError {
    let what = format!("{kind} {name}");
    move |source| ControlPlaneError::Request { what, source }
}
