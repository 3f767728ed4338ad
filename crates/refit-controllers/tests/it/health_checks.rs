//! MachineHealthChecks at work: who is unhealthy, and what the owners of machines make of it.

use std::collections::BTreeSet;
use std::time::Duration;

use kube::Client;
use kube::api::{Patch, PatchParams};
use refit_api::cluster::{Machine, MachineHealthCheck};
use refit_api::conditions::get;
use refit_sdk::{Claims, Extension, MachineUpdate, Paths, Progress, UpdateFailure, Updater};
use serde_json::{Value, json};

use crate::plain::{self, CORE, Provider, machine_template, named};
use crate::plane::Plane;
use crate::rollouts::memory_updater;
use crate::world::{api, create, until};

/// How long a Node may be bad, and how long it may take to appear.
const TIMEOUT: Duration = Duration::from_secs(60);
/// How long an update may take.
const UPDATE_TIMEOUT: Duration = Duration::from_secs(180);

/// An extension that never comes to its end.
struct Stuck;

impl Updater for Stuck {
    fn claims(&self) -> Claims {
        Paths::none().infrastructure_of("PlainMachine", "spec.memory").into()
    }

    async fn update(&self, _: MachineUpdate) -> Result<Progress, UpdateFailure> {
        std::future::pending().await
    }
}

/// A MachineSet of `replicas` machines that are watched over. Remediation follows `trigger`.
async fn watched(client: &Client, replicas: usize, trigger: Value) {
    plain::cluster(client).await;
    plain::kubeconfig(client).await;
    plain::template(client, "small", "4Gi").await;
    let selector = json!({ "matchLabels": { "app": "w" } });
    let template = machine_template("small");
    let spec = json!({ "clusterName": "c", "replicas": replicas, "selector": selector, "template": template });
    create(client, CORE, "MachineSet", Some("default"), named("ms", spec)).await;
    check(client, trigger).await;
}

async fn check(client: &Client, trigger: Value) {
    let seconds = TIMEOUT.as_secs();
    let bad =
        ["False", "Unknown"].map(|status| json!({ "type": "Ready", "status": status, "timeoutSeconds": seconds }));
    let checks = json!({ "nodeStartupTimeoutSeconds": seconds, "unhealthyNodeConditions": bad });
    let spec = json!({
        "clusterName": "c", "selector": { "matchLabels": { "app": "w" } }, "checks": checks,
        "remediation": { "triggerIf": trigger },
    });
    create(client, CORE, "MachineHealthCheck", Some("default"), named("mhc", spec)).await;
}

async fn machines(client: &Client) -> Vec<Machine> {
    let listed = kube::Api::<Machine>::namespaced(client.clone(), "default").list(&Default::default()).await;
    listed.expect("they must be listed").items
}

fn name(machine: &Machine) -> String {
    machine.metadata.name.clone().unwrap_or_default()
}

async fn names(client: &Client) -> BTreeSet<String> {
    machines(client).await.iter().map(name).collect()
}

/// The names of the machines, once there are so many and the health check finds all of them healthy.
async fn healthy(client: &Client, count: usize) -> BTreeSet<String> {
    until("all machines are healthy", async || {
        let machines = machines(client).await;
        let is_healthy = |machine: &&Machine| says(machine, "HealthCheckSucceeded") == "True HealthCheckSucceeded";
        let is_so = machines.len() == count && machines.iter().filter(is_healthy).count() == count;
        is_so.then(|| machines.iter().map(name).collect())
    })
    .await
}

fn says(machine: &Machine, type_: &str) -> String {
    get(&machine.status.conditions, type_).map(|it| format!("{} {}", it.status, it.reason)).unwrap_or_default()
}

async fn set_ready(plane: &Plane, node: &str, status: &str) {
    let condition = json!({
        "type": "Ready", "status": status, "reason": "R", "message": "m", "lastTransitionTime": plane.clock.now(),
    });
    let patch = Patch::Strategic(json!({ "status": { "conditions": [condition] } }));
    let nodes = api(&plane.client, "v1", "Node", None);
    nodes.patch_status(node, &PatchParams::default(), &patch).await.expect("the Node must be patched");
}

async fn remediation_allowed(client: &Client) -> (String, Option<i32>) {
    let checks = kube::Api::<MachineHealthCheck>::namespaced(client.clone(), "default");
    let status = checks.get("mhc").await.expect("it must be there").status;
    let condition = get(&status.conditions, "RemediationAllowed");
    (condition.map(|it| format!("{} {}", it.status, it.reason)).unwrap_or_default(), status.remediations_allowed)
}

#[tokio::test(start_paused = true)]
async fn a_machine_whose_node_is_bad_for_too_long_is_replaced_by_its_owner() {
    let plane = Plane::start(memory_updater()).await;
    let client = &plane.client;
    let _provider = Provider::start(client.clone());
    watched(client, 3, json!({})).await;
    let before = healthy(client, 3).await;
    let bad = before.first().expect("there are three").clone();
    set_ready(&plane, &bad, "False").await;
    tokio::time::sleep(TIMEOUT - Duration::from_secs(10)).await;
    assert_eq!(names(client).await, before, "a short time costs no machine");
    until("the bad machine is gone", async || (!names(client).await.contains(&bad)).then_some(())).await;
    let after = healthy(client, 3).await;
    assert_eq!(after.intersection(&before).count(), 2, "only the bad one is replaced: {before:?} {after:?}");
    plane.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_machine_whose_node_never_comes_is_replaced_by_its_owner() {
    let plane = Plane::start(memory_updater()).await;
    let client = &plane.client;
    watched(client, 2, json!({})).await;
    plain::provision_one(client, "PlainCluster", "c").await;
    let both = until("there are two machines", async || {
        let names = names(client).await;
        (names.len() == 2).then_some(names)
    });
    let [good, late] = <[String; 2]>::try_from(both.await.into_iter().collect::<Vec<_>>()).expect("there are two");
    plain::node(client, &good).await;
    for host in [&good, &late] {
        plain::provision_one(client, "PlainMachine", host).await;
    }
    tokio::time::sleep(TIMEOUT - Duration::from_secs(10)).await;
    assert!(names(client).await.contains(&late), "it has its time");
    let left = until("the late machine is replaced", async || {
        let names = names(client).await;
        (names.len() == 2 && !names.contains(&late)).then_some(names)
    });
    assert!(left.await.contains(&good));
    plane.end().await;
}

#[tokio::test(start_paused = true)]
async fn where_too_many_are_unhealthy_none_is_replaced_until_fewer_are() {
    let plane = Plane::start(memory_updater()).await;
    let client = &plane.client;
    let _provider = Provider::start(client.clone());
    watched(client, 3, json!({ "unhealthyLessThanOrEqualTo": 1 })).await;
    let before = healthy(client, 3).await;
    let bad: Vec<&String> = before.iter().take(2).collect();
    for node in &bad {
        set_ready(&plane, node, "False").await;
    }
    until("remediation is restricted", async || {
        (remediation_allowed(client).await == ("False TooManyUnhealthy".to_owned(), Some(0))).then_some(())
    })
    .await;
    tokio::time::sleep(TIMEOUT * 2).await;
    let found = machines(client).await;
    assert_eq!(found.iter().map(name).collect::<BTreeSet<_>>(), before);
    let unhealthy = found.iter().filter(|it| says(it, "HealthCheckSucceeded") == "False UnhealthyNode").map(name);
    assert_eq!(unhealthy.collect::<BTreeSet<_>>(), bad.iter().map(|it| (*it).clone()).collect());
    assert!(found.iter().all(|machine| says(machine, "OwnerRemediated").is_empty()), "nobody is asked");
    set_ready(&plane, bad[0], "True").await;
    until("the other one is gone", async || (!names(client).await.contains(bad[1])).then_some(())).await;
    let after = healthy(client, 3).await;
    assert_eq!(after.intersection(&before).count(), 2, "{before:?} {after:?}");
    plane.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_is_being_updated_is_excused_until_its_update_takes_too_long() {
    let extension = Extension::builder(Stuck).poll_seconds(1).build().expect("it must be an extension");
    let plane = Plane::start(extension).await;
    let client = &plane.client;
    let _provider = Provider::start(client.clone());
    crate::rollouts::extension_config(client).await;
    let before = crate::rollouts::begin(client).await.into_keys().collect::<BTreeSet<_>>();
    check(client, json!({})).await;
    let timeout = json!({ "refit.dev/update-timeout": format!("{}s", UPDATE_TIMEOUT.as_secs()) });
    crate::rollouts::patch_deployment(client, json!({ "metadata": { "annotations": timeout } })).await;
    healthy(client, 3).await;
    crate::rollouts::want_more_memory(client).await;
    let updating = until("a machine is being updated", async || {
        machines(client).await.iter().find(|it| says(it, "Updating") == "True InPlaceUpdating").map(name)
    });
    let updating = updating.await;
    set_ready(&plane, &updating, "False").await;
    tokio::time::sleep(TIMEOUT * 2).await;
    let found = machines(client).await;
    assert_eq!(found.iter().map(name).collect::<BTreeSet<_>>(), before);
    assert!(found.iter().all(|it| says(it, "HealthCheckSucceeded") == "True HealthCheckSucceeded"), "it is excused");
    until("it is replaced", async || (!names(client).await.contains(&updating)).then_some(())).await;
    plane.end().await;
}
