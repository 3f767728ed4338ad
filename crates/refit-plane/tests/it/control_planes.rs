//! Control planes of simulated machines: upgraded in place by the example extensions, with etcd, Pods and Nodes that follow.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::ApiResource;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Client, Resource, ResourceExt};
use refit_api::cluster::Machine;
use refit_api::controlplane::KubeadmControlPlane;
use refit_api::resource::CustomKind;
use refit_plane::sample::{CONTROL_PLANE, ControlPlane};
use refit_plane::{Backend, Example, Workers};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::backends;

/// How long one step may take on a machine that does much else.
const LIMIT: Duration = Duration::from_secs(240);
const OLD: &str = "v1.31.4";
const NEW: &str = "v1.32.0";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn control_planes_are_upgraded_in_place_on_the_embedded_server() {
    tell(backends::embedded().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn control_planes_are_upgraded_in_place_on_a_real_server() {
    let Some((_plane, backend)) = backends::real().await else { return };
    tell(backend).await;
}

async fn tell(backend: Arc<Backend>) {
    let workers = Workers::start(&backend, &Example::ALL).await.expect("everybody must start");
    three_machines_without_surge(&backend).await;
    three_machines_with_a_spare_one(&backend).await;
    a_single_machine(&backend).await;
    a_sick_machine(&backend).await;
    workers.stop().await;
}

async fn three_machines_without_surge(backend: &Arc<Backend>) {
    let story = Story::begin(backend, "three", ControlPlane::default()).await;
    let before = story.hosts().await;
    story.upgrade().await;
    story.settled(NEW).await;
    assert_eq!(story.hosts().await, before, "no machine is made or deleted, and no host is another one");
    assert_eq!(story.seen(), 3, "there never was another machine");
}

async fn three_machines_with_a_spare_one(backend: &Arc<Backend>) {
    let strategy = json!({ "type": "RollingUpdate", "rollingUpdate": { "maxSurge": 1 } });
    let story = Story::begin(backend, "surge", ControlPlane { strategy, ..ControlPlane::default() }).await;
    let before = story.hosts().await;
    story.upgrade().await;
    story.settled(NEW).await;
    assert_eq!(story.hosts().await, before, "the spare machine goes in the end");
}

async fn a_single_machine(backend: &Arc<Backend>) {
    let story = Story::begin(backend, "single", ControlPlane::single_node()).await;
    let before = story.hosts().await;
    story.upgrade().await;
    story.settled(NEW).await;
    assert_eq!(story.hosts().await, before);
    assert_eq!(story.seen(), 1, "there never was a second machine");
}

async fn a_sick_machine(backend: &Arc<Backend>) {
    let story = Story::begin(backend, "sick", ControlPlane::default()).await;
    let before = story.hosts().await;
    let sick = before.keys().next().expect("there must be machines").clone();
    let fails = json!([{ "component": "kube-apiserver", "failure": "Fails" }]);
    story.patch("infrastructure.cluster.x-k8s.io/v1beta2", "SimMachine", &sick, failures(fails)).await;
    story.says("ControlPlaneComponentsHealthy", "False").await;
    story.upgrade().await;
    story.says("RollingOut", "True").await;
    sleep(Duration::from_secs(5)).await;
    assert_eq!(story.hosts().await, before);
    assert!(story.machines().await.iter().all(|machine| machine.spec.version.as_deref() == Some(OLD)));
    story.patch("infrastructure.cluster.x-k8s.io/v1beta2", "SimMachine", &sick, failures(json!(null))).await;
    story.settled(NEW).await;
    assert_eq!(story.hosts().await, before);
}

fn failures(static_pods: Value) -> Value {
    json!({ "spec": { "failures": { "staticPods": static_pods } } })
}

/// A control plane in a namespace of its own.
struct Story {
    client: Client,
    namespace: String,
    replicas: i32,
    /// The names of all machines that there have been.
    seen: Arc<Mutex<BTreeSet<String>>>,
    watching: JoinHandle<()>,
}

impl Drop for Story {
    fn drop(&mut self) {
        self.watching.abort();
    }
}

impl Story {
    async fn begin(backend: &Arc<Backend>, namespace: &str, sample: ControlPlane) -> Self {
        let client = backend.client().await.expect("there must be a client");
        let namespace = format!("cp-{namespace}");
        let mut made = Namespace::default();
        made.metadata.name = Some(namespace.clone());
        let namespaces: Api<Namespace> = Api::all(client.clone());
        namespaces.create(&PostParams::default(), &made).await.expect("a namespace must be made");
        let sample = ControlPlane { namespace: namespace.clone(), version: OLD.to_owned(), ..sample };
        sample.apply(&client).await.expect("the objects must be made");
        let seen = Arc::default();
        let watching = tokio::spawn(note_machines(Api::namespaced(client.clone(), &namespace), Arc::clone(&seen)));
        let story = Self { client, namespace, replicas: sample.replicas, seen, watching };
        story.settled(OLD).await;
        story
    }

    fn api<K>(&self) -> Api<K>
    where
        K: CustomKind + Clone + Debug + serde::de::DeserializeOwned,
        K: Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>,
    {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    async fn now(&self) -> KubeadmControlPlane {
        self.api::<KubeadmControlPlane>().get(CONTROL_PLANE).await.expect("it must be there")
    }

    async fn machines(&self) -> Vec<Machine> {
        self.api::<Machine>().list(&ListParams::default()).await.expect("they must be listed").items
    }

    async fn upgrade(&self) {
        let version = json!({ "spec": { "version": NEW } });
        self.patch("controlplane.cluster.x-k8s.io/v1beta2", "KubeadmControlPlane", CONTROL_PLANE, version).await;
    }

    async fn patch(&self, api_version: &str, kind: &str, name: &str, patch: Value) {
        let patched = self.dynamic(api_version, kind).patch(name, &PatchParams::default(), &Patch::Merge(patch)).await;
        patched.unwrap_or_else(|error| panic!("{kind} {name} must be changed: {error}"));
    }

    fn dynamic(&self, api_version: &str, kind: &str) -> Api<DynamicObject> {
        let (group, version) = api_version.split_once('/').expect("it must have a group");
        let resource = ApiResource::from_gvk(&kube::core::GroupVersionKind::gvk(group, version, kind));
        Api::namespaced_with(self.client.clone(), &self.namespace, &resource)
    }

    /// The id of each host and of its disk, by the name of its machine.
    async fn hosts(&self) -> BTreeMap<String, [Value; 2]> {
        let hosts = self.dynamic("infrastructure.cluster.x-k8s.io/v1beta2", "SimMachine");
        let hosts = hosts.list(&ListParams::default()).await.expect("they must be listed").items;
        let of = |host: &DynamicObject| ["id", "diskID"].map(|field| host.data["status"]["host"][field].clone());
        hosts.iter().map(|host| (host.name_any(), of(host))).collect()
    }

    /// How many machines there have ever been.
    fn seen(&self) -> usize {
        self.seen.lock().expect("nobody panics with it").len()
    }

    /// Waits until all machines run the version and are well.
    async fn settled(&self, version: &str) {
        self.until(&format!("all machines run {version}"), |found| {
            let status = &found.status;
            let counts =
                [status.replicas, status.ready_replicas, status.available_replicas, status.up_to_date_replicas];
            let versions: Vec<&str> = status.versions.iter().map(|it| it.version.as_str()).collect();
            found.spec.version == version
                && status.observed_generation == found.metadata.generation
                && counts.iter().all(|count| *count == Some(self.replicas))
                && versions == [version]
        })
        .await;
    }

    async fn says(&self, type_: &str, status: &str) {
        self.until(&format!("{type_} is {status}"), |found| {
            found.status.conditions.iter().any(|condition| condition.type_ == type_ && condition.status == status)
        })
        .await;
    }

    async fn until(&self, what: &str, is_so: impl Fn(&KubeadmControlPlane) -> bool) {
        let began = Instant::now();
        let mut last = self.now().await;
        while !is_so(&last) {
            if began.elapsed() > LIMIT {
                let told = |all: &[k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition]| -> Vec<String> {
                    all.iter().map(|it| format!("{}={} {}", it.type_, it.status, it.message)).collect()
                };
                for machine in self.machines().await {
                    eprintln!("{}: {:#?}", machine.name_any(), told(&machine.status.conditions));
                }
                panic!("{}: it takes too long until {what}: {:#?}", self.namespace, told(&last.status.conditions));
            }
            sleep(Duration::from_millis(300)).await;
            last = self.now().await;
        }
    }
}

/// Notes the names of all machines that there ever are.
async fn note_machines(machines: Api<Machine>, seen: Arc<Mutex<BTreeSet<String>>>) {
    let mut events = watcher(machines, watcher::Config::default()).default_backoff().applied_objects().boxed();
    while let Some(event) = events.next().await {
        if let Ok(machine) = event {
            seen.lock().expect("nobody panics with it").insert(machine.name_any());
        }
    }
}
