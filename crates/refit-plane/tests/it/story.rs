//! One MachineDeployment in a namespace of its own, what its user does, and what is expected of it.

mod end;
mod record;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Client, Resource};
use refit_api::cluster::{Machine, MachineDeployment};
use refit_api::resource::CustomKind;
use refit_api::vocabulary::annotations::{REMEDIATE_MACHINE, UPDATE_IN_PROGRESS};
use refit_api::vocabulary::refit::annotations::{KEEP_ORIGINALS, REPLACE_AFTER};
use refit_plan::check::Rules;
use refit_plane::Backend;
use refit_plane::demo::{Facts, Picture};
use refit_plane::sample::{self, CLUSTER, WORKERS};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use crate::history::{History, Object};
use crate::merge::merge;
use record::Record;

/// How long one step may take on a machine that does much else.
pub const LIMIT: Duration = Duration::from_secs(240);
/// How often it is looked at what there is, as long as something happens, and otherwise.
pub const EVERY: Duration = Duration::from_millis(300);
const AT_LEAST_EVERY: Duration = Duration::from_secs(1);

/// What is special about a story.
#[derive(Debug, Clone)]
pub struct Plot {
    pub sample: sample::Workers,
    pub keep_originals: bool,
    /// Whether extensions cover every change.
    pub is_covered: bool,
    /// More fields of the hosts, the same in every template.
    pub host: Value,
    /// Other fields of the MachineDeployment.
    pub deployment: Value,
}

pub struct Story {
    pub name: String,
    pub client: Client,
    pub history: History,
    backend: Arc<Backend>,
    plot: Plot,
    record: Record,
    settled_at: u64,
}

impl From<sample::Workers> for Plot {
    fn from(sample: sample::Workers) -> Self {
        Self { sample, keep_originals: true, is_covered: true, host: json!({}), deployment: json!({}) }
    }
}

impl Plot {
    /// What the story is held to.
    fn rules(&self) -> Rules {
        Rules {
            on_delete: false,
            is_paused: false,
            is_covered: self.is_covered,
            is_known: true,
            is_required: self.sample.policy == Some("Require"),
            may_update: self.sample.policy != Some("Never"),
            keep_originals: self.keep_originals,
        }
    }

    fn objects(&self) -> Vec<Value> {
        self.sample.objects().into_iter().map(|object| self.with_own_fields(object)).collect()
    }

    /// The template of these hosts.
    pub fn template(&self, host: &sample::Host) -> Value {
        self.with_own_fields(self.sample.machine_template(host))
    }

    fn with_own_fields(&self, mut object: Value) -> Value {
        match object["kind"].as_str() {
            Some("SimMachineTemplate") => merge(&mut object["spec"]["template"]["spec"], &self.host),
            Some("MachineDeployment") => {
                merge(&mut object, &self.deployment);
                let keep =
                    json!({ "metadata": { "annotations": { KEEP_ORIGINALS: self.keep_originals.to_string() } } });
                merge(&mut object, &keep);
                if !self.is_covered {
                    // No extension is going to come.
                    merge(&mut object, &json!({ "metadata": { "annotations": { REPLACE_AFTER: "0s" } } }));
                }
            }
            _ => {}
        }
        object
    }
}

impl Story {
    /// The machines of `plot` are there.
    pub async fn begin(backend: &Arc<Backend>, name: &str, plot: impl Into<Plot>) -> Self {
        let mut story = Self::set_up(backend, name, plot).await;
        story.create().await;
        story.until("the machines are there", Picture::is_settled).await;
        let machines = story.api::<Machine>().list_metadata(&ListParams::default()).await;
        let version = machines.expect("it must be listed").metadata.resource_version.unwrap_or_default();
        story.settled_at = version.parse().expect("a version must be a number");
        story.history.watch_nodes(story.workload());
        story
    }

    /// There is a namespace, and somebody watches it.
    pub async fn set_up(backend: &Arc<Backend>, name: &str, plot: impl Into<Plot>) -> Self {
        let (client, mut plot) = (backend.client().await.expect("there must be a client"), plot.into());
        plot.sample.namespace = name.to_owned();
        let mut namespace = Namespace::default();
        namespace.metadata.name = Some(name.to_owned());
        let namespaces: Api<Namespace> = Api::all(client.clone());
        namespaces.create(&PostParams::default(), &namespace).await.expect("a namespace must be made");
        let (history, record) = (History::begin(&client, name), Record::default());
        Self {
            name: name.to_owned(),
            client,
            history,
            backend: Arc::clone(backend),
            plot,
            record,
            settled_at: u64::MAX,
        }
    }

    /// The user makes all objects.
    pub async fn create(&self) {
        self.note(format!("creates {} machines", self.plot.sample.replicas));
        for object in self.plot.objects() {
            sample::apply(&self.client, &object).await.expect("the sample must be accepted");
        }
    }

    pub fn plot(&self) -> &Plot {
        &self.plot
    }

    /// The version of the server when the machines were there.
    pub fn settled_at(&self) -> u64 {
        self.settled_at
    }

    pub fn workload(&self) -> Client {
        self.backend.workloads().client(&self.name, CLUSTER)
    }

    pub async fn look(&self) -> Picture {
        Picture::take(&self.client, &self.workload(), &self.name).await.expect("it must be readable")
    }

    /// Waits until it has come to this.
    pub async fn until(&self, what: &str, is_reached: impl Fn(&Picture) -> bool) -> Picture {
        let began = Instant::now();
        loop {
            let picture = self.look().await;
            if is_reached(&picture) {
                return picture;
            }
            if began.elapsed() > LIMIT {
                self.fail(&format!("it takes too long until {what}"));
            }
            sleep(EVERY).await;
            let _ = timeout(AT_LEAST_EVERY, self.history.until_news()).await;
        }
    }

    /// Waits for a state that may be over soon: every one is looked at.
    pub async fn until_seen(&self, what: &str, is_it: impl Fn(&Object) -> bool) {
        if timeout(LIMIT, self.history.until_seen(is_it)).await.is_err() {
            self.fail(&format!("it takes too long until {what}"));
        }
    }

    /// The user wants this much memory.
    pub async fn wish_memory(&self, memory: &str) {
        self.wish(&sample::Host { memory: memory.to_owned(), ..self.plot.sample.host.clone() }).await;
    }

    /// The user wants these hosts.
    pub async fn wish(&self, host: &sample::Host) {
        sample::apply(&self.client, &self.plot.template(host)).await.expect("a template must be accepted");
        let reference = json!({ "infrastructureRef": { "name": host.template() } });
        self.patch(json!({ "spec": { "template": { "spec": reference } } })).await;
    }

    /// The user wants this Kubernetes version.
    pub async fn wish_version(&self, version: &str) {
        self.patch(json!({ "spec": { "template": { "spec": { "version": version } } } })).await;
    }

    /// The user changes the MachineDeployment.
    pub async fn patch(&self, patch: Value) {
        self.note(format!("patches {patch}"));
        let api = self.api::<MachineDeployment>();
        api.patch(WORKERS, &PatchParams::default(), &Patch::Merge(patch)).await.expect("a patch must be accepted");
    }

    /// The MachineDeployment's controller has dealt with what the user wants now.
    pub async fn until_observed(&self) {
        let began = Instant::now();
        loop {
            let deployment = self.api::<MachineDeployment>().get(WORKERS).await.expect("it must be there");
            if deployment.metadata.generation <= deployment.status.observed_generation {
                return;
            }
            if began.elapsed() > LIMIT {
                self.fail("it takes too long until the MachineDeployment is dealt with");
            }
            sleep(EVERY).await;
        }
    }

    /// The user deletes a machine. It may be gone already.
    pub async fn delete_machine(&self, name: &str) {
        self.note(format!("deletes {name}"));
        self.record.deletes(name);
        match self.api::<Machine>().delete(name, &DeleteParams::default()).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(error) => self.fail(&format!("{name} cannot be deleted: {error}")),
        }
    }

    /// The user asks for another machine in the place of this one.
    pub async fn remediate(&self, name: &str) {
        self.asks_to_replace(name);
        let patch = Patch::Merge(json!({ "metadata": { "annotations": { REMEDIATE_MACHINE: "" } } }));
        self.api::<Machine>().patch(name, &PatchParams::default(), &patch).await.expect("it must be patched");
    }

    /// The user wants this machine to be replaced, by a health check or by name.
    pub fn asks_to_replace(&self, name: &str) {
        self.note(format!("wants {name} to be replaced"));
        self.record.deletes(name);
    }

    pub async fn delete_deployment(&self) {
        self.note("deletes the MachineDeployment".to_owned());
        let api = self.api::<MachineDeployment>();
        api.delete(WORKERS, &DeleteParams::default()).await.expect("it must be deleted");
    }

    /// A machine is being updated, or has been: whoever looks may come too late.
    pub async fn until_begun(&self) -> Picture {
        let is_marked = |object: &Object| match object {
            Object::Machine(it) => it.metadata.annotations.iter().flatten().any(|(key, _)| key == UPDATE_IN_PROGRESS),
            _ => false,
        };
        let is_begun = |_: &Picture| self.history.entries().iter().any(|entry| is_marked(&entry.object));
        self.until("a machine is being updated", is_begun).await
    }

    /// All machines are as wished for, with this much memory.
    pub async fn until_memory(&self, memory: &str) -> Picture {
        let what = format!("all have {memory}");
        self.until(&what, |picture| picture.is_settled() && has_memory(picture, memory)).await
    }

    /// All machines are as wished for, with this Kubernetes version.
    pub async fn until_version(&self, version: &str) -> Picture {
        let what = format!("all run {version}");
        self.until(&what, |picture| picture.is_settled() && has_version(picture, version)).await
    }

    /// These machines are what they were.
    pub fn assert_same(&self, before: &BTreeMap<String, Facts>, after: &Picture) {
        let now = after.facts();
        for (name, facts) in before {
            assert_eq!(now.get(name), Some(facts), "{}: {name} must be what it was", self.name);
        }
    }

    /// Nobody but the user has had machines deleted.
    pub fn assert_deleted(&self, count: usize) {
        let deleted = self.deleted();
        assert_eq!(deleted.len(), count, "{}: deleted {deleted:?}", self.name);
    }

    /// Machines whose deletion was asked for.
    fn deleted(&self) -> BTreeSet<String> {
        let entries = self.history.entries();
        let deleted = entries.iter().filter_map(|entry| match &entry.object {
            Object::Machine(it) if it.metadata.deletion_timestamp.is_some() => it.metadata.name.clone(),
            _ => None,
        });
        deleted.collect()
    }

    pub fn api<K: Kind>(&self) -> Api<K> {
        Api::namespaced(self.client.clone(), &self.name)
    }

    pub fn note(&self, what: String) {
        self.record.note(self.history.elapsed(), what);
    }

    /// Tells what the user did and what was seen last, and ends.
    pub fn fail(&self, what: &str) -> ! {
        panic!("{}: {what}\n{}\n{}", self.name, self.record, record::states(&self.history.entries()));
    }
}

pub trait Kind: CustomKind + Debug + Resource<Scope = k8s_openapi::NamespaceResourceScope> {}

impl<K: CustomKind + Debug + Resource<Scope = k8s_openapi::NamespaceResourceScope>> Kind for K {}

pub fn has_version(picture: &Picture, version: &str) -> bool {
    picture.machines.values().all(|machine| machine.kubelet_version.as_deref() == Some(version))
}

pub fn has_memory(picture: &Picture, memory: &str) -> bool {
    picture.machines.values().all(|machine| machine.memory.as_deref() == Some(memory))
}
