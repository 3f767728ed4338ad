//! What is written: Machines of Cluster API, with the labels and references of real ones.

use std::time::Duration;

use http::{Method, Request};
use kube::Client;
use kube::client::Body;
use refit_api::crd;
use serde_json::{Value, json};

use crate::ends::End;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
pub const MACHINES: &str = "/apis/cluster.x-k8s.io/v1beta2/namespaces/default/machines";

/// Installs the definitions, and waits until Machines are served.
pub async fn install(end: &impl End) {
    let client = end.client().await;
    for definition in crd::all() {
        let (code, text) = send(&client, Method::POST, DEFINITIONS, "application/json", definition.to_string()).await;
        assert_eq!(code, 201, "{text}");
    }
    while send(&client, Method::GET, MACHINES, "application/json", String::new()).await.0 != 200 {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// A Machine. `round` is what one write of it differs in from the next.
pub fn machine(name: &str, round: usize) -> Value {
    json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "Machine",
        "metadata": {
            "name": name,
            "labels": {
                "cluster.x-k8s.io/cluster-name": "production",
                "cluster.x-k8s.io/deployment-name": "production-workers",
                "cluster.x-k8s.io/set-name": "production-workers-7d9f8",
                "machine-template-hash": "7d9f8",
                "example.io/round": round.to_string(),
            },
            "annotations": {"example.io/note": "written by the benchmark"},
            "finalizers": ["machine.cluster.x-k8s.io"],
        },
        "spec": {
            "clusterName": "production",
            "version": "v1.36.3",
            "providerID": format!("metal://{name}/{round}"),
            "failureDomain": "zone-a",
            "bootstrap": {
                "configRef": {"apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "KubeadmConfig", "name": name},
                "dataSecretName": name,
            },
            "infrastructureRef": {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "MetalMachine", "name": name},
            "deletion": {"nodeDrainTimeoutSeconds": 600, "nodeVolumeDetachTimeoutSeconds": 300},
        },
    })
}

/// Sends a request, and returns the status code and the text of the answer.
pub async fn send(client: &Client, method: Method, uri: &str, media_type: &str, body: String) -> (u16, String) {
    let request = Request::builder().method(method).uri(uri).header("Content-Type", media_type);
    let request = request.body(Body::from(body.into_bytes())).expect("it must be a request");
    let response = client.send(request).await.expect("there must be an answer");
    let code = response.status().as_u16();
    let bytes = response.into_body().collect_bytes().await.expect("the answer must be whole");
    (code, String::from_utf8(bytes.to_vec()).expect("the answer must be text"))
}
