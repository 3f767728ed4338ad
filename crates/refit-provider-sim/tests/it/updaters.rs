//! The example extensions, served as in life, change simulated hosts.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use refit_examples::{MemoryUpdater, VersionUpdater};
use refit_provider_sim::kinds::SimMachine;
use refit_sdk::{Extension, Server, ServerOptions, Updater};
use serde_json::{Value, json};

use crate::backend::Backend;
use crate::story::{Story, eventually};

const PATH: &str = "/hooks.runtime.cluster.x-k8s.io/v1alpha1/updatemachine/update-machine";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn extensions_change_the_hosts_of_machines() {
    let backend = Backend::embedded().await;
    let provider = backend.start_provider();
    let story = Story::with_infrastructure(&backend.client, "extensions").await;
    let (before, _) = story.machine("a", "v1.34.0", json!({ "memory": "8Gi", "image": "one" })).await;
    story.patch::<SimMachine>("a", json!({ "spec": { "memory": "16Gi", "image": "two" } })).await;
    let desired = json!({
        "machine": {
            "apiVersion": "cluster.x-k8s.io/v1beta2",
            "kind": "Machine",
            "metadata": { "name": "a", "namespace": story.namespace },
            "spec": { "version": "v1.35.0" },
        },
        "infrastructureMachine": {
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
            "kind": "SimMachine",
            "metadata": { "name": "a", "namespace": story.namespace },
            "spec": { "memory": "16Gi", "image": "two" },
        },
    });
    run(MemoryUpdater::new(provider.hosts.clone()), &desired).await;
    run(VersionUpdater::new(provider.hosts.clone()), &desired).await;
    let host = |sim: SimMachine| sim.status.host.expect("there must be a host");
    let (old, new) = (host(before), host(story.get("a").await));
    assert_eq!((&new.memory, new.image.as_deref()), (&"16Gi".to_owned(), Some("two")));
    assert_eq!(new.kubernetes_version.as_deref(), Some("v1.35.0"));
    assert_eq!((new.id, new.disk_id), (old.id, old.disk_id));
    let node = story.wait_node("a").await;
    let info = node.status.and_then(|status| status.node_info).expect("a node says what it runs");
    assert_eq!((info.kubelet_version.as_str(), info.os_image.as_str()), ("v1.35.0", "two"));
    provider.stop().await;
}

/// Serves an updater, and asks it for the update until that is done.
async fn run(updater: impl Updater, desired: &Value) {
    let extension = Extension::builder(updater).build().expect("the extension must be right");
    let server = Server::bind(extension, ServerOptions::local()).await.expect("the server must listen");
    let address = server.address().expect("the address must be known");
    let task = tokio::spawn(server.run(std::future::pending()));
    let body = json!({ "desired": desired }).to_string();
    eventually("the update is done", async || {
        let body = body.clone();
        let answer = tokio::task::spawn_blocking(move || post(address, &body)).await.expect("a call must end");
        assert_eq!(answer["status"], "Success", "{answer}");
        if answer["retryAfterSeconds"] == 0 { Ok(()) } else { Err(answer) }
    })
    .await;
    task.abort();
}

fn post(address: SocketAddr, body: &str) -> Value {
    let mut stream = TcpStream::connect(address).expect("the extension must be there");
    let head =
        format!("POST {PATH} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", body.len());
    stream.write_all(format!("{head}{body}").as_bytes()).expect("the request must be sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("the answer must be read");
    let (_, body) = answer.split_once("\r\n\r\n").expect("the answer must have a body");
    serde_json::from_str(body).expect("the answer must be JSON")
}
