//! A MachineDeployment whose machines get more memory in place: the same machines, nothing deleted.

use std::collections::BTreeMap;
use std::time::Duration;

use kube::Client;
use kube::api::{Patch, PatchParams};
use refit_api::cluster::{Machine, MachineDeployment};
use refit_api::rollout::{MachineRollout, RolloutDecision};
use refit_examples::{LoggedHost, MemoryUpdater};
use refit_sdk::Extension;
use serde_json::{Value, json};

use crate::plain::{self, CORE, INFRASTRUCTURE_V1, Provider, machine_template, named};
use crate::plane::Plane;
use crate::world::{api, create};

const LIMIT: Duration = Duration::from_secs(180);
const MACHINES: usize = 3;
/// How many writes an update in place may cost on a Machine and its host, status apart: five, and one for a Machine that somebody
/// else was writing to.
const WRITES_PER_MACHINE: usize = 6;

pub fn memory_updater() -> Extension {
    let updater = MemoryUpdater { kind: "PlainMachine".to_owned(), ..MemoryUpdater::new(LoggedHost) };
    Extension::builder(updater).poll_seconds(1).build().expect("it must be an extension")
}

/// What must not change of a machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Identity {
    uid: Option<String>,
    provider_id: Option<String>,
    node: Option<String>,
}

async fn machines(client: &Client) -> BTreeMap<String, Identity> {
    let listed = kube::Api::<Machine>::namespaced(client.clone(), "default").list(&Default::default()).await;
    let of = |machine: Machine| {
        let identity = Identity {
            uid: machine.metadata.uid,
            provider_id: machine.spec.provider_id,
            node: machine.status.node_ref.map(|node| node.name),
        };
        (machine.metadata.name.unwrap_or_default(), identity)
    };
    listed.expect("they must be listed").items.into_iter().map(of).collect()
}

async fn memories(client: &Client) -> Vec<Value> {
    let hosts = api(client, INFRASTRUCTURE_V1, "PlainMachine", Some("default")).list(&Default::default()).await;
    hosts.expect("they must be listed").items.into_iter().map(|host| host.data["spec"]["memory"].clone()).collect()
}

/// The MachineDeployment once all of its machines are of today's template and available.
pub async fn rolled_out(client: &Client, template: &str, machines: usize) -> MachineDeployment {
    let deployments = kube::Api::<MachineDeployment>::namespaced(client.clone(), "default");
    let mut last = None;
    for _ in 0..LIMIT.as_millis() / 50 {
        let deployment = deployments.get("md").await.expect("it must be there");
        let status = &deployment.status;
        let all = i32::try_from(machines).ok();
        let is_done = status.up_to_date_replicas == all
            && status.available_replicas == all
            && status.replicas == all
            && status.observed_generation == deployment.metadata.generation
            && deployment.spec.template.spec.infrastructure_ref.name == template;
        if is_done {
            return deployment;
        }
        last = Some(deployment);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    for kind in ["Cluster", "MachineDeployment", "MachineSet", "Machine"] {
        let listed = api(client, CORE, kind, Some("default")).list(&Default::default()).await;
        for mut object in listed.expect("they must be listed").items {
            object.metadata.managed_fields = None;
            eprintln!("{}", serde_json::to_string_pretty(&object).expect("it must encode"));
        }
    }
    panic!("it must roll out: {:?}", last.map(|it| it.status));
}

/// The one MachineRollout, once it is closed.
async fn closed_rollout(client: &Client) -> MachineRollout {
    let rollouts = kube::Api::<MachineRollout>::namespaced(client.clone(), "default");
    for _ in 0..LIMIT.as_millis() / 50 {
        let mut listed = rollouts.list(&Default::default()).await.expect("they must be listed").items;
        assert!(listed.len() <= 1, "{listed:?}");
        if let Some(rollout) = listed.pop().filter(|rollout| rollout.status.completion_time.is_some()) {
            return rollout;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the rollout must be closed: {:?}", rollouts.list(&Default::default()).await);
}

pub async fn extension_config(client: &Client) {
    let spec = json!({
        "clientConfig": { "url": "https://memory.example:443", "caBundle": "YQ==" },
        "namespaceSelector": {},
    });
    let config = json!({ "metadata": { "name": "memory" }, "spec": spec });
    create(client, "runtime.cluster.x-k8s.io/v1beta2", "ExtensionConfig", None, config).await;
}

async fn deployment(client: &Client, machines: usize, max_unavailable: Value) {
    let selector = json!({ "matchLabels": { "app": "w" } });
    let strategy =
        json!({ "type": "RollingUpdate", "rollingUpdate": { "maxSurge": 0, "maxUnavailable": max_unavailable } });
    let spec = json!({
        "clusterName": "c", "replicas": machines, "selector": selector, "template": machine_template("small"),
        "rollout": { "strategy": strategy },
    });
    create(client, CORE, "MachineDeployment", Some("default"), named("md", spec)).await;
}

/// A cluster whose machines run with little memory.
pub async fn settle(client: &Client, machines: usize, max_unavailable: Value) {
    plain::cluster(client).await;
    plain::kubeconfig(client).await;
    plain::template(client, "small", "4Gi").await;
    plain::template(client, "large", "8Gi").await;
    deployment(client, machines, max_unavailable).await;
    rolled_out(client, "small", machines).await;
}

pub async fn begin(client: &Client) -> BTreeMap<String, Identity> {
    settle(client, MACHINES, json!(1)).await;
    let before = machines(client).await;
    assert!(before.values().all(|machine| machine.node.is_some()), "{before:?}");
    before
}

pub async fn patch_deployment(client: &Client, patch: Value) {
    let deployments = api(client, CORE, "MachineDeployment", Some("default"));
    let patched = deployments.patch("md", &PatchParams::default(), &Patch::Merge(patch)).await;
    patched.expect("the MachineDeployment must be changed");
}

pub async fn want_more_memory(client: &Client) {
    let template = json!({ "spec": { "infrastructureRef": { "name": "large" } } });
    patch_deployment(client, json!({ "spec": { "template": template } })).await;
}

/// Waits until the MachineRollout says so.
async fn decided(client: &Client, decision: RolloutDecision) {
    let rollouts = kube::Api::<MachineRollout>::namespaced(client.clone(), "default");
    for _ in 0..LIMIT.as_millis() / 50 {
        let listed = rollouts.list(&Default::default()).await.expect("they must be listed").items;
        if listed.iter().any(|rollout| rollout.status.decision == Some(decision)) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("it must be decided: {decision:?}, not {:?}", rollouts.list(&Default::default()).await);
}

#[tokio::test]
async fn a_change_that_nobody_covers_waits_untouched_until_somebody_does() {
    let plane = Plane::start(memory_updater()).await;
    let client = &plane.client;
    let _provider = Provider::start(client.clone());
    let before = begin(client).await;
    patch_deployment(client, json!({ "metadata": { "annotations": { "refit.dev/in-place": "Require" } } })).await;
    want_more_memory(client).await;
    decided(client, RolloutDecision::Blocked).await;
    plane.at_rest().await;
    assert_eq!(machines(client).await, before);
    assert_eq!(memories(client).await, ["4Gi"; MACHINES]);
    extension_config(client).await;
    rolled_out(client, "large", MACHINES).await;
    assert_eq!(machines(client).await, before);
    assert_eq!(memories(client).await, ["8Gi"; MACHINES]);
    plane.end().await;
}

#[tokio::test]
async fn machines_get_more_memory_and_stay_who_they_are() {
    let plane = Plane::start(memory_updater()).await;
    let client = &plane.client;
    let _provider = Provider::start(client.clone());
    extension_config(client).await;
    let before = begin(client).await;
    plane.at_rest().await;

    want_more_memory(client).await;
    rolled_out(client, "large", MACHINES).await;
    assert_eq!(machines(client).await, before);
    assert_eq!(memories(client).await, ["8Gi"; MACHINES]);
    let rollout = closed_rollout(client).await;
    assert_eq!(rollout.status.decision, Some(RolloutDecision::InPlace), "{rollout:?}");
    assert_eq!(rollout.status.progress.map(|progress| progress.updated), i32::try_from(MACHINES).ok());
    let change = rollout.status.changes.first().map(|change| (change.path.as_str(), change.covered_by.is_some()));
    assert_eq!(change, Some(("spec.template.spec.memory", true)));
    let writes = plane.at_rest().await;
    let of = |what: &str| writes.get(what).copied().unwrap_or_default();
    assert!(of("PATCH machines") + of("PATCH plainmachines") <= WRITES_PER_MACHINE * MACHINES, "{writes:?}");

    assert_eq!(of("DELETE machines"), 0, "{writes:?}");
    plane.end().await;
}

/// Probes go to workload clusters, which nobody counts here.
#[tokio::test(start_paused = true)]
async fn at_rest_the_controllers_ask_nothing_of_the_management_cluster() {
    let plane = Plane::start(memory_updater()).await;
    let client = &plane.client;
    let provider = Provider::start(client.clone());
    extension_config(client).await;
    begin(client).await;
    drop(provider);
    plane.at_rest().await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    for counted in [&plane.writes, &plane.reads] {
        counted.lock().expect("nobody must panic while counting").clear();
    }
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    for counted in [&plane.writes, &plane.reads] {
        assert_eq!(*counted.lock().expect("nobody must panic while counting"), BTreeMap::new());
    }
    plane.end().await;
}
