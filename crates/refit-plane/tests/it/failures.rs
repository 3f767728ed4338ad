//! Updates that fail, and every way out of them; who is replaced meanwhile, and who is not.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::FutureExt;
use futures::future::join_all;
use kube::ResourceExt;
use kube::api::{ListParams, Patch, PatchParams};
use refit_api::cluster::{Machine, MachineSet};
use refit_api::conditions::get;
use refit_api::vocabulary::condition_types::OWNER_REMEDIATED;
use refit_api::vocabulary::refit::annotations::{FAILED_UPDATES, UPDATE_FAILED, UPDATE_PROGRESS, UPDATE_RETRIES};
use refit_plane::Backend;
use refit_plane::demo::Picture;
use refit_plane::sample::{self, Host, Workers as Sample};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::history::Object;
use crate::never_again::extensions::{UPDATE, health_check, processors, say_of_node};
use crate::story::{EVERY, LIMIT, Plot, Story};
use crate::stranger::{Reply, Stranger};

/// Tells all of them at the same time. Somebody else has started the controllers.
pub async fn tell(backend: &Arc<Backend>) {
    join_all([
        a_failing_update_can_be_left_backward_and_forward(backend).boxed_local(),
        after_a_pause_and_another_template_every_way_out_works(backend).boxed_local(),
        a_health_check_costs_no_machine_and_a_failure_stops_the_rollout(backend).boxed_local(),
        a_blocked_rollout_repairs_machines(backend).boxed_local(),
    ])
    .await;
}

/// What the extension says of updates.
#[derive(Default)]
struct Mood {
    fails: AtomicBool,
    lingers: AtomicBool,
}

impl Mood {
    fn set(&self, fails: bool, lingers: bool) {
        self.fails.store(fails, Ordering::SeqCst);
        self.lingers.store(lingers, Ordering::SeqCst);
    }
}

async fn register(story: &Story, mood: &Arc<Mood>) -> Stranger {
    let mood = Arc::clone(mood);
    let script = move |hook: &str, _: usize| match hook {
        UPDATE if mood.lingers.load(Ordering::SeqCst) => {
            Reply::With(json!({ "status": "Success", "retryAfterSeconds": 1 }))
        }
        UPDATE if mood.fails.load(Ordering::SeqCst) => {
            Reply::With(json!({ "status": "Failure", "message": "no disk" }))
        }
        _ => Reply::Usual,
    };
    Stranger::register(story, processors(), Box::new(script)).await
}

fn require(replicas: i32) -> Sample {
    Sample { replicas, policy: Some("Require"), ..Sample::default() }
}

/// The same, and an update that fails once has failed for good.
fn without_retries(replicas: i32) -> Plot {
    let deployment = json!({ "metadata": { "annotations": { UPDATE_RETRIES: "0" } } });
    Plot { deployment, ..require(replicas).into() }
}

fn host(cpus: i32) -> Host {
    Host { cpus, ..Host::default() }
}

/// All machines are to have so many processors, and nothing is going on. Strangers do not really change hosts.
async fn until_wanted(story: &Story, cpus: i32) -> Picture {
    let wanted = host(cpus).template();
    let is_wanted = |picture: &Picture| {
        let template =
            |it: &refit_api::cluster::MachineDeployment| it.spec.template.spec.infrastructure_ref.name.clone();
        picture.is_settled() && picture.machine_deployment.as_ref().map(template).as_ref() == Some(&wanted)
    };
    story.until("all are as wanted", is_wanted).await
}

/// A machine belongs to the MachineSet of these hosts.
async fn until_moved(story: &Story, cpus: i32) {
    let began = Instant::now();
    loop {
        let sets = story.api::<MachineSet>().list(&ListParams::default()).await.expect("it must be listed");
        let machines = story.api::<Machine>().list(&ListParams::default()).await.expect("it must be listed");
        let is_of = |set: &&MachineSet| set.spec.template.spec.infrastructure_ref.name == host(cpus).template();
        let owner = sets.iter().find(is_of).map(ResourceExt::name_any);
        let is_there = |it: &Machine| it.owner_references().iter().any(|it| Some(&it.name) == owner.as_ref());
        if machines.iter().any(is_there) {
            return;
        }
        if began.elapsed() > LIMIT {
            story.fail("no machine takes the other target");
        }
        sleep(EVERY).await;
    }
}

async fn annotate_machine(story: &Story, name: &str, annotations: Value) {
    story.note(format!("annotates {name} with {annotations}"));
    let patch = Patch::Merge(json!({ "metadata": { "annotations": annotations } }));
    story.api::<Machine>().patch(name, &PatchParams::default(), &patch).await.expect("it must be patched");
}

/// Without a word about retries: between two tries, the machine takes another target.
async fn a_failing_update_can_be_left_backward_and_forward(backend: &Arc<Backend>) {
    let story = Story::begin(backend, "failing-left", require(1)).await;
    let mood = Arc::new(Mood::default());
    let _stranger = register(&story, &mood).await;
    let before = story.look().await.facts();
    for (bad, good) in [(4, 2), (6, 8)] {
        mood.set(true, false);
        story.wish(&host(bad)).await;
        until_moved(&story, bad).await;
        until_tried(&story).await;
        story.wish(&host(good)).await;
        until_moved(&story, good).await;
        mood.set(false, false);
        let after = until_wanted(&story, good).await;
        story.assert_same(&before, &after);
    }
    story.assert_deleted(0);
    story.end().await;
}

/// The update fails while the rollout is paused and something else is wanted.
async fn after_a_pause_and_another_template_every_way_out_works(backend: &Arc<Backend>) {
    let story = Story::begin(backend, "failed-paused", without_retries(2)).await;
    let mood = Arc::new(Mood::default());
    let _stranger = register(&story, &mood).await;
    let before = story.look().await.facts();
    for (bad, good, is_retried) in [(4, 6, false), (8, 10, true)] {
        mood.set(true, true);
        story.wish(&host(bad)).await;
        until_moved(&story, bad).await;
        story.patch(json!({ "spec": { "paused": true } })).await;
        story.wish(&host(good)).await;
        mood.set(true, false);
        let failed = until_failed(&story).await;
        if is_retried {
            mood.set(false, false);
            annotate_machine(&story, &failed, json!({ UPDATE_FAILED: null })).await;
            let is_idle = |picture: &Picture| picture.machines.values().all(|it| it.updating.is_none() && it.is_ready);
            story.until("it is done after another try", is_idle).await;
        }
        // What has failed is not tried again, and what comes next waits until it is seen to have begun.
        mood.set(true, true);
        story.patch(json!({ "spec": { "paused": false } })).await;
        until_moved(&story, good).await;
        mood.set(false, false);
        let after = until_wanted(&story, good).await;
        story.assert_same(&before, &after);
    }
    story.assert_deleted(0);
    story.end().await;
}

/// The extension has answered that the update failed, and it may be tried again.
async fn until_tried(story: &Story) {
    let is_over = |it: &Machine| {
        let progress = it.annotations().get(UPDATE_PROGRESS).is_some_and(|it| it.contains(r#""over":true"#));
        progress || it.annotations().contains_key(UPDATE_FAILED)
    };
    let began = Instant::now();
    loop {
        let machines = story.api::<Machine>().list(&ListParams::default()).await.expect("it must be listed");
        if machines.iter().any(is_over) {
            return;
        }
        if began.elapsed() > LIMIT {
            story.fail("no try has failed");
        }
        sleep(EVERY).await;
    }
}

/// A machine whose update has failed for good and is not tried again.
async fn until_failed(story: &Story) -> String {
    let began = Instant::now();
    loop {
        let machines = story.api::<Machine>().list(&ListParams::default()).await.expect("it must be listed");
        if let Some(failed) = machines.iter().find(|it| it.annotations().contains_key(UPDATE_FAILED)) {
            return failed.name_any();
        }
        if began.elapsed() > LIMIT {
            story.fail("no update has failed for good");
        }
        sleep(EVERY).await;
    }
}

/// Three of three hosts were gone within seconds: each deletion made room for the next update that failed.
async fn a_health_check_costs_no_machine_and_a_failure_stops_the_rollout(backend: &Arc<Backend>) {
    let story = Story::begin(backend, "failed-unhealthy", without_retries(3)).await;
    let mood = Arc::new(Mood::default());
    let stranger = register(&story, &mood).await;
    sample::apply(&story.client, &health_check(&story.name)).await.expect("a health check must be accepted");
    let mut before = story.look().await.facts();
    mood.set(true, false);
    story.wish(&host(4)).await;
    let failed = until_failed(&story).await;
    say_of_node(&story, &failed, "False").await;
    until_kept(&story, &failed).await;
    let kept = story.until("the rollout is blocked", |picture| picture.blocked().is_some()).await;
    story.assert_same(&before, &kept);
    story.assert_deleted(0);
    story.remediate(&failed).await;
    before.remove(&failed);
    let is_stopped = |picture: &Picture| {
        let says_so = picture.blocked().is_some_and(|words| words.contains("and no other begins"));
        says_so && picture.machines.len() == 3 && !picture.machines.contains_key(&failed)
    };
    story.until("the failure is on record", is_stopped).await;
    assert_eq!(stranger.calls(UPDATE), 1, "no other update begins");
    mood.set(false, false);
    forget_failures(&story).await;
    let after = until_wanted(&story, 4).await;
    story.assert_same(&before, &after);
    story.assert_deleted(1);
    story.end().await;
}

async fn until_kept(story: &Story, name: &str) {
    let is_kept = |object: &Object| match object {
        Object::Machine(it) => {
            let told = get(&it.status.conditions, OWNER_REMEDIATED);
            it.name_any() == name && told.is_some_and(|told| told.message.contains("its update failed"))
        }
        _ => false,
    };
    story.until_seen("it is said that the machine stays", is_kept).await;
}

/// The user lets the rollout go on.
async fn forget_failures(story: &Story) {
    let sets = story.api::<MachineSet>().list(&ListParams::default()).await.expect("it must be listed");
    let patch = Patch::Merge(json!({ "metadata": { "annotations": { FAILED_UPDATES: null } } }));
    for set in sets.iter().filter(|set| set.annotations().contains_key(FAILED_UPDATES)) {
        let patched = story.api::<MachineSet>().patch(&set.name_any(), &PatchParams::default(), &patch).await;
        patched.expect("it must be patched");
    }
}

/// Nobody covers the change and machines must stay: those that are sick are repaired all the same.
async fn a_blocked_rollout_repairs_machines(backend: &Arc<Backend>) {
    let plot = Plot { is_covered: false, ..require(2).into() };
    let story = Story::begin(backend, "blocked-repair", plot).await;
    sample::apply(&story.client, &health_check(&story.name)).await.expect("a health check must be accepted");
    story.wish(&host(4)).await;
    let blocked = story.until("it is blocked", |picture| picture.blocked().is_some()).await;
    let sick = blocked.machines.keys().next().cloned().expect("there must be machines");
    story.asks_to_replace(&sick);
    say_of_node(&story, &sick, "False").await;
    let is_repaired = |picture: &Picture| {
        let ready = picture.machines.values().filter(|machine| machine.is_ready).count();
        ready == 2 && !picture.machines.contains_key(&sick)
    };
    story.until("another machine takes its place", is_repaired).await;
    story.wish(&host(2)).await;
    until_wanted(&story, 2).await;
    story.assert_deleted(1);
    story.end().await;
}
