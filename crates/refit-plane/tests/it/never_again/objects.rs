//! Objects that are refused, missing, or have less in them than most.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube::{Client, ResourceExt};
use refit_api::vocabulary::annotations::{MOVE_MACHINES_TO_MACHINESET, UPDATE_IN_PROGRESS};
use refit_plane::Backend;
use refit_plane::demo::Picture;
use refit_plane::sample::Host;
use refit_provider_sim::kinds::{SimMachine, SimMachineSpec, SimMachineTemplate};
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::require;
use crate::history::Object;
use crate::story::{EVERY, LIMIT, Plot, Story};

/// The infrastructure provider refuses hosts of this memory, and nobody knows before it is asked.
pub const REFUSED: &str = "13Gi";
/// It does not change the memory of hosts that take so long to provision, and would make new ones.
pub const ODD: i32 = 77;
/// How long something that must not happen is waited for.
const NOT_YET: Duration = Duration::from_millis(1500);

/// 6.
pub async fn a_spec_that_is_refused_moves_no_machine(backend: &Arc<Backend>) {
    let story = Story::begin(backend, "refused", require(2)).await;
    let before = story.look().await.facts();
    story.wish_memory(REFUSED).await;
    let is_told_to_move = |object: &Object| matches!(object, Object::Set(it) if it.annotations().contains_key(MOVE_MACHINES_TO_MACHINESET) && it.spec.replicas < Some(2));
    story.until_seen("machines are told to move", is_told_to_move).await;
    sleep(NOT_YET).await;
    let waiting = story.look().await;
    story.assert_same(&before, &waiting);
    story.wish_memory("16Gi").await;
    let after = story.until_memory("16Gi").await;
    story.assert_same(&before, &after);
    story.assert_deleted(0);
    story.end().await;
    let is_parked = |object: &Object| matches!(object, Object::Machine(it) if it.annotations().contains_key(UPDATE_IN_PROGRESS) && is_of(&story, it, REFUSED));
    assert!(!story.history.entries().iter().any(|entry| is_parked(&entry.object)), "no machine may be on its way");
}

/// Whether a machine belongs to the MachineSet of hosts with this memory.
fn is_of(story: &Story, machine: &refit_api::cluster::Machine, memory: &str) -> bool {
    let template = Host { memory: memory.to_owned(), ..Host::default() }.template();
    story.history.entries().iter().any(|entry| match &entry.object {
        Object::Set(set) => {
            set.spec.template.spec.infrastructure_ref.name == template
                && machine.owner_references().iter().any(|owner| owner.name == set.name_any())
        }
        _ => false,
    })
}

/// As an admission webhook of the provider would: templates pass, hosts do not. To be done before anybody watches: servers
/// end the watches of a kind whose definition changes.
pub async fn refuse_memory(backend: &Backend) {
    let client = backend.client().await.expect("there must be a client");
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let name = "simmachines.infrastructure.cluster.x-k8s.io";
    let rule =
        json!({ "rule": format!("!has(self.memory) || self.memory != '{REFUSED}'"), "message": "no such hosts" });
    let is_odd = format!("has(oldSelf.provisioningSeconds) && oldSelf.provisioningSeconds == {ODD}");
    let odd = json!({
        "rule": format!("!({is_odd}) || self.memory == oldSelf.memory"),
        "message": "the memory of this host is bolted in",
    });
    let path = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/x-kubernetes-validations";
    let patch = json!([{ "op": "add", "path": path, "value": [rule, odd] }]);
    let patch = Patch::Json::<()>(serde_json::from_value(patch).expect("it must be a patch"));
    definitions.patch(name, &PatchParams::default(), &patch).await.expect("the rule must be accepted");
    let began = Instant::now();
    while is_accepted(&client).await {
        assert!(began.elapsed() < LIMIT, "the rule must hold");
        sleep(EVERY).await;
    }
}

async fn is_accepted(client: &Client) -> bool {
    let spec = SimMachineSpec { memory: Some(REFUSED.to_owned()), ..SimMachineSpec::default() };
    let mut host = SimMachine { spec, ..SimMachine::default() };
    host.metadata.name = Some("asked".to_owned());
    let params = PostParams { dry_run: true, ..PostParams::default() };
    Api::<SimMachine>::namespaced(client.clone(), "default").create(&params, &host).await.is_ok()
}

/// 7.
pub async fn a_deleted_template_does_not_block_scaling(backend: &Arc<Backend>) {
    let story = Story::begin(backend, "deleted-template", require(2)).await;
    let before = story.look().await.facts();
    let old = Host::default().template();
    story.api::<SimMachineTemplate>().delete(&old, &DeleteParams::default()).await.expect("it must be deleted");
    story.wish_memory("16Gi").await;
    story.patch(json!({ "spec": { "replicas": 4 } })).await;
    let is_ready = |picture: &Picture| picture.machines.values().filter(|machine| machine.is_ready).count() == 4;
    let grown = story.until("there are four machines", is_ready).await;
    story.assert_same(&before, &grown);
    // Whoever deletes what machines were made from can put it back.
    let template = story.plot().template(&Host::default());
    refit_plane::sample::apply(&story.client, &template).await.expect("it must be put back");
    let after = story.until_memory("16Gi").await;
    story.assert_same(&before, &after);
    story.assert_deleted(0);
    story.end().await;
}

/// 9.
pub async fn machines_without_bootstrap_and_version_finish(backend: &Arc<Backend>) {
    let bootstrap = json!({ "configRef": null, "dataSecretName": "given" });
    let machine = json!({ "bootstrap": bootstrap, "version": null });
    let deployment = json!({ "spec": { "template": { "spec": machine } } });
    let story = Story::begin(backend, "bare", Plot { deployment, ..require(2).into() }).await;
    let before = story.look().await.facts();
    story.wish_memory("16Gi").await;
    let after = story.until_memory("16Gi").await;
    story.assert_same(&before, &after);
    story.assert_deleted(0);
    story.rest().await;
}
