//! A Cluster counts its machines; and when it goes, its workers go first, then its control plane, then its infrastructure,
//! and nothing is left.

use std::time::Duration;

use futures::{StreamExt, pin_mut};
use kube::Client;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, WatchEvent, WatchParams};
use kube::core::ApiResource;
use refit_api::cluster::Cluster;
use refit_api::conditions::get;
use refit_controllers::cache::api_resource;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::plain::{self, CORE, INFRASTRUCTURE_V1, Provider, machine_template, named, reference};
use crate::plane::Plane;
use crate::rollouts::memory_updater;
use crate::world::{api, create, until};

/// What holds the host of a machine back.
const FINALIZER: &str = "plain.example/host";

/// The names of what goes, each with the version at which it was gone.
struct Witness(Vec<JoinHandle<Vec<(u64, String)>>>);

impl Witness {
    /// Watches these kinds, each until its last object is gone.
    async fn start(client: &Client, kinds: &[(&str, &str, usize)]) -> Self {
        let mut watches = Vec::new();
        for (api_version, kind, count) in kinds {
            let resource = api_resource(api_version, kind);
            watches.push(tokio::spawn(deletions(client.clone(), resource, *count)));
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        Self(watches)
    }

    /// All names in the order in which they went.
    async fn told(self) -> Vec<String> {
        let mut all = Vec::new();
        for watch in self.0 {
            all.extend(watch.await.expect("nobody must panic while watching"));
        }
        all.sort();
        all.into_iter().map(|(_, name)| name).collect()
    }
}

async fn deletions(client: Client, resource: ApiResource, count: usize) -> Vec<(u64, String)> {
    let api = kube::Api::<DynamicObject>::namespaced_with(client, "default", &resource);
    let events = api.watch(&WatchParams::default(), "0").await.expect("it must be watched").filter_map(async |event| {
        let Ok(WatchEvent::Deleted(object)) = event else { return None };
        let version = object.metadata.resource_version.and_then(|version| version.parse().ok());
        Some((version.expect("it must have a version"), object.metadata.name.unwrap_or_default()))
    });
    pin_mut!(events);
    events.take(count).collect().await
}

/// A MachineDeployment `md` of two machines, a MachineSet `ms` of one, a Machine `alone`, and one `cp` of the control plane.
async fn make(client: &Client) {
    plain::cluster(client).await;
    plain::kubeconfig(client).await;
    plain::template(client, "small", "4Gi").await;
    for (kind, name, replicas) in [("MachineDeployment", "md", 2), ("MachineSet", "ms", 1)] {
        let mut template = machine_template("small");
        template["metadata"]["labels"] = json!({ "app": name });
        let selector = json!({ "matchLabels": { "app": name } });
        let spec = json!({ "clusterName": "c", "replicas": replicas, "selector": selector, "template": template });
        create(client, CORE, kind, Some("default"), named(name, spec)).await;
    }
    for name in ["alone", "cp"] {
        create(client, INFRASTRUCTURE_V1, "PlainMachine", Some("default"), named(name, json!({}))).await;
        let bootstrap = json!({ "dataSecretName": "data" });
        let host = reference("PlainMachine", name);
        let spec = json!({ "clusterName": "c", "bootstrap": bootstrap, "infrastructureRef": host });
        let mut machine = named(name, spec);
        if name == "cp" {
            machine["metadata"]["labels"] = json!({ "cluster.x-k8s.io/control-plane": "" });
        }
        create(client, CORE, "Machine", Some("default"), machine).await;
    }
    until("all machines have their Nodes", async || {
        let machines = api(client, CORE, "Machine", Some("default")).list(&Default::default()).await;
        let machines = machines.expect("they must be listed").items;
        let is_up = machines.iter().filter(|it| it.data["status"]["nodeRef"].is_object()).count() == 5;
        (machines.len() == 5 && is_up).then_some(())
    })
    .await;
}

/// What the Cluster says of its machines: there, available, and of which versions.
async fn counted(client: &Client) -> Value {
    let cluster = api(client, CORE, "Cluster", Some("default")).get("c").await.expect("it must be there");
    let [workers, control_plane] = ["workers", "controlPlane"].map(|part| {
        let status = &cluster.data["status"][part];
        json!([status["desiredReplicas"], status["replicas"], status["availableReplicas"], status["versions"]])
    });
    json!({ "workers": workers, "controlPlane": control_plane })
}

#[tokio::test(start_paused = true)]
async fn a_cluster_counts_the_machines_of_all_owners() {
    let plane = Plane::start(memory_updater()).await;
    let client = &plane.client;
    let _provider = Provider::start(client.clone());
    make(client).await;
    let expected = json!({
        "workers": [4, 4, 4, [{ "version": "v1.34.0", "replicas": 4 }]],
        "controlPlane": [1, 1, 1, [{ "version": "v1.34.0", "replicas": 1 }]],
    });
    until("all are counted", async || (counted(client).await == expected).then_some(())).await;
    let patch = Patch::Merge(json!({ "spec": { "replicas": 0 } }));
    let deployments = api(client, CORE, "MachineDeployment", Some("default"));
    deployments.patch("md", &PatchParams::default(), &patch).await.expect("it must be scaled");
    let machines = api(client, CORE, "Machine", Some("default"));
    machines.delete("alone", &DeleteParams::default()).await.expect("it must be deleted");
    let expected = json!([1, 1, 1, [{ "version": "v1.34.0", "replicas": 1 }]]);
    until("fewer are counted", async || (counted(client).await["workers"] == expected).then_some(())).await;
    plane.end().await;
}

async fn set_finalizers(client: &Client, host: &str, finalizers: &[&str]) {
    let patch = Patch::Merge(json!({ "metadata": { "finalizers": finalizers } }));
    let hosts = api(client, INFRASTRUCTURE_V1, "PlainMachine", Some("default"));
    hosts.patch(host, &PatchParams::default(), &patch).await.expect("the host must be patched");
}

async fn deleting(client: &Client) -> String {
    let clusters = kube::Api::<Cluster>::namespaced(client.clone(), "default");
    let Some(cluster) = clusters.get_opt("c").await.expect("it must be readable") else { return "gone".to_owned() };
    get(&cluster.status.conditions, "Deleting").map(|it| it.reason.clone()).unwrap_or_default()
}

async fn is_going(client: &Client, api_version: &str, kind: &str, name: &str) -> bool {
    let found = api(client, api_version, kind, Some("default")).get(name).await.expect("it must be there");
    found.metadata.deletion_timestamp.is_some()
}

/// Waits until the deletion is so far, and makes sure that it gets no further by itself.
async fn held(client: &Client, reason: &str) {
    until(&format!("the deletion is {reason}"), async || (deleting(client).await == reason).then_some(())).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(deleting(client).await, reason);
}

#[tokio::test(start_paused = true)]
async fn a_cluster_goes_in_order_and_leaves_nothing_behind() {
    let plane = Plane::start(memory_updater()).await;
    let client = &plane.client;
    let _provider = Provider::start(client.clone());
    make(client).await;
    for host in ["alone", "cp"] {
        set_finalizers(client, host, &[FINALIZER]).await;
    }
    let kinds = [
        (CORE, "MachineDeployment", 1),
        (CORE, "MachineSet", 2),
        (CORE, "Machine", 5),
        (INFRASTRUCTURE_V1, "PlainCluster", 1),
        (CORE, "Cluster", 1),
    ];
    let witness = Witness::start(client, &kinds).await;
    api(client, CORE, "Cluster", Some("default")).delete("c", &DeleteParams::default()).await.expect("it must go");

    held(client, "WaitingForWorkersDeletion").await;
    assert!(!is_going(client, CORE, "Machine", "cp").await, "the control plane stays while there are workers");
    set_finalizers(client, "alone", &[]).await;
    held(client, "WaitingForControlPlaneDeletion").await;
    assert!(
        !is_going(client, INFRASTRUCTURE_V1, "PlainCluster", "c").await,
        "the network stays while there are machines"
    );
    set_finalizers(client, "cp", &[]).await;
    until("the Cluster is gone", async || (deleting(client).await == "gone").then_some(())).await;

    let order = witness.told().await;
    let last: Vec<&str> = order.iter().rev().take(3).rev().map(String::as_str).collect();
    assert_eq!((order.len(), last), (10, vec!["cp", "c", "c"]), "{order:?}");
    let hosts = api(client, INFRASTRUCTURE_V1, "PlainMachine", Some("default")).list(&Default::default()).await;
    assert!(hosts.expect("they must be listed").items.is_empty(), "no host is left");
    plane.end().await;
}
