//! A provider without a controller: kinds that take any field. Tests play it.

use kube::Client;
use serde_json::{Value, json};

use crate::world::{api, create};

pub const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io";
pub const INFRASTRUCTURE_V1: &str = "infrastructure.cluster.x-k8s.io/v1";
pub const CORE: &str = "cluster.x-k8s.io/v1beta2";

/// How often the provider looks.
const EVERY: std::time::Duration = std::time::Duration::from_millis(100);

/// Serves `PlainMachine`, `PlainMachineTemplate` and `PlainCluster`.
pub async fn install(client: &Client) {
    for kind in ["PlainMachine", "PlainMachineTemplate", "PlainCluster"] {
        define(client, kind).await;
    }
}

/// Serves one kind.
pub async fn define(client: &Client, kind: &str) {
    create(client, "apiextensions.k8s.io/v1", "CustomResourceDefinition", None, definition(kind)).await;
    let served = api(client, INFRASTRUCTURE_V1, kind, Some("default"));
    while served.list(&Default::default()).await.is_err() {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

fn definition(kind: &str) -> Value {
    let singular = kind.to_lowercase();
    let plural = format!("{singular}s");
    let open = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    json!({
        "metadata": {
            "name": format!("{plural}.{INFRASTRUCTURE}"),
            "labels": { "cluster.x-k8s.io/v1beta2": "v1" },
        },
        "spec": {
            "group": INFRASTRUCTURE,
            "names": { "kind": kind, "plural": plural, "singular": singular, "listKind": format!("{kind}List") },
            "scope": "Namespaced",
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": { "status": {} },
                "schema": { "openAPIV3Schema": { "type": "object", "properties": { "spec": open, "status": open } } },
            }],
        },
    })
}

pub fn reference(kind: &str, name: &str) -> Value {
    json!({ "apiGroup": INFRASTRUCTURE, "kind": kind, "name": name })
}

/// A Cluster `c` without a control plane object.
pub async fn cluster(client: &Client) -> Value {
    let spec = json!({ "infrastructureRef": reference("PlainCluster", "c") });
    let object = json!({ "metadata": { "name": "c", "namespace": "default" }, "spec": spec });
    create(client, INFRASTRUCTURE_V1, "PlainCluster", Some("default"), named("c", json!({}))).await;
    create(client, CORE, "Cluster", Some("default"), object).await
}

/// A template of hosts with so much memory.
pub async fn template(client: &Client, name: &str, memory: &str) {
    let spec = json!({ "template": { "spec": { "memory": memory } } });
    create(client, INFRASTRUCTURE_V1, "PlainMachineTemplate", Some("default"), named(name, spec)).await;
}

pub fn named(name: &str, spec: Value) -> Value {
    json!({ "metadata": { "name": name, "namespace": "default" }, "spec": spec })
}

/// The spec of a Machine that is made from the template.
pub fn machine_template(template: &str) -> Value {
    json!({
        "metadata": { "labels": { "app": "w" } },
        "spec": {
            "clusterName": "c",
            "version": "v1.34.0",
            "bootstrap": { "dataSecretName": "data" },
            "infrastructureRef": reference("PlainMachineTemplate", template),
        },
    })
}

/// Plays the provider and the kubelets until it is dropped: hosts are there at once, and their Nodes are well.
pub struct Provider(tokio::task::JoinHandle<()>);

impl Drop for Provider {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Provider {
    pub fn start(client: Client) -> Self {
        Self(tokio::spawn(async move {
            loop {
                provision(&client, "PlainCluster").await;
                provision(&client, "PlainMachine").await;
                tokio::time::sleep(EVERY).await;
            }
        }))
    }
}

/// What goes wrong is done in the next round.
async fn provision(client: &Client, kind: &str) {
    let objects = api(client, INFRASTRUCTURE_V1, kind, Some("default"));
    let Ok(listed) = objects.list(&Default::default()).await else { return };
    for object in listed.items {
        let name = object.metadata.name.clone().unwrap_or_default();
        if object.data["status"]["initialization"]["provisioned"] == true {
            continue;
        }
        if kind == "PlainMachine" {
            node(client, &name).await;
        }
        provision_one(client, kind, &name).await;
    }
}

/// The host, or the infrastructure of the cluster, is there.
pub async fn provision_one(client: &Client, kind: &str, name: &str) {
    let objects = api(client, INFRASTRUCTURE_V1, kind, Some("default"));
    let endpoint = json!({ "host": "localhost", "port": 6443 });
    let spec = json!({ "spec": { "providerID": format!("plain://{name}"), "controlPlaneEndpoint": endpoint } });
    let _ = objects.patch(name, &Default::default(), &kube::api::Patch::Merge(spec)).await;
    let status = json!({ "status": { "initialization": { "provisioned": true } } });
    let _ = objects.patch_status(name, &Default::default(), &kube::api::Patch::Merge(status)).await;
}

/// A Node that is well.
pub async fn node(client: &Client, name: &str) {
    let nodes = api(client, "v1", "Node", None);
    let spec = json!({ "providerID": format!("plain://{name}") });
    let node = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": name }, "spec": spec });
    let node = serde_json::from_value(node).expect("it must be an object");
    let _ = nodes.create(&Default::default(), &node).await;
    let conditions = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"].map(|type_| {
        let status = if type_ == "Ready" { "True" } else { "False" };
        json!({ "type": type_, "status": status, "reason": "R", "message": "m" })
    });
    let info = json!({ "kubeletVersion": "v1.34.0" });
    let status = json!({ "status": { "conditions": conditions, "nodeInfo": info } });
    let _ = nodes.patch_status(name, &Default::default(), &kube::api::Patch::Merge(status)).await;
}

/// The Secret by which the workload cluster is reached.
pub async fn kubeconfig(client: &Client) {
    const KUBECONFIG: &str = "{ apiVersion: v1, kind: Config, clusters: [], users: [], contexts: [] }";
    let value = k8s_openapi::ByteString(KUBECONFIG.as_bytes().to_vec());
    let labels = json!({ "cluster.x-k8s.io/cluster-name": "c" });
    let secret = json!({ "metadata": { "name": "c-kubeconfig", "labels": labels }, "data": { "value": value } });
    create(client, "v1", "Secret", Some("default"), secret).await;
}
