use std::collections::BTreeSet;
use std::time::Duration;

use kube::Client;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::plain::{self, CORE, INFRASTRUCTURE_V1, machine_template, named};
use crate::plane::Plane;
use crate::world::{api, create};

async fn names(client: &Client, api_version: &str, kind: &str) -> BTreeSet<String> {
    let listed = api(client, api_version, kind, Some("default")).list(&Default::default()).await;
    listed.expect("it must be listed").items.into_iter().filter_map(|item| item.metadata.name).collect()
}

/// Waits until there are so many Machines, each with its host and no host without a Machine.
async fn settled(client: &Client, count: usize) -> BTreeSet<String> {
    let settled = async {
        loop {
            let machines = names(client, CORE, "Machine").await;
            let hosts = names(client, INFRASTRUCTURE_V1, "PlainMachine").await;
            if machines.len() == count && hosts == machines {
                return machines;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(180), settled).await.expect("the machines must settle")
}

async fn scale(client: &Client, replicas: i64) {
    let patch = Patch::Merge(json!({ "spec": { "replicas": replicas } }));
    let sets = api(client, CORE, "MachineSet", Some("default"));
    sets.patch("ms", &PatchParams::default(), &patch).await.expect("it must be scaled");
}

fn machine_set() -> Value {
    let selector = json!({ "matchLabels": { "app": "w" } });
    let template = machine_template("small");
    named("ms", json!({ "clusterName": "c", "replicas": 3, "selector": selector, "template": template }))
}

#[tokio::test]
async fn a_machine_set_makes_as_many_machines_as_it_is_told() {
    let plane = Plane::start(crate::rollouts::memory_updater()).await;
    let client = &plane.client;
    plain::cluster(client).await;
    plain::template(client, "small", "4Gi").await;
    create(client, CORE, "MachineSet", Some("default"), machine_set()).await;
    let three = settled(client, 3).await;
    scale(client, 5).await;
    let five = settled(client, 5).await;
    assert!(five.is_superset(&three), "who is there stays: {three:?} {five:?}");
    scale(client, 2).await;
    let going = async {
        loop {
            let machines = api(client, CORE, "Machine", Some("default")).list(&Default::default()).await;
            let machines = machines.expect("it must be listed").items;
            if machines.iter().filter(|it| it.metadata.deletion_timestamp.is_some()).count() == 3 || machines.len() == 2
            {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(180), going).await.expect("three must be deleted");
    plane.end().await;
}
