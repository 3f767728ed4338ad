//! Machines that were there first stay under `Require`, whatever the user does in the middle of a rollout: only what the
//! rollout made itself goes again.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::join_all;
use kube::ResourceExt;
use refit_api::vocabulary::annotations::{PENDING_ACKNOWLEDGE_MOVE, UPDATE_IN_PROGRESS};
use refit_api::vocabulary::refit::annotations::{IN_PLACE, KEEP_ORIGINALS, SCAFFOLDING};
use refit_plane::Backend;
use refit_plane::demo::{Facts, Picture};
use refit_plane::sample::Workers as Sample;
use serde_json::{Value, json};

use crate::history::Object;
use crate::story::{Plot, Story};

/// Tells all of them at the same time. Somebody else has started the controllers.
pub async fn tell(backend: &Arc<Backend>) {
    join_all([
        another_template_while_paused_costs_no_machine(backend).boxed_local(),
        no_machine_is_made_while_paused(backend).boxed_local(),
        back_and_forth_over_on_delete_costs_no_machine(backend).boxed_local(),
        another_policy_for_a_moment(backend, "never-for-a-moment", json!({ IN_PLACE: "Never" })).boxed_local(),
        another_policy_for_a_moment(backend, "upstream-for-a-moment", upstream()).boxed_local(),
    ])
    .await;
}

fn require(max_surge: i32, max_unavailable: i32) -> Sample {
    let (max_surge, max_unavailable) = (json!(max_surge), json!(max_unavailable));
    Sample { policy: Some("Require"), max_surge, max_unavailable, ..Sample::default() }
}

fn upstream() -> Value {
    json!({ IN_PLACE: "Prefer", KEEP_ORIGINALS: "false" })
}

fn paused(paused: bool) -> Value {
    json!({ "spec": { "paused": paused } })
}

/// A rollout has made it beyond those wanted, and it says so.
fn is_scaffolding(object: &Object) -> bool {
    matches!(object, Object::Machine(it) if it.annotations().contains_key(SCAFFOLDING))
}

fn is_updating(object: &Object) -> bool {
    let marks = |it: &kube::core::ObjectMeta| it.annotations.clone().unwrap_or_default();
    matches!(object, Object::Machine(it) if marks(&it.metadata).contains_key(UPDATE_IN_PROGRESS)
        && !marks(&it.metadata).contains_key(PENDING_ACKNOWLEDGE_MOVE))
}

fn is_idle(picture: &Picture) -> bool {
    picture.machines.values().all(|it| it.updating.is_none() && it.is_ready)
}

/// All that was there at the start is there, unchanged, and the rest is not.
async fn ends_with(story: &Story, before: &BTreeMap<String, Facts>, memory: &str) {
    let after = story.until_memory(memory).await;
    story.assert_same(before, &after);
    assert_eq!(after.facts().keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>(), "{}", story.name);
    story.end().await;
}

/// The surge machine stays what it is: nobody takes it for one that was there first.
async fn another_template_while_paused_costs_no_machine(backend: &Arc<Backend>) {
    let story = Story::begin(backend, "paused-with-surge", require(1, 0)).await;
    let before = story.look().await.facts();
    story.wish_memory("16Gi").await;
    story.until_seen("a surge machine is there", is_scaffolding).await;
    story.until_seen("a machine is being updated", is_updating).await;
    story.patch(paused(true)).await;
    story.until("what has begun is done", is_idle).await;
    story.wish_memory("32Gi").await;
    story.until_observed().await;
    story.patch(paused(false)).await;
    ends_with(&story, &before, "32Gi").await;
}

/// One may be away, so none has to stand in for it.
async fn no_machine_is_made_while_paused(backend: &Arc<Backend>) {
    let story = Story::begin(backend, "paused-in-the-middle", require(1, 1)).await;
    let before = story.look().await.facts();
    story.wish_memory("16Gi").await;
    story.until_seen("a machine is being updated", is_updating).await;
    story.patch(paused(true)).await;
    story.wish_memory("32Gi").await;
    story.until_observed().await;
    story.until("what has begun is done", is_idle).await;
    let is_original = |object: &Object| match object {
        Object::Machine(it) => before.contains_key(&it.name_any()),
        _ => true,
    };
    let entries = story.history.entries();
    assert!(entries.iter().all(|entry| is_original(&entry.object)), "{}: a machine was made", story.name);
    story.patch(paused(false)).await;
    ends_with(&story, &before, "32Gi").await;
    story.assert_deleted(0);
}

/// The machine under update was to go back, and then it is not.
async fn back_and_forth_over_on_delete_costs_no_machine(backend: &Arc<Backend>) {
    let story = Story::begin(backend, "back-over-on-delete", require(0, 1)).await;
    let before = story.look().await.facts();
    let strategy = |strategy: Value| json!({ "spec": { "rollout": { "strategy": strategy } } });
    story.wish_memory("16Gi").await;
    story.until_seen("a machine is being updated", is_updating).await;
    story.wish_memory("8Gi").await;
    story.until_observed().await;
    story.patch(strategy(json!({ "type": "OnDelete", "rollingUpdate": null }))).await;
    story.until_observed().await;
    story.wish_memory("16Gi").await;
    story.until_observed().await;
    let idle = story.until("what has begun is done", is_idle).await;
    story.assert_same(&before, &idle);
    let rolling = json!({ "maxSurge": 0, "maxUnavailable": 1 });
    story.patch(strategy(json!({ "type": "RollingUpdate", "rollingUpdate": rolling }))).await;
    ends_with(&story, &before, "16Gi").await;
    story.assert_deleted(0);
}

/// Machines may be replaced for a moment. From then on they may not, and what was made meanwhile is the surplus. A host takes
/// its time to come up, so none is replaced before that.
async fn another_policy_for_a_moment(backend: &Arc<Backend>, name: &str, annotations: Value) {
    let plot = Plot { host: json!({ "provisioningSeconds": 5 }), ..require(1, 0).into() };
    let story = Story::begin(backend, name, plot).await;
    let before = story.look().await.facts();
    story.patch(json!({ "metadata": { "annotations": annotations } })).await;
    story.wish_memory("16Gi").await;
    story.until_seen("a surge machine is there", is_scaffolding).await;
    story.patch(json!({ "metadata": { "annotations": { IN_PLACE: "Require", KEEP_ORIGINALS: "true" } } })).await;
    ends_with(&story, &before, "16Gi").await;
}
