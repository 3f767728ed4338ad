//! What is not known is no reason to replace a machine: a template that is gone, an extension that cannot be reached.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::FutureExt;
use futures::future::join_all;
use kube::api::DeleteParams;
use refit_plane::Backend;
use refit_plane::demo::{MachineView, Picture};
use refit_plane::sample::{Host, Workers as Sample};
use refit_provider_sim::kinds::SimMachineTemplate;
use refit_sdk::Paths;

use crate::story::Story;
use crate::stranger::{Reply, Stranger, until_it_may_end};

/// Tells all of them at the same time. Somebody else has started the controllers.
pub async fn tell(backend: &Arc<Backend>) {
    join_all([
        a_template_that_is_deleted_replaces_nothing(backend).boxed_local(),
        an_extension_that_cannot_be_reached_replaces_nothing(backend).boxed_local(),
        an_extension_that_is_installed_anew_goes_on_in_place(backend).boxed_local(),
        an_extension_that_gets_another_name_can_be_left(backend).boxed_local(),
        an_extension_that_comes_late_updates_in_place(backend).boxed_local(),
    ])
    .await;
}

/// Machines may be replaced, if nobody covers a change.
fn prefer(replicas: i32) -> Sample {
    Sample { replicas, policy: Some("Prefer"), ..Sample::default() }
}

fn processors() -> Paths {
    Paths::none().infrastructure_of("SimMachine", "spec.cpus")
}

fn four_processors() -> Host {
    Host { cpus: 4, ..Host::default() }
}

/// All machines are to have four processors, and are done.
async fn until_four_processors(story: &Story) -> Picture {
    let wanted = four_processors();
    story.until("all are to have four processors", |picture| picture.is_settled() && wants(picture, &wanted)).await
}

/// The MachineDeployment is to have these hosts.
fn wants(picture: &Picture, host: &Host) -> bool {
    let template = |it: &refit_api::cluster::MachineDeployment| it.spec.template.spec.infrastructure_ref.name.clone();
    picture.machine_deployment.as_ref().map(template) == Some(host.template())
}

/// What the rollouts wait for, in their own words.
fn says(picture: &Picture, words: &str) -> bool {
    let mut messages = picture.rollouts.iter().filter_map(|rollout| rollout.status.message.as_deref());
    messages.any(|message| message.contains(words)) || picture.blocked().is_some_and(|it| it.contains(words))
}

/// A GitOps tool prunes the old template in the moment in which it applies the new one.
async fn a_template_that_is_deleted_replaces_nothing(backend: &Arc<Backend>) {
    let story = Story::begin(backend, "pruned", prefer(3)).await;
    let before = story.look().await.facts();
    let old = Host::default().template();
    story.api::<SimMachineTemplate>().delete(&old, &DeleteParams::default()).await.expect("it must be deleted");
    story.wish_memory("16Gi").await;
    let after = story.until_memory("16Gi").await;
    story.assert_same(&before, &after);
    let middle = Host { memory: "16Gi".to_owned(), ..Host::default() }.template();
    story.api::<SimMachineTemplate>().delete(&middle, &DeleteParams::default()).await.expect("it must be deleted");
    story.wish_memory("32Gi").await;
    let after = story.until_memory("32Gi").await;
    story.assert_same(&before, &after);
    story.assert_deleted(0);
    story.end().await;
}

/// A wrong certificate in an ExtensionConfig: it is there, and nobody knows what it covers.
async fn an_extension_that_cannot_be_reached_replaces_nothing(backend: &Arc<Backend>) {
    let story = Story::begin(backend, "wrong-ca", prefer(2)).await;
    let before = story.look().await.facts();
    let stranger = Stranger::register_with_wrong_ca(&story, processors(), Box::new(|_, _| Reply::Usual)).await;
    story.wish(&four_processors()).await;
    let words = format!("ExtensionConfig {}: is registered", stranger.name());
    let waiting = story.until("it says whom it waits for", |picture| says(picture, &words)).await;
    story.assert_same(&before, &waiting);
    assert!(waiting.machines.values().all(|machine: &MachineView| !machine.is_deleting));
    stranger.mend_ca(&story).await;
    let after = until_four_processors(&story).await;
    story.assert_same(&before, &after);
    story.assert_deleted(0);
    story.end().await;
}

/// An ExtensionConfig is deleted in the middle of a rollout and made again. One machine is being updated, the others wait.
async fn an_extension_that_is_installed_anew_goes_on_in_place(backend: &Arc<Backend>) {
    let story = Story::begin(backend, "reinstalled", prefer(3)).await;
    let before = story.look().await.facts();
    let is_done = Arc::new(AtomicBool::new(false));
    let stranger = Stranger::register(&story, processors(), until_it_may_end(&is_done)).await;
    story.wish(&four_processors()).await;
    story.until_begun().await;
    stranger.uninstall(&story).await;
    let misses =
        |machine: &MachineView| machine.updating.as_ref().is_some_and(|it| it.contains("not registered any more"));
    let is_missed =
        |picture: &Picture| says(picture, "is not replaced by itself") && picture.machines.values().any(misses);
    let waiting = story.until("it says whom it waits for", is_missed).await;
    story.assert_same(&before, &waiting);
    is_done.store(true, Ordering::SeqCst);
    stranger.install(&story).await;
    let after = until_four_processors(&story).await;
    story.assert_same(&before, &after);
    story.assert_deleted(0);
    story.end().await;
}

/// In the middle of an update, the extension is installed under another name. The plan of the machine names one that is gone.
async fn an_extension_that_gets_another_name_can_be_left(backend: &Arc<Backend>) {
    let sample = Sample { replicas: 2, policy: Some("Require"), ..Sample::default() };
    let story = Story::begin(backend, "renamed", sample).await;
    let before = story.look().await.facts();
    let is_done = Arc::new(AtomicBool::new(false));
    let mut stranger = Stranger::register(&story, processors(), until_it_may_end(&is_done)).await;
    for (name, next) in [("second", 2), ("third", 6)] {
        is_done.store(false, Ordering::SeqCst);
        story.wish(&four_processors()).await;
        let is_updating = |picture: &Picture| picture.machines.values().any(|machine| machine.updating.is_some());
        story.until("a machine is updated", is_updating).await;
        let gone =
            format!("waits for extension {}, which is not registered any more: register it again", stranger.name());
        stranger.install_as(&story, name).await;
        is_done.store(true, Ordering::SeqCst);
        let is_told = |picture: &Picture| picture.blocked().is_some_and(|it| it.contains(&gone));
        let blocked = story.until("it says which extension is gone", is_told).await;
        story.assert_same(&before, &blocked);
        assert!(blocked.blocked().is_some_and(|it| it.contains("another extension changes spec.template.spec.cpus")));
        let host = Host { cpus: next, ..Host::default() };
        story.wish(&host).await;
        let after = story.until("another target frees the machine", |it| it.is_settled() && wants(it, &host)).await;
        story.assert_same(&before, &after);
    }
    story.assert_deleted(0);
    story.end().await;
}

/// The change was made before its extension was installed.
async fn an_extension_that_comes_late_updates_in_place(backend: &Arc<Backend>) {
    let story = Story::begin(backend, "late", Sample { replace_after: Some("1h"), ..prefer(2) }).await;
    let before = story.look().await.facts();
    story.wish(&four_processors()).await;
    let waiting = story.until("it says when", |picture| says(picture, "machines are replaced at ")).await;
    story.assert_same(&before, &waiting);
    let _stranger = Stranger::register(&story, processors(), Box::new(|_, _| Reply::Usual)).await;
    let after = until_four_processors(&story).await;
    story.assert_same(&before, &after);
    story.assert_deleted(0);
    story.end().await;
}
