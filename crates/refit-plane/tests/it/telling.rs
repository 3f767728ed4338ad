//! What people read of a rollout: that there was one, what was decided and why, and which machines went for it.

use std::collections::BTreeSet;
use std::sync::Arc;

use kube::ResourceExt;
use kube::api::{Api, ListParams};
use refit_api::cluster::Machine;
use refit_api::rollout::{MachineRollout, RolloutDecision, RolloutState};
use refit_plane::Backend;
use refit_plane::demo::Picture;
use refit_plane::sample::{Host, Workers as Sample};
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::history::Object;
use crate::story::{EVERY, LIMIT, Plot, Story};

/// Tells all of them at the same time. Somebody else has started the controllers.
pub async fn tell(backend: &Arc<Backend>) {
    tokio::join!(
        every_passage_of_machines_is_a_rollout(backend),
        every_machine_that_goes_is_named_with_why(backend),
        linux_does_not_become_windows_in_place(backend),
        in_place_makes_no_spare_machine(backend),
        what_keeps_a_rollout_is_told(backend),
    );
}

fn workers(replicas: i32, policy: &'static str) -> Sample {
    Sample { replicas, policy: Some(policy), ..Sample::default() }
}

/// The MachineRollouts, in the order of their numbers, once they are as many and closed.
async fn closed_rollouts(story: &Story, count: usize) -> Vec<MachineRollout> {
    let (api, began) = (story.api::<MachineRollout>(), Instant::now());
    loop {
        let mut all = api.list(&ListParams::default()).await.expect("they must be listed").items;
        all.sort_by_key(|it| it.spec.number);
        let is_closed = all.iter().all(|it| it.status.completion_time.is_some());
        if all.len() == count && is_closed {
            return all;
        }
        if began.elapsed() > LIMIT || all.len() > count {
            let seen: Vec<_> = all.into_iter().map(|it| (it.spec, it.status)).collect();
            story.fail(&format!("{count} closed rollouts are not {seen:#?}"));
        }
        sleep(EVERY).await;
    }
}

/// 9: a change, the same taken back, and a restart.
async fn every_passage_of_machines_is_a_rollout(backend: &Arc<Backend>) {
    let story = Story::begin(backend, "passages", Plot { is_covered: false, ..workers(1, "Prefer").into() }).await;
    story.wish_memory("16Gi").await;
    story.until_memory("16Gi").await;
    closed_rollouts(&story, 1).await;
    story.wish_memory("8Gi").await;
    story.until_memory("8Gi").await;
    closed_rollouts(&story, 2).await;
    let before = story.look().await.facts();
    let now = jiff::Timestamp::now();
    // As `clusterctl alpha rollout restart` does. It has whole seconds, and so have the ages of MachineSets.
    let after = jiff::Timestamp::from_second(now.as_second()).expect("it must be a time");
    sleep(std::time::Duration::from_secs(2)).await;
    story.patch(json!({ "spec": { "rollout": { "after": after.to_string() } } })).await;
    let is_another = |picture: &Picture| picture.facts().keys().all(|name| !before.contains_key(name));
    story.until("the machine is another one", |picture| picture.is_settled() && is_another(picture)).await;
    let rollouts = closed_rollouts(&story, 3).await;
    let decided: Vec<_> = rollouts.iter().map(|it| (it.status.decision, it.status.state)).collect();
    let completed = Some(RolloutState::Completed);
    let (in_place, replaced) = (Some(RolloutDecision::InPlace), Some(RolloutDecision::Replace));
    assert_eq!(decided, [(in_place, completed), (in_place, completed), (replaced, completed)]);
    assert!(rollouts[..2].iter().all(|it| it.status.changes.len() == 1 && it.status.deletions.is_empty()));
    let why = rollouts[2].status.reason.clone().unwrap_or_default();
    assert!(why.contains("spec.rollout.after"), "{why}");
    assert_eq!(rollouts[2].status.deleted, Some(1));
    story.end().await;
}

/// 9, and I8: on record before they go.
async fn every_machine_that_goes_is_named_with_why(backend: &Arc<Backend>) {
    let story = Story::begin(backend, "named", Plot { is_covered: false, ..workers(3, "Never").into() }).await;
    let before: BTreeSet<String> = story.look().await.facts().into_keys().collect();
    story.wish_memory("16Gi").await;
    story.until_memory("16Gi").await;
    let [rollout] = &closed_rollouts(&story, 1).await[..] else { panic!("there is one") };
    let status = &rollout.status;
    assert_eq!(status.decision, Some(RolloutDecision::Replace), "{status:#?}");
    assert_eq!(
        status.changes.iter().map(|change| change.path.as_str()).collect::<Vec<_>>(),
        ["spec.template.spec.memory"]
    );
    let gone: BTreeSet<String> = status.deletions.iter().map(|it| it.machine.clone()).collect();
    assert_eq!((gone, status.deleted), (before, Some(3)));
    let why = "it is replaced: the policy is to replace machines";
    assert!(status.deletions.iter().all(|it| it.reason == why), "{:?}", status.deletions);
    story.assert_deleted(3);
    story.end().await;
}

/// 11: example 3 of the proposal. The version extension covers the version, and not another system.
async fn linux_does_not_become_windows_in_place(backend: &Arc<Backend>) {
    let story = Story::begin(backend, "windows", workers(2, "Require")).await;
    let before = story.look().await.facts();
    let windows = Host { image: "windows-1.35".to_owned(), ..Host::default() };
    story.wish(&windows).await;
    story.patch(json!({ "spec": { "template": { "spec": { "version": "v1.35.0" } } } })).await;
    let names_image = |picture: &Picture| picture.blocked().is_some_and(|why| why.contains("spec.image"));
    let blocked = story.until("it is blocked on the image", names_image).await;
    assert_eq!(blocked.facts(), before, "nothing is touched");
    // The image that belongs to the version is covered with it.
    story.wish(&Host { image: "worker-1.35".to_owned(), ..Host::default() }).await;
    let is_new = |picture: &Picture| {
        picture.is_settled() && picture.machines.values().all(|it| it.image.as_deref() == Some("worker-1.35"))
    };
    let after = story.until("all have the image of the version", is_new).await;
    story.assert_same(&before, &after);
    story.assert_deleted(0);
    story.end().await;
}

/// 10: on a server without refit's admission nobody fills in the bounds.
async fn in_place_makes_no_spare_machine(backend: &Arc<Backend>) {
    let strategy = json!({ "type": "InPlace", "rollingUpdate": null });
    let mut plot: Plot = Sample { policy: None, ..workers(2, "Require") }.into();
    plot.deployment = json!({ "spec": { "rollout": { "strategy": strategy } } });
    let story = Story::begin(backend, "no-spare", plot).await;
    let before = story.look().await.facts();
    story.wish_memory("16Gi").await;
    let after = story.until_memory("16Gi").await;
    story.assert_same(&before, &after);
    let seen = story.history.entries();
    let machines: BTreeSet<String> = seen
        .iter()
        .filter_map(|entry| match &entry.object {
            Object::Machine(it) => Some(it.name_any()),
            _ => None,
        })
        .collect();
    assert_eq!(machines.len(), 2, "no machine was made for it: {machines:?}");
    story.end().await;
}

/// What keeps a rollout is on the MachineDeployment and in its MachineRollout: here, a template that is not there.
async fn what_keeps_a_rollout_is_told(backend: &Arc<Backend>) {
    let story = Story::begin(backend, "reasons", workers(1, "Require")).await;
    let before = story.look().await.facts();
    let missing = json!({ "infrastructureRef": { "name": "not-there" } });
    story.patch(json!({ "spec": { "template": { "spec": missing } } })).await;
    let says = |picture: &Picture| {
        let deployment = picture.machine_deployment.as_ref();
        let conditions = deployment.map(|it| it.status.conditions.clone()).unwrap_or_default();
        let condition = conditions.iter().find(|it| it.type_ == "refit.dev/RolloutBlocked");
        let on_deployment = condition.is_some_and(|it| it.message.contains("not-there"));
        let message = |it: &MachineRollout| it.status.message.clone().unwrap_or_default();
        on_deployment && picture.rollouts.iter().any(|it| message(it).contains("not-there"))
    };
    story.until("the template that is missing is named", says).await;
    story.wish_memory("16Gi").await;
    let after = story.until_memory("16Gi").await;
    story.assert_same(&before, &after);
    let machines: Api<Machine> = story.api();
    assert_eq!(machines.list(&ListParams::default()).await.expect("they must be listed").items.len(), 1);
    story.end().await;
}
