//! API servers to test with, and objects.

use std::time::Duration;

use kube::api::{Api, DynamicObject, ListParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::ApiResource;
use kube::{Client, Config};
use refit_api::crd;
use refit_apiserver::access;
use refit_apiserver::host::Host;
use refit_apiserver::store::Store;
use refit_controllers::transport;
use refit_peers::ControlPlane;
use serde_json::{Value, json};

/// How long a server may take to serve a kind; a second is usual.
const SERVED_LIMIT: Duration = Duration::from_secs(180);

/// A client of an embedded server in this process, which serves all of our kinds.
pub async fn embedded() -> Client {
    let host = Host::start_on_system(Store::in_memory()).await.expect("the API must start");
    let client = Client::new(host.service(access::admin()), "default");
    install_crds(&client).await;
    client
}

/// A client of a real server, which serves all of our kinds.
pub async fn real(plane: &ControlPlane) -> Client {
    let kubeconfig = Kubeconfig::read_from(plane.kubeconfig()).expect("the kubeconfig must be readable");
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    let client = transport::client(config.expect("the kubeconfig must be usable")).expect("there must be a client");
    install_crds(&client).await;
    client
}

pub async fn install_crds(client: &Client) {
    for definition in crd::all() {
        create(client, "apiextensions.k8s.io/v1", "CustomResourceDefinition", None, definition).await;
    }
    wait_served(client, "cluster.x-k8s.io/v1beta2", "Machine").await;
}

/// Waits until a kind whose CRD is there can be listed.
pub async fn wait_served(client: &Client, api_version: &str, kind: &str) {
    let objects = api(client, api_version, kind, Some("default"));
    let served = async {
        while objects.list(&ListParams::default()).await.is_err() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(SERVED_LIMIT, served).await.expect("the kind must be served");
}

/// Waits for what `look` is to find, for ten minutes of tokio's time at most.
pub async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    for _ in 0..6_000 {
        if let Some(found) = look().await {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("it takes too long until {what}");
}

pub fn api(client: &Client, api_version: &str, kind: &str, namespace: Option<&str>) -> Api<DynamicObject> {
    let resource: ApiResource = refit_controllers::cache::api_resource(api_version, kind);
    match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    }
}

/// Creates an object, and gives it as the server has it.
pub async fn create(
    client: &Client,
    api_version: &str,
    kind: &str,
    namespace: Option<&str>,
    mut object: Value,
) -> Value {
    object["apiVersion"] = json!(api_version);
    object["kind"] = json!(kind);
    let object: DynamicObject = serde_json::from_value(object).expect("it must be an object");
    let created = api(client, api_version, kind, namespace).create(&PostParams::default(), &object).await;
    serde_json::to_value(created.expect("the object must be created")).expect("it must encode")
}

/// A Machine that no controller has seen.
pub fn machine(name: &str) -> Value {
    json!({
        "metadata": { "name": name, "namespace": "default", "labels": { "cluster.x-k8s.io/cluster-name": "c" } },
        "spec": {
            "clusterName": "c",
            "bootstrap": { "dataSecretName": "data" },
            "infrastructureRef": { "apiGroup": "infra.io", "kind": "Host", "name": name },
        },
    })
}
