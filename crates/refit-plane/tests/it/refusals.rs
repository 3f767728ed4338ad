//! The provider refuses a change that extensions cover. It is said, and machines that can move do.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::join_all;
use k8s_openapi::api::events::v1::Event;
use kube::api::{Api, ListParams, Patch, PatchParams};
use refit_api::vocabulary::refit::events::ROLLOUT_BLOCKED;
use refit_plane::Backend;
use refit_plane::demo::Picture;
use refit_plane::sample::Workers as Sample;
use refit_provider_sim::kinds::SimMachine;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::never_again::{ODD, REFUSED};
use crate::story::{EVERY, LIMIT, Story};

/// Tells all of them at the same time. Somebody else has started the controllers.
pub async fn tell(backend: &Arc<Backend>) {
    join_all([
        a_refused_change_is_said(backend).boxed_local(),
        one_odd_host_does_not_stop_the_others(backend).boxed_local(),
        what_a_new_host_could_not_be_either_is_no_reason_to_delete(backend).boxed_local(),
    ])
    .await;
}

fn plot(policy: &'static str, replicas: i32) -> Sample {
    Sample { replicas, policy: Some(policy), ..Sample::default() }
}

/// Whether the MachineDeployment and its rollout say that this is refused.
fn says(picture: &Picture, words: &str) -> bool {
    let blocked = picture.blocked().is_some_and(|message| message.contains(words));
    let mut rollouts = picture.rollouts.iter().filter(|rollout| rollout.status.completion_time.is_none());
    blocked && rollouts.any(|rollout| rollout.status.message.as_deref().is_some_and(|it| it.contains(words)))
}

async fn a_refused_change_is_said(backend: &Arc<Backend>) {
    let story = Story::begin(backend, "refusal-said", plot("Require", 2)).await;
    let before = story.look().await.facts();
    story.wish_memory(REFUSED).await;
    let blocked = story.until("it is said", |picture| says(picture, "no such hosts")).await;
    let message = blocked.blocked().unwrap_or_default();
    assert!(before.keys().any(|name| message.contains(name.as_str())), "{message}");
    until_event(&story, ROLLOUT_BLOCKED, "no such hosts").await;
    story.wish_memory("16Gi").await;
    let after = story.until_memory("16Gi").await;
    story.assert_same(&before, &after);
    story.assert_deleted(0);
    story.end().await;
}

/// The provider cannot change the memory of one host, until somebody mends that.
async fn one_odd_host_does_not_stop_the_others(backend: &Arc<Backend>) {
    let story = Story::begin(backend, "odd-host", plot("Require", 3)).await;
    let before = story.look().await.facts();
    let odd = before.keys().next().expect("there must be machines").clone();
    set_odd(&story, &odd, json!(ODD)).await;
    story.wish_memory("16Gi").await;
    let others_are_done = |picture: &Picture| {
        let mut others = picture.machines.iter().filter(|(name, _)| **name != odd);
        others.all(|(_, machine)| machine.memory.as_deref() == Some("16Gi") && machine.updating.is_none())
            && says(picture, &odd)
            && says(picture, "bolted in")
    };
    let blocked = story.until("the others have moved", others_are_done).await;
    story.assert_same(&before, &blocked);
    assert_eq!(blocked.machines[&odd].memory.as_deref(), Some("8Gi"), "it is as it was");
    set_odd(&story, &odd, Value::Null).await;
    let after = story.until_memory("16Gi").await;
    story.assert_same(&before, &after);
    story.assert_deleted(0);
    story.end().await;
}

/// Under `Prefer` a machine would be deleted, and nothing could come in its place.
async fn what_a_new_host_could_not_be_either_is_no_reason_to_delete(backend: &Arc<Backend>) {
    let story = Story::begin(backend, "refusal-prefer", plot("Prefer", 2)).await;
    let before = story.look().await.facts();
    story.wish_memory(REFUSED).await;
    let blocked = story.until("it is said", |picture| says(picture, "no such hosts")).await;
    story.assert_same(&before, &blocked);
    story.wish_memory("16Gi").await;
    let after = story.until_memory("16Gi").await;
    story.assert_same(&before, &after);
    story.assert_deleted(0);
    story.end().await;
}

async fn until_event(story: &Story, reason: &str, words: &str) {
    let (events, began) = (Api::<Event>::namespaced(story.client.clone(), &story.name), Instant::now());
    let is_it = |event: &Event| {
        event.reason.as_deref() == Some(reason) && event.note.as_deref().is_some_and(|note| note.contains(words))
    };
    while !events.list(&ListParams::default()).await.expect("it must be listed").iter().any(is_it) {
        if began.elapsed() > LIMIT {
            story.fail(&format!("no event {reason} says {words}"));
        }
        sleep(EVERY).await;
    }
}

async fn set_odd(story: &Story, machine: &str, value: Value) {
    let patch = Patch::Merge(json!({ "spec": { "provisioningSeconds": value } }));
    let hosts = story.api::<SimMachine>();
    hosts.patch(machine, &PatchParams::default(), &patch).await.expect("the host must be patched");
}
