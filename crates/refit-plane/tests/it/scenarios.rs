//! What the user does in the middle of a rollout, and what comes of it.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::join_all;
use refit_plane::demo::{MachineView, Picture};
use refit_plane::sample::{Host, Workers as Sample};
use refit_plane::{Backend, Example, Workers};
use serde_json::json;

use crate::story::{Plot, Story};
use crate::{changes, failures, knowledge, never_again, originals, refusals, telling};

/// How long something that must not happen is waited for: longer than an update takes.
const NOT_YET: Duration = Duration::from_millis(1500);

/// Tells only the stories of one module, for who works on them.
pub async fn tell_only(backend: &Arc<Backend>, module: &str) {
    if module == "refusals" {
        never_again::prepare(backend).await;
    }
    let workers = Workers::start(backend, &Example::ALL).await.expect("the controllers must start");
    match module {
        "changes" => changes::tell(backend).await,
        "failures" => failures::tell(backend).await,
        "knowledge" => knowledge::tell(backend).await,
        "originals" => originals::tell(backend).await,
        "refusals" => refusals::tell(backend).await,
        "telling" => telling::tell(backend).await,
        _ => panic!("REFIT_STORIES={module}: no such stories"),
    }
    workers.stop().await;
}

/// Tells all stories at the same time, under one set of controllers.
pub async fn tell(backend: &Arc<Backend>) {
    never_again::prepare(backend).await;
    let workers = Workers::start(backend, &Example::ALL).await.expect("the controllers must start");
    join_all([
        machines_are_updated_in_place(backend).boxed_local(),
        what_nobody_covers_is_replaced(backend).boxed_local(),
        a_larger_wish_adds_machines(backend).boxed_local(),
        a_smaller_wish_takes_machines_away(backend).boxed_local(),
        a_second_change_overtakes_the_first(backend).boxed_local(),
        a_pause_stops_new_updates_and_loses_nothing(backend).boxed_local(),
        a_switch_to_on_delete_loses_nothing(backend).boxed_local(),
        a_machine_that_the_user_deletes_is_made_anew(backend).boxed_local(),
        a_deleted_deployment_leaves_nothing(backend).boxed_local(),
        changes::tell(backend).boxed_local(),
        refusals::tell(backend).boxed_local(),
        telling::tell(backend).boxed_local(),
        never_again::tell(backend).boxed_local(),
        knowledge::tell(backend).boxed_local(),
        originals::tell(backend).boxed_local(),
        failures::tell(backend).boxed_local(),
    ])
    .await;
    workers.stop().await;
}

fn require(replicas: i32) -> Sample {
    Sample { replicas, policy: Some("Require"), ..Sample::default() }
}

/// Three machines, each of which takes its time for an update.
fn slow(update_seconds: i32) -> Sample {
    Sample { host: Host { update_seconds, ..Host::default() }, ..require(3) }
}

async fn machines_are_updated_in_place(backend: &Arc<Backend>) {
    let story = Story::begin(backend, "in-place", require(3)).await;
    let before = story.look().await.facts();
    story.wish_memory("16Gi").await;
    let after = story.until_memory("16Gi").await;
    story.assert_same(&before, &after);
    story.assert_deleted(0);
    story.end().await;
}

async fn what_nobody_covers_is_replaced(backend: &Arc<Backend>) {
    let plot = Plot { is_covered: false, ..Sample { replicas: 2, ..Sample::default() }.into() };
    let story = Story::begin(backend, "replaced", plot).await;
    let before = story.look().await.facts();
    story.wish(&Host { cpus: 4, ..Host::default() }).await;
    let has_processors = |machine: &MachineView| machine.cpus == Some(4);
    let is_replaced = |picture: &Picture| picture.is_settled() && picture.machines.values().all(has_processors);
    let after = story.until("all are replaced", is_replaced).await;
    assert!(after.machines.keys().all(|name| !before.contains_key(name)));
    story.assert_deleted(2);
    story.end().await;
}

async fn a_larger_wish_adds_machines(backend: &Arc<Backend>) {
    let story = Story::begin(backend, "scale-up", require(3)).await;
    let before = story.look().await.facts();
    story.wish_memory("16Gi").await;
    story.until_begun().await;
    story.patch(json!({ "spec": { "replicas": 5 } })).await;
    let after = story.until_memory("16Gi").await;
    story.assert_same(&before, &after);
    assert_eq!(after.machines.len(), 5);
    story.assert_deleted(0);
    story.end().await;
}

async fn a_smaller_wish_takes_machines_away(backend: &Arc<Backend>) {
    let story = Story::begin(backend, "scale-down", require(4)).await;
    let before = story.look().await.facts();
    story.wish_memory("16Gi").await;
    story.until_begun().await;
    story.patch(json!({ "spec": { "replicas": 2 } })).await;
    let after = story.until_memory("16Gi").await;
    assert!(after.machines.iter().all(|(name, machine)| before.get(name) == Some(&machine.facts)));
    story.assert_deleted(2);
    story.end().await;
}

async fn a_second_change_overtakes_the_first(backend: &Arc<Backend>) {
    let story = Story::begin(backend, "change-again", require(3)).await;
    let before = story.look().await.facts();
    story.wish_memory("16Gi").await;
    story.until_begun().await;
    story.wish_memory("32Gi").await;
    let after = story.until_memory("32Gi").await;
    story.assert_same(&before, &after);
    story.assert_deleted(0);
    story.end().await;
}

/// The user must come before the last machine is updated. On a slow machine that takes more than one try.
async fn a_pause_stops_new_updates_and_loses_nothing(backend: &Arc<Backend>) {
    let is_in_time = pauses_in_time(backend, "pause", 1).await
        || pauses_in_time(backend, "pause-again", 10).await
        || pauses_in_time(backend, "pause-at-last", 60).await;
    assert!(is_in_time, "some must wait");
}

async fn pauses_in_time(backend: &Arc<Backend>, name: &'static str, update_seconds: i32) -> bool {
    let story = Story::begin(backend, name, slow(update_seconds)).await;
    let before = story.look().await.facts();
    story.wish_memory("16Gi").await;
    story.until_begun().await;
    story.patch(json!({ "spec": { "paused": true } })).await;
    let is_idle = |picture: &Picture| picture.machines.values().all(|it| it.updating.is_none() && it.is_ready);
    story.until("what has begun is done", is_idle).await;
    tokio::time::sleep(NOT_YET).await;
    let paused = story.look().await;
    let waits = paused.machines.values().any(|machine| machine.memory.as_deref() == Some("8Gi"));
    story.assert_same(&before, &paused);
    story.patch(json!({ "spec": { "paused": false } })).await;
    let after = story.until_memory("16Gi").await;
    story.assert_same(&before, &after);
    story.assert_deleted(0);
    story.end().await;
    waits
}

/// As with a pause, the user must come in time.
async fn a_switch_to_on_delete_loses_nothing(backend: &Arc<Backend>) {
    let is_in_time = switches_in_time(backend, "on-delete", 1).await
        || switches_in_time(backend, "on-delete-again", 10).await
        || switches_in_time(backend, "on-delete-at-last", 60).await;
    assert!(is_in_time, "some must wait for the user");
}

async fn switches_in_time(backend: &Arc<Backend>, name: &'static str, update_seconds: i32) -> bool {
    let story = Story::begin(backend, name, slow(update_seconds)).await;
    let before = story.look().await.facts();
    story.wish_memory("16Gi").await;
    story.until_begun().await;
    story.patch(json!({ "spec": { "rollout": { "strategy": { "type": "OnDelete", "rollingUpdate": null } } } })).await;
    let is_idle = |picture: &Picture| picture.machines.values().all(|it| it.updating.is_none() && it.is_ready);
    story.until("what has begun is done", is_idle).await;
    tokio::time::sleep(NOT_YET).await;
    let waiting = story.look().await;
    story.assert_same(&before, &waiting);
    story.assert_deleted(0);
    let is_old = |machine: &MachineView| machine.memory.as_deref() == Some("8Gi");
    let old: Vec<_> = waiting.machines.iter().filter(|(_, machine)| is_old(machine)).map(|(name, _)| name).collect();
    for name in &old {
        story.delete_machine(name).await;
    }
    story.until_memory("16Gi").await;
    story.assert_deleted(old.len());
    story.end().await;
    !old.is_empty()
}

async fn a_machine_that_the_user_deletes_is_made_anew(backend: &Arc<Backend>) {
    let story = Story::begin(backend, "delete-machine", require(3)).await;
    let mut before = story.look().await.facts();
    story.wish_memory("16Gi").await;
    let begun = story.until_begun().await;
    let waits = |(_, machine): &(&String, &MachineView)| machine.updating.is_none();
    let victim = begun.machines.iter().find(waits).map(|(name, _)| name.clone()).expect("somebody must wait");
    story.delete_machine(&victim).await;
    before.remove(&victim);
    let after = story.until_memory("16Gi").await;
    story.assert_same(&before, &after);
    story.assert_deleted(1);
    story.end().await;
}

async fn a_deleted_deployment_leaves_nothing(backend: &Arc<Backend>) {
    let story = Story::begin(backend, "delete-all", require(3)).await;
    story.wish_memory("16Gi").await;
    story.until_begun().await;
    story.delete_deployment().await;
    story.until_all_gone().await;
    story.end().await;
}
