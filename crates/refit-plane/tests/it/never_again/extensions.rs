//! Extensions that fail, change, or take their time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use kube::api::{Api, ListParams, Patch, PatchParams};
use refit_plane::Backend;
use refit_plane::demo::Picture;
use refit_plane::sample::{self, CLUSTER, Host, WORKERS, Workers as Sample};
use refit_sdk::Paths;
use serde_json::json;

use super::require;
use crate::story::Story;
use crate::stranger::{Reply, Stranger};

pub const UPDATE: &str = "updatemachine";
const CAN_UPDATE: &str = "canupdatemachineset";

pub fn processors() -> Paths {
    Paths::none().infrastructure_of("SimMachine", "spec.cpus")
}

/// All hosts are to have four processors, and nothing is going on. Strangers do not really change hosts.
async fn until_four_processors(story: &Story) -> Picture {
    let wanted = Host { cpus: 4, ..Host::default() }.template();
    let is_wanted = |picture: &Picture| {
        let template =
            |it: &refit_api::cluster::MachineDeployment| it.spec.template.spec.infrastructure_ref.name.clone();
        picture.is_settled() && picture.machine_deployment.as_ref().map(template).as_ref() == Some(&wanted)
    };
    story.until("all are to have four processors", is_wanted).await
}

/// 4: neither a call that failed, whatever its failure policy, nor a negative wait is read as success.
pub async fn only_the_word_done_ends_an_update(backend: &Arc<Backend>) {
    let story = Story::begin(backend, "not-done", require(1)).await;
    let ignore = json!({ "failurePolicy": "Ignore" });
    let script = move |hook: &str, count: usize| match (hook, count) {
        ("discovery", _) => Reply::Ignoring(ignore.clone()),
        (UPDATE, 0) => Reply::Broken,
        (UPDATE, 1) => Reply::With(json!({ "status": "Success", "retryAfterSeconds": -5 })),
        (UPDATE, 2) => Reply::With(json!({ "status": "Success", "retryAfterSeconds": 1 })),
        _ => Reply::Usual,
    };
    let stranger = Stranger::register(&story, processors(), Box::new(script)).await;
    let before = story.look().await.facts();
    story.wish(&Host { cpus: 4, ..Host::default() }).await;
    let after = until_four_processors(&story).await;
    assert_eq!(stranger.calls(UPDATE), 4, "it is done when the extension says so");
    story.assert_same(&before, &after);
    story.end().await;
}

/// 7.
pub async fn a_broken_extension_does_not_block_scaling(backend: &Arc<Backend>) {
    let story = Story::begin(backend, "broken-extension", require(2)).await;
    let script = |hook: &str, _| if hook == CAN_UPDATE { Reply::Broken } else { Reply::Usual };
    let stranger = Stranger::register(&story, processors(), Box::new(script)).await;
    let before = story.look().await.facts();
    story.wish(&Host { cpus: 4, ..Host::default() }).await;
    story.until("the extension was asked", |_| stranger.calls(CAN_UPDATE) > 0).await;
    story.patch(json!({ "spec": { "replicas": 4 } })).await;
    let is_ready = |picture: &Picture| picture.machines.values().filter(|machine| machine.is_ready).count() == 4;
    let grown = story.until("there are four machines", is_ready).await;
    story.assert_same(&before, &grown);
    stranger.change(&story, Box::new(|_, _| Reply::Usual)).await;
    let after = until_four_processors(&story).await;
    story.assert_same(&before, &after);
    story.assert_deleted(0);
    story.end().await;
}

/// 8.
pub async fn an_extension_that_has_changed_is_asked_again(backend: &Arc<Backend>) {
    let story = Story::begin(backend, "asked-again", require(2)).await;
    let covers = Arc::new(AtomicBool::new(false));
    let refuses = Arc::clone(&covers);
    let nothing = json!({ "infrastructureMachineTemplatePatch": null });
    let script = move |hook: &str, _: usize| match hook {
        CAN_UPDATE if !refuses.load(Ordering::SeqCst) => Reply::With(nothing.clone()),
        _ => Reply::Usual,
    };
    let stranger = Stranger::register(&story, processors(), Box::new(script)).await;
    let before = story.look().await.facts();
    story.wish(&Host { cpus: 4, ..Host::default() }).await;
    let blocked = story.until("it is blocked", |picture| picture.blocked().is_some()).await;
    story.assert_same(&before, &blocked);
    covers.store(true, Ordering::SeqCst);
    stranger.change(&story, Box::new(|_, _| Reply::Usual)).await;
    let after = until_four_processors(&story).await;
    story.assert_same(&before, &after);
    story.assert_deleted(0);
    story.end().await;
}

/// 10: the Node of a machine is away while its host is updated, for longer than the health check waits.
pub async fn a_health_check_waits_for_an_update(backend: &Arc<Backend>) {
    let story = Story::begin(backend, "health-check", Sample { replicas: 2, ..Sample::default() }).await;
    let is_done = Arc::new(AtomicBool::new(false));
    let may_end = Arc::clone(&is_done);
    let script = move |hook: &str, _: usize| match hook {
        UPDATE if !may_end.load(Ordering::SeqCst) => {
            Reply::With(json!({ "status": "Success", "retryAfterSeconds": 1 }))
        }
        _ => Reply::Usual,
    };
    let _stranger = Stranger::register(&story, processors(), Box::new(script)).await;
    sample::apply(&story.client, &health_check(&story.name)).await.expect("a health check must be accepted");
    let before = story.look().await.facts();
    story.wish(&Host { cpus: 4, ..Host::default() }).await;
    let is_begun = |picture: &Picture| picture.machines.values().any(|machine| machine.updating.is_some());
    let begun = story.until("a machine is being updated", is_begun).await;
    let updating = begun.machines.iter().find(|(_, machine)| machine.updating.is_some());
    let node = updating.map(|(name, _)| name.clone()).expect("a machine must be updated");
    say_of_node(&story, &node, "False").await;
    let is_away = |picture: &Picture| picture.machines.get(&node).is_some_and(|machine| !machine.is_ready);
    story.until("the node is known to be away", is_away).await;
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    say_of_node(&story, &node, "True").await;
    is_done.store(true, Ordering::SeqCst);
    let after = until_four_processors(&story).await;
    story.assert_same(&before, &after);
    story.assert_deleted(0);
    story.end().await;
}

pub fn health_check(namespace: &str) -> serde_json::Value {
    let unready = |status: &str| json!({ "type": "Ready", "status": status, "timeoutSeconds": 1 });
    json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "MachineHealthCheck",
        "metadata": { "name": WORKERS, "namespace": namespace },
        "spec": {
            "clusterName": CLUSTER,
            "selector": { "matchLabels": { "cluster.x-k8s.io/deployment-name": WORKERS } },
            "checks": { "unhealthyNodeConditions": [unready("False"), unready("Unknown")] },
        },
    })
}

/// The kubelet is heard of, or not.
pub async fn say_of_node(story: &Story, name: &str, ready: &str) {
    let nodes: Api<Node> = Api::all(story.workload());
    let node = nodes.list(&ListParams::default()).await.expect("it must be listed");
    assert!(node.iter().any(|node| node.name_any() == name), "{name} must be there");
    let condition =
        json!({ "type": "Ready", "status": ready, "reason": "Told", "lastTransitionTime": jiff::Timestamp::now() });
    let patch = Patch::Strategic(json!({ "status": { "conditions": [condition] } }));
    nodes.patch_status(name, &PatchParams::default(), &patch).await.expect("it must be patched");
}
