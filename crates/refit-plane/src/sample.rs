//! Small clusters to try things with.

mod control_plane;

use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use refit_api::vocabulary::refit::annotations::{IN_PLACE, REPLACE_AFTER};
use serde_json::{Value, json};

pub use control_plane::{CONTROL_PLANE, CONTROL_PLANE_VERSION, ControlPlane};

/// Who makes the objects here.
const MANAGER: &str = "refit-sample";

/// The name of the Cluster and of the namespace's objects that belong to it.
pub const CLUSTER: &str = "demo";
/// The name of its MachineDeployment.
pub const WORKERS: &str = "workers";
/// The Kubernetes version of its machines.
pub const VERSION: &str = "v1.34.1";

/// What the workers of a cluster are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workers {
    pub namespace: String,
    pub replicas: i32,
    /// `Prefer`, `Require` or `Never`; none: the default.
    pub policy: Option<&'static str>,
    /// How long extensions must leave a change uncovered before machines are replaced for it; none: the default.
    pub replace_after: Option<&'static str>,
    pub max_surge: Value,
    pub max_unavailable: Value,
    pub host: Host,
}

/// What a simulated host is made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    pub cpus: i32,
    pub memory: String,
    pub image: String,
    /// How long one change of it takes.
    pub update_seconds: i32,
}

impl Default for Host {
    fn default() -> Self {
        Self { cpus: 2, memory: "8Gi".to_owned(), image: "worker-1.34".to_owned(), update_seconds: 1 }
    }
}

impl Default for Workers {
    /// Three machines, of which one at a time may be away.
    fn default() -> Self {
        Self {
            namespace: "default".to_owned(),
            replicas: 3,
            policy: None,
            replace_after: None,
            max_surge: json!(0),
            max_unavailable: json!(1),
            host: Host::default(),
        }
    }
}

impl Workers {
    /// The Cluster, its infrastructure, the templates and the MachineDeployment.
    pub fn objects(&self) -> Vec<Value> {
        vec![
            self.cluster(),
            self.object("infrastructure.cluster.x-k8s.io/v1beta2", "SimCluster", CLUSTER, json!({})),
            self.object(
                "bootstrap.cluster.x-k8s.io/v1beta2",
                "SimBootstrapConfigTemplate",
                WORKERS,
                json!({ "template": { "spec": { "script": "join" } } }),
            ),
            self.machine_template(&self.host),
            self.machine_deployment(),
        ]
    }

    /// The template of these hosts. Its name tells the hosts apart.
    pub fn machine_template(&self, host: &Host) -> Value {
        let Host { cpus, memory, image, update_seconds } = host;
        let spec = json!({ "cpus": cpus, "memory": memory, "image": image, "updateSeconds": update_seconds });
        self.object(
            "infrastructure.cluster.x-k8s.io/v1beta2",
            "SimMachineTemplate",
            &host.template(),
            json!({ "template": { "spec": spec } }),
        )
    }

    /// Makes all of them, or brings them back to what they are here.
    pub async fn apply(&self, client: &Client) -> Result<(), kube::Error> {
        for object in self.objects() {
            apply(client, &object).await?;
        }
        Ok(())
    }

    fn cluster(&self) -> Value {
        let infrastructure = reference("infrastructure.cluster.x-k8s.io", "SimCluster", CLUSTER);
        self.object("cluster.x-k8s.io/v1beta2", "Cluster", CLUSTER, json!({ "infrastructureRef": infrastructure }))
    }

    fn machine_deployment(&self) -> Value {
        let labels = json!({ "cluster.x-k8s.io/cluster-name": CLUSTER, "cluster.x-k8s.io/deployment-name": WORKERS });
        let machine = json!({
            "clusterName": CLUSTER,
            "version": VERSION,
            "bootstrap": {
                "configRef": reference("bootstrap.cluster.x-k8s.io", "SimBootstrapConfigTemplate", WORKERS),
            },
            "infrastructureRef": reference(
                "infrastructure.cluster.x-k8s.io", "SimMachineTemplate", &self.host.template(),
            ),
        });
        let rolling = json!({ "maxSurge": self.max_surge, "maxUnavailable": self.max_unavailable });
        let spec = json!({
            "clusterName": CLUSTER,
            "replicas": self.replicas,
            "selector": { "matchLabels": labels },
            "rollout": { "strategy": { "type": "RollingUpdate", "rollingUpdate": rolling } },
            "template": { "metadata": { "labels": labels }, "spec": machine },
        });
        let mut object = self.object("cluster.x-k8s.io/v1beta2", "MachineDeployment", WORKERS, spec);
        let annotations = [(IN_PLACE, self.policy), (REPLACE_AFTER, self.replace_after)];
        for (key, value) in annotations.into_iter().filter_map(|(key, value)| Some((key, value?))) {
            object["metadata"]["annotations"][key] = json!(value);
        }
        object
    }

    fn object(&self, api_version: &str, kind: &str, name: &str, spec: Value) -> Value {
        object(&self.namespace, api_version, kind, name, spec)
    }
}

impl Host {
    /// The name of its template.
    pub fn template(&self) -> String {
        format!("{WORKERS}-{}-{}cpu-{}", self.memory.to_lowercase(), self.cpus, self.image)
    }
}

/// An object of the sample's Cluster.
fn object(namespace: &str, api_version: &str, kind: &str, name: &str, spec: Value) -> Value {
    let labels = json!({ "cluster.x-k8s.io/cluster-name": CLUSTER });
    json!({
        "apiVersion": api_version,
        "kind": kind,
        "metadata": { "name": name, "namespace": namespace, "labels": labels },
        "spec": spec,
    })
}

fn reference(group: &str, kind: &str, name: &str) -> Value {
    json!({ "apiGroup": group, "kind": kind, "name": name })
}

/// Makes an object that has a namespace, or brings it to what it is here.
///
/// # Panics
/// When it is no object: it has no kind, or no name.
pub async fn apply(client: &Client, object: &Value) -> Result<(), kube::Error> {
    let (api, name) = address(client, object);
    api.patch(&name, &PatchParams::apply(MANAGER).force(), &Patch::Apply(object)).await.map(drop)
}

/// Where an object that has a namespace is, and its name.
pub(crate) fn address(client: &Client, object: &Value) -> (Api<DynamicObject>, String) {
    let object: DynamicObject = serde_json::from_value(object.clone()).expect("it must be an object");
    let types = object.types.as_ref().expect("it must have a kind");
    let gvk = GroupVersionKind::try_from(types).expect("it must name its version");
    let namespace = object.metadata.namespace.as_deref().unwrap_or("default");
    let api = Api::namespaced_with(client.clone(), namespace, &ApiResource::from_gvk(&gvk));
    (api, object.metadata.name.expect("it must have a name"))
}
