//! A Machine that cannot be decoded: its owners wait, everybody else goes on.

use std::time::Duration;

use kube::Client;
use kube::api::{DynamicObject, ListParams, Patch, PatchParams};
use serde_json::json;

use crate::plain::{CORE, Provider, machine_template, named};
use crate::plane::Plane;
use crate::rollouts::{begin, memory_updater, patch_deployment, rolled_out};
use crate::world::{api, create, until};

async fn machines(client: &Client) -> Vec<DynamicObject> {
    let listed = api(client, CORE, "Machine", Some("default")).list(&ListParams::default()).await;
    listed.expect("they must be listed").items
}

/// Has the controllers told of the machine.
async fn touch(client: &Client, name: &str, value: &str) {
    let patch = json!({ "metadata": { "annotations": { "touched": value } } });
    let machines = api(client, CORE, "Machine", Some("default"));
    machines.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.expect("it must be touched");
}

fn garble(plane: &Plane, uid: Option<String>) {
    *plane.garbled.lock().expect("nobody must panic while garbling") = uid;
}

#[tokio::test(start_paused = true)]
async fn no_machine_is_made_or_deleted_beside_one_that_cannot_be_decoded_and_others_go_on() {
    let plane = Plane::start(memory_updater()).await;
    let client = &plane.client;
    let _provider = Provider::start(client.clone());
    let before = begin(client).await;
    let broken = before.keys().next().expect("there must be machines").clone();
    let found = api(client, CORE, "Machine", Some("default")).get(&broken).await.expect("it must be there");
    garble(&plane, found.metadata.uid);
    touch(client, &broken, "once").await;
    // By now the controllers have been told.
    tokio::time::sleep(Duration::from_secs(10)).await;

    patch_deployment(client, json!({ "spec": { "replicas": 1 } })).await;
    let mut template = machine_template("small");
    template["metadata"]["labels"]["app"] = json!("other");
    let selector = json!({ "matchLabels": { "app": "other" } });
    let spec = json!({ "clusterName": "c", "replicas": 1, "selector": selector, "template": template });
    create(client, CORE, "MachineDeployment", Some("default"), named("other", spec)).await;
    let deployments = api(client, CORE, "MachineDeployment", Some("default"));
    until("the other one has its machine", async || {
        let other = deployments.get("other").await.expect("it must be there");
        (other.data["status"]["availableReplicas"] == 1).then_some(())
    })
    .await;
    tokio::time::sleep(Duration::from_secs(900)).await;
    let now = machines(client).await;
    assert_eq!(now.len(), before.len() + 1, "none was made and none deleted");
    assert!(now.iter().all(|machine| machine.metadata.deletion_timestamp.is_none()));

    garble(&plane, None);
    touch(client, &broken, "twice").await;
    rolled_out(client, "small", 1).await;
    plane.end().await;
}
