//! One Machine from birth to Running, through an update in place, and to its end.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt;
use http_body_util::{BodyExt, Full};
use kube::Client;
use kube::api::{DeleteParams, Patch, PatchParams};
use refit_api::cluster::Machine;
use refit_api::conditions::get;
use refit_api::runtime::ExtensionConfig;
use refit_controllers::act::EventQueue;
use refit_controllers::cache::Cache;
use refit_controllers::chance::Chance;
use refit_controllers::clock::Clock;
use refit_controllers::machine::{CONCURRENCY, MachineController};
use refit_controllers::queue::QueueMetrics;
use refit_controllers::shell::Shell;
use refit_controllers::workload::{Connector, WorkloadClusters};
use refit_hooks::Extensions;
use refit_hooks::client::{BoxError, Client as HookClient, Outgoing, Transport};
use refit_hooks::metrics::HookMetrics;
use refit_peers::{ControlPlane, Options, require_peers};
use refit_plan::machine::Settings;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tower::util::BoxCloneSyncService;

use crate::world::{self, api, create, machine};

const VERSION: &str = "cluster.x-k8s.io/v1beta2";
const LIMIT: Duration = Duration::from_secs(180);
const KUBECONFIG: &str = "{ apiVersion: v1, kind: Config, clusters: [], users: [], contexts: [] }";

/// An extension that needs two more questions until it is done.
#[derive(Clone, Default)]
struct Updater {
    requests: Arc<Mutex<Vec<Value>>>,
}

impl Updater {
    fn extensions(&self) -> Extensions {
        let updater = self.clone();
        let transport: Transport = BoxCloneSyncService::new(tower::service_fn(move |outgoing: Outgoing| {
            let updater = updater.clone();
            async move { updater.answer(outgoing).await }
        }));
        let extensions = Extensions::new(HookClient::new(transport, HookMetrics::default()));
        extensions.register(&config()).expect("the extension must be registered");
        extensions.set_ready();
        extensions
    }

    async fn answer(&self, outgoing: Outgoing) -> Result<http::Response<refit_hooks::client::ResponseBody>, BoxError> {
        let body = outgoing.request.into_body().collect().await?.to_bytes();
        let asked = {
            let mut requests = self.requests.lock().expect("nobody panics with the lock");
            requests.push(serde_json::from_slice(&body)?);
            requests.len()
        };
        let response = json!({
            "apiVersion": "hooks.runtime.cluster.x-k8s.io/v1alpha1", "kind": "UpdateMachineResponse",
            "status": "Success", "message": "at work", "retryAfterSeconds": if asked < 3 { 1 } else { 0 },
        });
        let body = Full::new(Bytes::from(response.to_string())).map_err(|never| match never {});
        Ok(http::Response::new(body.boxed_unsync()))
    }
}

fn config() -> ExtensionConfig {
    let handler = json!({
        "name": "update.ext", "timeoutSeconds": 10,
        "requestHook": { "apiVersion": "hooks.runtime.cluster.x-k8s.io/v1alpha1", "hook": "UpdateMachine" },
    });
    let object = json!({
        "metadata": { "name": "ext", "uid": "ext", "generation": 1 },
        "spec": { "clientConfig": { "url": "https://ext:443", "caBundle": "YQ==" }, "namespaceSelector": {} },
        "status": { "handlers": [handler] },
    });
    serde_json::from_value(object).expect("it must be an ExtensionConfig")
}

/// The controller at work on a management cluster that is its own workload cluster.
struct World {
    client: Client,
    updater: Updater,
    controller: MachineController,
    running: JoinHandle<()>,
}

impl World {
    async fn start(client: Client) -> Self {
        prepare(&client).await;
        let (chance, clock, updater) =
            (Chance::from_seed(1), Clock::beginning(jiff::Timestamp::now()), Updater::default());
        let cache = Cache::start(&client, &chance);
        assert!(cache.wait_ready(LIMIT).await, "all kinds must be listed");
        let same = client.clone();
        let connector: Connector = Arc::new(move |_, _| {
            let client = same.clone();
            async move { Ok(client) }.boxed()
        });
        let (clusters, secrets) = (cache.clusters.clone(), cache.secrets.clone());
        let workloads = WorkloadClusters::new(client.clone(), clusters, secrets, connector, clock, chance.clone());
        let extensions = updater.extensions();
        let events = EventQueue::start(client.clone(), "test".to_owned(), clock, chance.clone());
        let shell = Shell { client: client.clone(), cache, workloads, extensions, clock, chance, events };
        let controller = MachineController::new(shell, Settings::default(), &QueueMetrics::default());
        let runner = controller.clone();
        let running = tokio::spawn(async move { runner.run(CONCURRENCY).await });
        Self { client, updater, controller, running }
    }

    async fn stop(self) {
        self.controller.queue().close();
        self.running.await.expect("the controller must end well");
    }

    async fn patch(&self, api_version: &str, kind: &str, name: &str, body: Value) {
        let namespace = if kind == "Node" { None } else { Some("default") };
        let (api, params) = (api(&self.client, api_version, kind, namespace), PatchParams::default());
        let patch = Patch::Merge(&body);
        let patched = match body.get("status") {
            Some(_) => api.patch_status(name, &params, &patch).await,
            None => api.patch(name, &params, &patch).await,
        };
        patched.unwrap_or_else(|error| panic!("{kind} {name} must be patched: {error}"));
    }

    /// The Machine once it is so.
    async fn machine(&self, what: &str, is_so: impl Fn(&Machine) -> bool) -> Machine {
        let machines = kube::Api::<Machine>::namespaced(self.client.clone(), "default");
        let mut last = None;
        for _ in 0..LIMIT.as_millis() / 50 {
            last = machines.get_opt("m1").await.expect("it must be readable");
            if let Some(machine) = last.as_ref().filter(|machine| is_so(machine)) {
                return machine.clone();
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("{what}: {}", serde_json::to_string_pretty(&last).expect("it must encode"));
    }

    /// Provider and kubelet do their part.
    async fn provision(&self) {
        create(&self.client, "infra.io/v1", "Host", Some("default"), json!({ "metadata": { "name": "m1" } })).await;
        create(&self.client, VERSION, "Machine", Some("default"), machine("m1")).await;
        let is_owned = |machine: &Machine| machine.metadata.finalizers.is_some();
        self.machine("the finalizer must be put on", is_owned).await;
        self.patch("infra.io/v1", "Host", "m1", json!({ "spec": { "providerID": "sim://m1" } })).await;
        let status = json!({ "status": { "initialization": { "provisioned": true } } });
        self.patch("infra.io/v1", "Host", "m1", status).await;
        let is_provisioned = |machine: &Machine| machine.spec.provider_id.as_deref() == Some("sim://m1");
        self.machine("the provider id must be taken over", is_provisioned).await;
        let node = json!({ "metadata": { "name": "n1" }, "spec": { "providerID": "sim://m1" } });
        create(&self.client, "v1", "Node", None, node).await;
        let healthy = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"].map(|type_| {
            let status = if type_ == "Ready" { "True" } else { "False" };
            json!({ "type": type_, "status": status, "reason": "R", "message": "m" })
        });
        self.patch("v1", "Node", "n1", json!({ "status": { "conditions": healthy } })).await;
    }

    /// Marks the objects as their owner does when an update begins.
    async fn begin_update(&self) {
        let mark = json!({ "in-place-updates.internal.cluster.x-k8s.io/update-in-progress": "" });
        self.patch("infra.io/v1", "Host", "m1", json!({ "metadata": { "annotations": mark } })).await;
        let mut marks = mark;
        marks["runtime.cluster.x-k8s.io/pending-hooks"] = json!("UpdateMachine");
        self.patch(VERSION, "Machine", "m1", json!({ "metadata": { "annotations": marks } })).await;
    }
}

async fn prepare(client: &Client) {
    let schema = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let version = json!({
        "name": "v1", "served": true, "storage": true, "subresources": { "status": {} },
        "schema": { "openAPIV3Schema": schema },
    });
    let definition = json!({
        "metadata": { "name": "hosts.infra.io", "labels": { "cluster.x-k8s.io/v1beta2": "v1" } },
        "spec": {
            "group": "infra.io", "scope": "Namespaced", "versions": [version],
            "names": { "kind": "Host", "plural": "hosts", "singular": "host", "listKind": "HostList" },
        },
    });
    create(client, "apiextensions.k8s.io/v1", "CustomResourceDefinition", None, definition).await;
    world::wait_served(client, "infra.io/v1", "Host").await;
    let cluster = json!({
        "metadata": { "name": "c" },
        "spec": { "infrastructureRef": { "apiGroup": "infra.io", "kind": "HostCluster", "name": "c" } },
    });
    create(client, VERSION, "Cluster", Some("default"), cluster).await;
    let condition = json!({
        "type": "ControlPlaneInitialized", "status": "True", "reason": "Initialized", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    });
    let status = json!({ "status": {
        "initialization": { "infrastructureProvisioned": true, "controlPlaneInitialized": true },
        "conditions": [condition],
    } });
    let clusters = api(client, VERSION, "Cluster", Some("default"));
    clusters.patch_status("c", &PatchParams::default(), &Patch::Merge(status)).await.expect("it must be patched");
    let value = k8s_openapi::ByteString(KUBECONFIG.as_bytes().to_vec());
    let labels = json!({ "cluster.x-k8s.io/cluster-name": "c" });
    let secret = json!({ "metadata": { "name": "c-kubeconfig", "labels": labels }, "data": { "value": value } });
    create(client, "v1", "Secret", Some("default"), secret).await;
}

fn is_true(machine: &Machine, condition: &str) -> bool {
    get(&machine.status.conditions, condition).is_some_and(|condition| condition.status == "True")
}

/// Provisioned, running, updated in place: the same Machine, Node and host.
async fn check_life(world: &World) {
    world.provision().await;
    let before = world.machine("it must become available", |machine| is_true(machine, "Available")).await;
    assert_eq!(before.status.node_ref.as_ref().map(|node| node.name.as_str()), Some("n1"));
    let host = api(&world.client, "infra.io/v1", "Host", Some("default")).get("m1").await.expect("it must be there");
    let owner = host.metadata.owner_references.and_then(|owners| owners.into_iter().next());
    assert_eq!(
        owner.map(|owner| (owner.kind, owner.uid)),
        before.metadata.uid.clone().map(|uid| ("Machine".to_owned(), uid))
    );
    world.begin_update().await;
    let is_over = |machine: &Machine| {
        machine.metadata.annotations.as_ref().is_none_or(BTreeMap::is_empty) && is_true(machine, "Available")
    };
    let after = world.machine("the update must be completed", is_over).await;
    assert_eq!((after.metadata.uid, after.status.node_ref), (before.metadata.uid, before.status.node_ref));
    let host = api(&world.client, "infra.io/v1", "Host", Some("default")).get("m1").await.expect("it must be there");
    assert!(host.metadata.annotations.unwrap_or_default().is_empty(), "the host must not be marked any more");
    let requests = world.updater.requests.lock().expect("nobody panics with the lock");
    assert_eq!(requests.len(), 3, "the extension must be asked until it is done, and no more");
    assert_eq!(requests[0]["desired"]["machine"]["metadata"]["name"], "m1");
}

/// When all is as it should be, nothing is written for an hour.
async fn check_rest(world: &World) {
    let versions = async || {
        let mut versions = Vec::new();
        for (api_version, kind, name) in
            [(VERSION, "Machine", "m1"), ("infra.io/v1", "Host", "m1"), ("v1", "Node", "n1")]
        {
            let api = api(&world.client, api_version, kind, (kind != "Node").then_some("default"));
            versions.push(api.get(name).await.expect("it must be there").metadata.resource_version);
        }
        versions
    };
    tokio::time::sleep(Duration::from_secs(5)).await;
    let settled = versions().await;
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    assert_eq!(versions().await, settled);
}

/// Drained, its host and its Node gone, and then the Machine itself. A control plane must be there for that.
async fn check_death(world: &World) {
    let mut control_plane = machine("m0");
    control_plane["metadata"]["labels"]["cluster.x-k8s.io/control-plane"] = json!("");
    create(&world.client, VERSION, "Machine", Some("default"), control_plane).await;
    let machines = api(&world.client, VERSION, "Machine", Some("default"));
    machines.delete("m1", &DeleteParams::default()).await.expect("it must be deleted");
    for (api_version, kind, name) in [("infra.io/v1", "Host", "m1"), ("v1", "Node", "n1"), (VERSION, "Machine", "m1")] {
        let api = api(&world.client, api_version, kind, (kind != "Node").then_some("default"));
        let gone = async {
            while api.get_opt(name).await.expect("it must be readable").is_some() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        if tokio::time::timeout(LIMIT, gone).await.is_err() {
            world.machine(&format!("{kind} {name} must go"), |_| false).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_machine_is_provisioned_and_updated_in_place_on_the_embedded_server() {
    let world = World::start(world::embedded().await).await;
    check_life(&world).await;
    check_rest(&world).await;
    world.stop().await;
}

#[test]
fn a_machine_is_provisioned_updated_and_deleted_on_the_real_server() {
    let Some(peers) = require_peers() else { return };
    let plane = ControlPlane::start(&peers, Options::default()).expect("a control plane must start");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime must start");
    runtime.block_on(async {
        let world = World::start(world::real(&plane).await).await;
        check_life(&world).await;
        check_death(&world).await;
        world.stop().await;
    });
}
