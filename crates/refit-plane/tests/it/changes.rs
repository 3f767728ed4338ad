//! Several changes in a row on the same machines. The first one proves little: objects have had one owner only.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::future::join_all;
use kube::ResourceExt;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PropagationPolicy};
use refit_api::cluster::{Machine, MachineDeployment, MachineSet};
use refit_api::owners::ORPHAN_FINALIZER;
use refit_plane::Backend;
use refit_plane::demo::Picture;
use refit_plane::sample::{VERSION, WORKERS, Workers as Sample};
use refit_sdk::Paths;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::story::{EVERY, LIMIT, Story};
use crate::stranger::{Reply, Stranger, until_it_may_end};

/// Tells all of them at the same time. Somebody else has started the controllers.
pub async fn tell(backend: &Arc<Backend>) {
    tokio::join!(
        the_version_is_changed_again_and_back(backend),
        a_version_that_is_taken_back_in_the_middle_ends(backend),
        a_deployment_that_leaves_its_machines_is_made_anew(backend),
        a_deployment_that_goes_while_it_is_busy_leaves_its_machines(backend),
        the_version_is_changed_after_the_memory(backend),
        the_failure_domain_is_changed_twice(backend),
    );
}

fn require(replicas: i32) -> Sample {
    Sample { replicas, policy: Some("Require"), ..Sample::default() }
}

async fn the_version_is_changed_again_and_back(backend: &Arc<Backend>) {
    let story = Story::begin(backend, "versions", require(2)).await;
    let before = story.look().await.facts();
    for version in ["v1.34.2", "v1.34.3", "v1.34.2", VERSION] {
        story.wish_version(version).await;
        let after = story.until_version(version).await;
        story.assert_same(&before, &after);
    }
    story.assert_deleted(0);
    story.end().await;
}

/// The extension is at work on the new version when the user takes it back: what has begun ends, and then the way goes back.
async fn a_version_that_is_taken_back_in_the_middle_ends(backend: &Arc<Backend>) {
    let story = Story::begin(backend, "version-taken-back", require(2)).await;
    let may_end = Arc::new(AtomicBool::new(false));
    let claims = Paths::none().machine("spec.version");
    let stranger = Stranger::register(&story, claims, until_it_may_end(&may_end)).await;
    let before = story.look().await.facts();
    story.wish_version("v1.34.2").await;
    let is_asked = |_: &Picture| stranger.calls("updatemachine") > 0;
    story.until("the extension is at work", is_asked).await;
    story.wish_version(VERSION).await;
    story.until_observed().await;
    may_end.store(true, Ordering::SeqCst);
    let is_back = |picture: &Picture| {
        let wanted = picture.machine_deployment.as_ref().and_then(|it| it.spec.template.spec.version.as_deref());
        picture.is_settled() && wanted == Some(VERSION)
    };
    let after = story.until("all are as before", is_back).await;
    story.assert_same(&before, &after);
    let machines = story.api::<Machine>().list(&ListParams::default()).await.expect("it must be listed");
    assert!(machines.iter().all(|it| it.spec.version.as_deref() == Some(VERSION)), "{}", story.name);
    story.assert_deleted(0);
    story.end().await;
}

async fn the_version_is_changed_after_the_memory(backend: &Arc<Backend>) {
    let story = Story::begin(backend, "memory-then-version", require(2)).await;
    let before = story.look().await.facts();
    story.wish_memory("16Gi").await;
    story.until_memory("16Gi").await;
    story.wish_version("v1.34.2").await;
    let after = story.until_version("v1.34.2").await;
    story.assert_same(&before, &after);
    story.assert_deleted(0);
    story.end().await;
}

/// `kubectl delete --cascade=orphan`, and the same MachineDeployment again: it adopts what was left.
async fn a_deployment_that_leaves_its_machines_is_made_anew(backend: &Arc<Backend>) {
    let story = Story::begin(backend, "left-and-adopted", require(2)).await;
    let before = story.look().await.facts();
    story.note("deletes the MachineDeployment and leaves its MachineSets".to_owned());
    let orphan = DeleteParams { propagation_policy: Some(PropagationPolicy::Orphan), ..DeleteParams::default() };
    story.api::<MachineDeployment>().delete(WORKERS, &orphan).await.expect("it must be deleted");
    until_set_free(&story).await;
    let left = story.look().await;
    story.assert_same(&before, &left);
    story.create().await;
    let after = story.until("the machines are adopted", Picture::is_settled).await;
    story.assert_same(&before, &after);
    let sets = story.api::<MachineSet>().list(&ListParams::default()).await.expect("it must be listed");
    let owners: Vec<usize> = sets.iter().map(|set| set.owner_references().len()).collect();
    assert_eq!(owners, [1], "{}: the MachineSet of before has its new owner, and there is no other", story.name);
    story.wish_version("v1.34.2").await;
    let after = story.until_version("v1.34.2").await;
    story.assert_same(&before, &after);
    story.assert_deleted(0);
    story.end().await;
}

/// The controllers are in the middle of a pass when the MachineSets are set free: nobody may take them back, as they would go with
/// the MachineDeployment then.
async fn a_deployment_that_goes_while_it_is_busy_leaves_its_machines(backend: &Arc<Backend>) {
    let story = Story::begin(backend, "left-while-busy", require(3)).await;
    let before = story.look().await.facts();
    for memory in ["16Gi", "32Gi", "64Gi"] {
        story.wish_memory(memory).await;
        let touch =
            |number: usize| story.patch(json!({ "metadata": { "annotations": { "touched": number.to_string() } } }));
        join_all((0..6).map(touch)).await;
        story.note("deletes the MachineDeployment and leaves its MachineSets".to_owned());
        let orphan = DeleteParams { propagation_policy: Some(PropagationPolicy::Orphan), ..DeleteParams::default() };
        story.api::<MachineDeployment>().delete(WORKERS, &orphan).await.expect("it must be deleted");
        until_set_free(&story).await;
        story.create().await;
        let after = story.until_memory("8Gi").await;
        story.assert_same(&before, &after);
    }
    story.assert_deleted(0);
    story.end().await;
}

/// Waits until the MachineDeployment is gone. Where no garbage collector runs, this sets its MachineSets free, as that would.
async fn until_set_free(story: &Story) {
    let (deployments, sets) = (story.api::<MachineDeployment>(), story.api::<MachineSet>());
    let began = Instant::now();
    while let Some(deployment) = deployments.get_opt(WORKERS).await.expect("it must be readable") {
        let all = sets.list(&ListParams::default()).await.expect("it must be listed");
        for set in all.iter().filter(|set| !set.owner_references().is_empty()) {
            let free = json!({ "metadata": { "ownerReferences": null } });
            let _ = sets.patch(&set.name_any(), &PatchParams::default(), &Patch::Merge(free)).await;
        }
        let finalizers: Vec<&String> = deployment.finalizers().iter().filter(|it| *it != ORPHAN_FINALIZER).collect();
        let version = deployment.resource_version();
        let done = json!({ "metadata": { "finalizers": finalizers, "resourceVersion": version } });
        // Somebody else may have been first.
        let _ = deployments.patch(WORKERS, &PatchParams::default(), &Patch::Merge(done)).await;
        if began.elapsed() > LIMIT {
            story.fail("the MachineDeployment does not go");
        }
        sleep(EVERY).await;
    }
}

/// The failure domain is a field of the Machine itself, as the version is. No example covers it, so a stranger does.
async fn the_failure_domain_is_changed_twice(backend: &Arc<Backend>) {
    let story = Story::begin(backend, "failure-domains", require(2)).await;
    let claims = Paths::none().machine("spec.failureDomain");
    let _stranger = Stranger::register(&story, claims, Box::new(|_, _| Reply::Usual)).await;
    let before = story.look().await.facts();
    for domain in [json!("rack-1"), json!("rack-2"), Value::Null] {
        story.patch(json!({ "spec": { "template": { "spec": { "failureDomain": domain } } } })).await;
        let after = story.until(&format!("all are in {domain}"), Picture::is_settled).await;
        story.assert_same(&before, &after);
        let machines = story.api::<Machine>().list(&ListParams::default()).await.expect("it must be listed");
        let domains: Vec<Option<&str>> = machines.iter().map(|it| it.spec.failure_domain.as_deref()).collect();
        assert_eq!(domains, [domain.as_str(); 2], "{}", story.name);
    }
    story.assert_deleted(0);
    story.end().await;
}
