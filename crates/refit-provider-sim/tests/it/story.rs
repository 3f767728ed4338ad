//! Plays Cluster API's part for one Cluster in a namespace of its own.

use std::fmt::Debug;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Namespace, Node, Secret};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::config::Kubeconfig;
use kube::{Client, ResourceExt};
use refit_api::cluster::{Cluster, Machine};
use refit_api::resource::CustomKind;
use refit_provider_sim::kinds::{SimBootstrapConfig, SimCluster, SimControlPlane, SimMachine};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::backend::connect;

/// How often a wish is checked, and for how long: a machine that does much else needs many times what an idle one does.
const EVERY: Duration = Duration::from_millis(25);
const LIMIT: Duration = Duration::from_secs(180);
pub const CLUSTER: &str = "demo";

pub struct Story {
    pub client: Client,
    pub namespace: String,
}

impl Story {
    /// A namespace with a Cluster and its SimCluster; nobody has looked at them yet.
    pub async fn begin(client: &Client, namespace: &str) -> Self {
        let story = Self { client: client.clone(), namespace: namespace.to_owned() };
        let mut object = Namespace::default();
        object.metadata.name = Some(namespace.to_owned());
        let namespaces: Api<Namespace> = Api::all(client.clone());
        namespaces.create(&PostParams::default(), &object).await.expect("a namespace must be made");
        let cluster: Cluster = story
            .create(json!({
                "metadata": { "name": CLUSTER },
                "spec": {
                    "infrastructureRef": reference("infrastructure.cluster.x-k8s.io", "SimCluster", CLUSTER),
                    "controlPlaneRef": reference("controlplane.cluster.x-k8s.io", "SimControlPlane", CLUSTER),
                },
            }))
            .await;
        let owner = owner("Cluster", CLUSTER, &cluster.uid().expect("what is stored must have a uid"));
        let metadata = story.metadata(CLUSTER, owner);
        let _: SimCluster = story.create(json!({ "metadata": metadata })).await;
        let plane = json!({ "metadata": metadata, "spec": { "version": "v1.34.0" } });
        let _: SimControlPlane = story.create(plane).await;
        story
    }

    /// The same, with infrastructure that is there.
    pub async fn with_infrastructure(client: &Client, namespace: &str) -> Self {
        let story = Self::begin(client, namespace).await;
        story.wait_infrastructure().await;
        story
    }

    /// Waits for the SimCluster, and says so on the Cluster.
    pub async fn wait_infrastructure(&self) -> SimCluster {
        let is_provisioned = |sim: &SimCluster| sim.status.initialization.provisioned == Some(true);
        let sim = self.eventually("is provisioned", is_provisioned, CLUSTER).await;
        let status = json!({ "status": { "initialization": { "infrastructureProvisioned": true } } });
        let clusters: Api<Cluster> = self.api();
        let params = PatchParams::default();
        clusters.patch_status(CLUSTER, &params, &Patch::Merge(status)).await.expect("a status must be written");
        sim
    }

    /// A Machine with its SimMachine and SimBootstrapConfig, all of this name.
    pub async fn add_machine(&self, name: &str, version: &str, spec: Value) {
        let config = reference("bootstrap.cluster.x-k8s.io", "SimBootstrapConfig", name);
        let metadata = self.add_owner(name, version, json!({ "configRef": config })).await;
        let _: SimBootstrapConfig = self.create(json!({ "metadata": metadata })).await;
        let _: SimMachine = self.create(json!({ "metadata": metadata, "spec": spec })).await;
    }

    /// A Machine whose bootstrap data somebody else brought, and its SimMachine.
    pub async fn add_bootstrapped_machine(&self, name: &str, version: &str, spec: Value) {
        let metadata = self.add_owner(name, version, json!({ "dataSecretName": "brought" })).await;
        let _: SimMachine = self.create(json!({ "metadata": metadata, "spec": spec })).await;
    }

    /// A Machine of the control plane, whose bootstrap data somebody else brought, and its SimMachine.
    pub async fn add_control_plane_machine(&self, name: &str, version: &str, spec: Value) {
        let metadata = self.add_owner(name, version, json!({ "dataSecretName": "brought" })).await;
        let label = json!({ "metadata": { "labels": { "cluster.x-k8s.io/control-plane": "" } } });
        self.patch::<Machine>(name, label).await;
        let _: SimMachine = self.create(json!({ "metadata": metadata, "spec": spec })).await;
    }

    /// A Machine. Gives the metadata of what it owns.
    async fn add_owner(&self, name: &str, version: &str, bootstrap: Value) -> Value {
        let machine: Machine = self
            .create(json!({
                "metadata": { "name": name, "labels": { "cluster.x-k8s.io/cluster-name": CLUSTER } },
                "spec": {
                    "clusterName": CLUSTER,
                    "version": version,
                    "bootstrap": bootstrap,
                    "infrastructureRef": reference("infrastructure.cluster.x-k8s.io", "SimMachine", name),
                },
            }))
            .await;
        self.metadata(name, owner("Machine", name, &machine.uid().expect("what is stored must have a uid")))
    }

    /// Copies the bootstrap data's secret to the Machine, when it is there.
    pub async fn hand_over_bootstrap(&self, name: &str) {
        let is_made = |config: &SimBootstrapConfig| config.status.initialization.data_secret_created == Some(true);
        let config = self.eventually("has made its secret", is_made, name).await;
        let secret = config.status.data_secret_name.expect("the secret must have a name");
        let patch = json!({ "spec": { "bootstrap": { "dataSecretName": secret } } });
        self.patch::<Machine>(name, patch).await;
    }

    pub async fn wait_provisioned(&self, name: &str) -> SimMachine {
        let is_provisioned = |sim: &SimMachine| sim.status.initialization.provisioned == Some(true);
        self.eventually("is provisioned", is_provisioned, name).await
    }

    /// A provisioned machine, and its Node.
    pub async fn machine(&self, name: &str, version: &str, spec: Value) -> (SimMachine, Node) {
        self.add_machine(name, version, spec).await;
        self.hand_over_bootstrap(name).await;
        let sim = self.wait_provisioned(name).await;
        let node = self.wait_node(name).await;
        (sim, node)
    }

    pub async fn wait_node(&self, name: &str) -> Node {
        let nodes = self.nodes().await;
        let wish = format!("there is a Node {name} in {}", self.namespace);
        eventually(&wish, async || nodes.get(name).await).await
    }

    /// The Nodes of the workload cluster, as whoever reads the kubeconfig secret sees them.
    pub async fn nodes(&self) -> Api<Node> {
        Api::all(self.workload().await)
    }

    /// A client by the kubeconfig secret.
    pub async fn workload(&self) -> Client {
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), &self.namespace);
        let secret = secrets.get(&format!("{CLUSTER}-kubeconfig")).await.expect("there must be a kubeconfig");
        assert_eq!(secret.type_.as_deref(), Some("cluster.x-k8s.io/secret"));
        assert_eq!(secret.labels()["cluster.x-k8s.io/cluster-name"], CLUSTER);
        let value = &secret.data.expect("there must be data")["value"].0;
        let text = std::str::from_utf8(value).expect("it must be text");
        connect(Kubeconfig::from_yaml(text).expect("it must be a kubeconfig")).await
    }

    /// All names of Nodes.
    pub async fn node_names(&self) -> Vec<String> {
        let nodes = self.nodes().await.list(&ListParams::default()).await.expect("nodes must be listed");
        nodes.iter().map(ResourceExt::name_any).collect()
    }

    pub async fn get<K: Kind>(&self, name: &str) -> K {
        self.api().get(name).await.expect("it must be there")
    }

    pub async fn patch<K: Kind>(&self, name: &str, patch: Value) -> K {
        self.api().patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.expect("a patch must be accepted")
    }

    pub async fn delete<K: Kind>(&self, name: &str) {
        self.api::<K>().delete(name, &DeleteParams::default()).await.expect("it must be deleted");
    }

    pub async fn wait_gone<K: Kind>(&self, name: &str) {
        let (api, wish) = (self.api::<K>(), format!("{} is gone", self.named::<K>(name)));
        eventually(&wish, async || match api.get_opt(name).await.expect("it must be readable") {
            None => Ok(()),
            Some(object) => Err(object),
        })
        .await;
    }

    /// Waits until an object is so, and stays so until somebody does something about it: nobody is sure to look at the
    /// moment at which something is so for a while only.
    pub async fn eventually<K: Kind>(&self, what: &str, is_so: impl Fn(&K) -> bool, name: &str) -> K {
        let (api, wish) = (self.api::<K>(), format!("{} {what}", self.named::<K>(name)));
        eventually(&wish, async || match api.get(name).await {
            Ok(object) if is_so(&object) => Ok(object),
            seen => Err(seen),
        })
        .await
    }

    fn named<K: Kind>(&self, name: &str) -> String {
        format!("{} {}/{name}", K::kind(&()), self.namespace)
    }

    pub fn api<K: Kind>(&self) -> Api<K> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    async fn create<K: Kind>(&self, object: Value) -> K {
        let object: K = serde_json::from_value(object).expect("it must be of the kind");
        self.api().create(&PostParams::default(), &object).await.expect("it must be accepted")
    }

    fn metadata(&self, name: &str, owner: Value) -> Value {
        json!({
            "name": name,
            "labels": { "cluster.x-k8s.io/cluster-name": CLUSTER },
            "ownerReferences": [owner],
        })
    }
}

/// A kind in a namespace.
pub trait Kind: CustomKind + Debug + kube::Resource<Scope = k8s_openapi::NamespaceResourceScope> {}

impl<K: CustomKind + Debug + kube::Resource<Scope = k8s_openapi::NamespaceResourceScope>> Kind for K {}

/// Asks until it is so. What is seen until then is what the failure shows.
pub async fn eventually<T, S: Debug>(wish: &str, ask: impl AsyncFn() -> Result<T, S>) -> T {
    let began = Instant::now();
    loop {
        match ask().await {
            Ok(answer) => return answer,
            Err(seen) => assert!(began.elapsed() < LIMIT, "it takes too long until {wish}; seen last: {seen:#?}"),
        }
        tokio::time::sleep(EVERY).await;
    }
}

fn reference(group: &str, kind: &str, name: &str) -> Value {
    json!({ "apiGroup": group, "kind": kind, "name": name })
}

fn owner(kind: &str, name: &str, uid: &str) -> Value {
    let api_version = "cluster.x-k8s.io/v1beta2";
    json!({ "apiVersion": api_version, "kind": kind, "name": name, "uid": uid, "controller": true })
}
