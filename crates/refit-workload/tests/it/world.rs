//! A workload cluster, and what is put into it.

use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use futures::FutureExt;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Node, Pod, PodTemplateSpec};
use kube::api::{Api, PostParams};
use kube::{Client, Resource};
use refit_apiserver::access;
use refit_apiserver::host::Host;
use refit_apiserver::store::Store;
use refit_plan::control_plane::inspection::{Inspection, Seen};
use refit_workload::etcd::{EtcdAuthority, EtcdTarget};
use refit_workload::{EtcdAccess, KubeWorkload, WorkloadCluster, WorkloadError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::scripted::{Script, connect};

/// The label of control planes.
pub const ROLE: &str = "node-role.kubernetes.io/control-plane";

/// A workload cluster under a Cluster `ns/demo`.
pub struct World {
    pub client: Client,
    etcd: Arc<Mutex<Script>>,
}

impl World {
    pub async fn start() -> Self {
        let host = Host::start_on_system(Store::in_memory()).await.expect("the API must start");
        Self::on(Client::new(host.service(access::admin()), "default")).await
    }

    pub async fn on(client: Client) -> Self {
        let world = Self { client, etcd: Arc::default() };
        let namespaces: Api<Namespace> = Api::all(world.client.clone());
        if namespaces.get_opt("kube-system").await.expect("the API must answer").is_none() {
            world.create(&namespaces, json!({ "metadata": { "name": "kube-system" } })).await;
        }
        world
    }

    pub async fn create<K>(&self, api: &Api<K>, object: Value)
    where
        K: Resource + Clone + Serialize + DeserializeOwned + Debug,
    {
        let object: K = serde_json::from_value(object).expect("the object must decode");
        api.create(&PostParams::default(), &object).await.expect("the object must be accepted");
    }

    pub fn system<K>(&self) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        Api::namespaced(self.client.clone(), "kube-system")
    }

    pub async fn add_node(&self, name: &str, labels: Value) {
        self.create(&Api::<Node>::all(self.client.clone()), json!({ "metadata": { "name": name, "labels": labels } }))
            .await;
    }

    pub async fn add_pod(&self, name: &str) {
        let spec = json!({ "containers": [{ "name": "c", "image": "i" }] });
        self.create(&self.system::<Pod>(), json!({ "metadata": { "name": name }, "spec": spec })).await;
    }

    pub async fn add_kubeadm_config(&self, text: &str) {
        let object =
            json!({ "metadata": { "name": "kubeadm-config" }, "data": { "ClusterConfiguration": text, "other": "x" } });
        self.create(&self.system::<ConfigMap>(), object).await;
    }

    pub async fn kubeadm_config(&self) -> (String, Option<String>) {
        let map = self.system::<ConfigMap>().get("kubeadm-config").await.expect("it must be there");
        let data = map.data.expect("it must have data");
        assert_eq!(data["other"], "x");
        (data["ClusterConfiguration"].clone(), map.metadata.resource_version)
    }

    /// kube-proxy, with a container beside it.
    pub async fn add_kube_proxy(&self) {
        let object = with_image("kube-proxy", "registry.k8s.io/kube-proxy:v1.32.0");
        self.create(&self.system::<DaemonSet>(), object).await;
    }

    /// CoreDNS, with a container beside it.
    pub async fn add_coredns(&self) {
        let object = with_image("coredns", "registry.k8s.io/coredns/coredns:v1.11.1");
        self.create(&self.system::<Deployment>(), object).await;
    }

    /// The images of kube-proxy's containers.
    pub async fn kube_proxy(&self) -> Vec<String> {
        let set = self.system::<DaemonSet>().get("kube-proxy").await.expect("it must be there");
        images(set.spec.expect("it must have a spec").template)
    }

    /// The images of CoreDNS' containers.
    pub async fn coredns(&self) -> Vec<String> {
        let deployment = self.system::<Deployment>().get("coredns").await.expect("it must be there");
        images(deployment.spec.expect("it must have a spec").template)
    }

    pub fn workload(&self) -> KubeWorkload {
        let script = Arc::clone(&self.etcd);
        let connector = Arc::new(move |target: EtcdTarget| connect(Arc::clone(&script), target).boxed());
        let authority = EtcdAuthority::new("certificate", "key");
        self.workload_with(EtcdAccess::Managed { authority, connector })
    }

    pub fn workload_with(&self, etcd: EtcdAccess) -> KubeWorkload {
        KubeWorkload::new(self.client.clone(), "ns", "demo", etcd)
    }

    pub fn script<T>(&self, change: impl FnOnce(&mut Script) -> T) -> T {
        change(&mut self.etcd.lock().expect("the script must be whole"))
    }

    pub fn told(&self) -> Vec<String> {
        self.script(|script| std::mem::take(&mut script.told))
    }
}

fn with_image(name: &str, image: &str) -> Value {
    let labels = json!({ "app": name });
    let containers = json!([{ "name": "other", "image": "other:v1" }, { "name": name, "image": image }]);
    let template = json!({ "metadata": { "labels": labels }, "spec": { "containers": containers } });
    json!({ "metadata": { "name": name }, "spec": { "selector": { "matchLabels": labels }, "template": template } })
}

fn images(template: PodTemplateSpec) -> Vec<String> {
    let containers = template.spec.expect("it must have a spec").containers;
    containers.into_iter().filter_map(|container| container.image).collect()
}

pub fn names(list: &[&str]) -> Vec<String> {
    list.iter().map(|name| (*name).to_owned()).collect()
}

pub async fn look(workload: &KubeWorkload, nodes: &[&str]) -> Seen {
    match workload.inspect(&names(nodes)).await {
        Inspection::Seen(seen) => *seen,
        Inspection::NotConnected => panic!("the server must answer"),
    }
}

pub fn words<T>(outcome: Result<T, WorkloadError>) -> String {
    refit_peers::chain(&outcome.err().expect("it must fail"))
}
