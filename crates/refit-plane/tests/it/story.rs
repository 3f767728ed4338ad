//! One MachineDeployment in a namespace of its own, what its user does, and what is expected of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Client, Resource, ResourceExt};
use refit_api::cluster::{Machine, MachineDeployment, MachineSet};
use refit_api::resource::CustomKind;
use refit_plane::Backend;
use refit_plane::demo::{Facts, MachineView, Picture};
use refit_plane::sample::{self, CLUSTER, WORKERS};
use refit_provider_sim::kinds::{SimBootstrapConfig, SimMachine};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::witness::{Limits, Witness};

/// How long one step may take on a machine that does much else.
const LIMIT: Duration = Duration::from_secs(240);
const EVERY: Duration = Duration::from_millis(100);
/// For how long nothing is written when all is done.
const QUIET: Duration = Duration::from_millis(1500);

pub struct Story {
    pub name: &'static str,
    pub witness: Witness,
    backend: Arc<Backend>,
    client: Client,
    sample: sample::Workers,
}

impl Story {
    /// The machines of `sample` are there.
    pub async fn begin(backend: &Arc<Backend>, name: &'static str, sample: sample::Workers) -> Self {
        let client = backend.client().await.expect("there must be a client");
        let sample = sample::Workers { namespace: name.to_owned(), ..sample };
        let mut namespace = Namespace::default();
        namespace.metadata.name = Some(name.to_owned());
        let namespaces: Api<Namespace> = Api::all(client.clone());
        namespaces.create(&PostParams::default(), &namespace).await.expect("a namespace must be made");
        let machines = usize::try_from(sample.replicas).expect("there must be machines");
        let witness = Witness::begin(client.clone(), name, Limits { machines, updates: 1 });
        sample.apply(&client).await.expect("the sample must be accepted");
        let story = Self { name, witness, backend: Arc::clone(backend), client, sample };
        story.until("the machines are there", Picture::is_settled).await;
        story
    }

    pub async fn look(&self) -> Picture {
        let workload = self.backend.workloads().client(self.name, CLUSTER);
        Picture::take(&self.client, &workload, self.name).await.expect("it must be readable")
    }

    /// Waits until it has come to this, and the witness has seen it. Nobody is sure to look at the moment at which
    /// something is so for a while only: it must stay so, or leave a trace.
    pub async fn until(&self, what: &str, is_reached: impl Fn(&Picture) -> bool) -> Picture {
        let began = Instant::now();
        loop {
            let picture = self.look().await;
            if is_reached(&picture) && self.witness.knows(picture.machines.keys()) {
                return picture;
            }
            assert!(began.elapsed() < LIMIT, "{}: it takes too long until {what}: {picture:#?}", self.name);
            sleep(EVERY).await;
        }
    }

    /// The user wants this much memory.
    pub async fn wish_memory(&self, memory: &str) {
        self.wish(&sample::Host { memory: memory.to_owned(), ..self.sample.host.clone() }).await;
    }

    /// The user wants these hosts.
    pub async fn wish(&self, host: &sample::Host) {
        sample::apply(&self.client, &self.sample.machine_template(host)).await.expect("a template must be accepted");
        let reference = json!({ "infrastructureRef": { "name": host.template() } });
        self.patch(json!({ "spec": { "template": { "spec": reference } } })).await;
    }

    /// The user changes the MachineDeployment.
    pub async fn patch(&self, patch: Value) {
        let api = self.api::<MachineDeployment>();
        api.patch(WORKERS, &PatchParams::default(), &Patch::Merge(patch)).await.expect("a patch must be accepted");
    }

    pub async fn delete_machine(&self, name: &str) {
        self.api::<Machine>().delete(name, &DeleteParams::default()).await.expect("a machine must be deleted");
    }

    pub async fn delete_deployment(&self) {
        let api = self.api::<MachineDeployment>();
        api.delete(WORKERS, &DeleteParams::default()).await.expect("it must be deleted");
    }

    /// A machine is being updated, or was.
    pub async fn until_begun(&self) -> Picture {
        let old = Some(&self.sample.host.memory);
        let is_begun = |machine: &MachineView| machine.updating.is_some() || machine.memory.as_ref() != old;
        self.until("a machine is being updated", |picture| picture.machines.values().any(is_begun)).await
    }

    /// All machines are as wished for, with this much memory.
    pub async fn until_memory(&self, memory: &str) -> Picture {
        let what = format!("all have {memory}");
        self.until(&what, |picture| picture.is_settled() && has_memory(picture, memory)).await
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
        let deleted = self.witness.deleted();
        assert_eq!(deleted.len(), count, "{}: deleted {deleted:?}", self.name);
    }

    /// Nothing is left over, and nothing more is written.
    pub async fn end(self) {
        let machines = self.names::<Machine>().await;
        self.until_equal::<SimMachine>(&machines).await;
        self.until_equal::<SimBootstrapConfig>(&machines).await;
        self.assert_quiet().await;
        self.witness.assert_nothing_wrong(self.name);
    }

    /// All that the MachineDeployment made is gone.
    pub async fn until_all_gone(&self) {
        let nothing = BTreeSet::new();
        self.until_equal::<MachineDeployment>(&nothing).await;
        self.until_equal::<MachineSet>(&nothing).await;
        self.until_equal::<Machine>(&nothing).await;
    }

    /// The objects of a kind have these names at last. Providers' objects have the names of their Machines.
    async fn until_equal<K: Kind>(&self, names: &BTreeSet<String>) {
        let began = Instant::now();
        while self.names::<K>().await != *names {
            assert!(began.elapsed() < LIMIT, "{}: {:?} is not {names:?}", self.name, self.names::<K>().await);
            sleep(EVERY).await;
        }
    }

    async fn names<K: Kind>(&self) -> BTreeSet<String> {
        let all = self.api::<K>().list(&ListParams::default()).await.expect("it must be listed");
        all.iter().map(ResourceExt::name_any).collect()
    }

    /// Once all is done, nobody writes. The last counters may still come in first.
    async fn assert_quiet(&self) {
        let began = Instant::now();
        loop {
            let before = self.versions().await;
            sleep(QUIET).await;
            let after = self.versions().await;
            if before == after {
                return;
            }
            assert!(began.elapsed() < LIMIT, "{}: it is written on and on: {before:?} {after:?}", self.name);
        }
    }

    async fn versions(&self) -> BTreeMap<String, Option<String>> {
        let mut versions = BTreeMap::new();
        self.add_versions::<MachineDeployment>(&mut versions).await;
        self.add_versions::<MachineSet>(&mut versions).await;
        self.add_versions::<Machine>(&mut versions).await;
        self.add_versions::<SimMachine>(&mut versions).await;
        self.add_versions::<SimBootstrapConfig>(&mut versions).await;
        versions
    }

    async fn add_versions<K: Kind>(&self, versions: &mut BTreeMap<String, Option<String>>) {
        let all = self.api::<K>().list(&ListParams::default()).await.expect("it must be listed");
        versions.extend(all.iter().map(|it| (format!("{}/{}", K::kind(&()), it.name_any()), it.resource_version())));
    }

    fn api<K: Kind>(&self) -> Api<K> {
        Api::namespaced(self.client.clone(), self.name)
    }
}

pub trait Kind: CustomKind + Debug + Resource<Scope = k8s_openapi::NamespaceResourceScope> {}

impl<K: CustomKind + Debug + Resource<Scope = k8s_openapi::NamespaceResourceScope>> Kind for K {}

pub fn has_memory(picture: &Picture, memory: &str) -> bool {
    picture.machines.values().all(|machine| machine.memory.as_deref() == Some(memory))
}
