//! How fast a fleet of instant machines comes up in one process: `cargo bench --bench fleet -- 30000`.
//!
//! Prints the time from the first Machine to the last Node, and the memory that it took.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams};
use kube::{Client, ResourceExt};
use refit_api::cluster::{Cluster, Machine};
use refit_apiserver::access;
use refit_apiserver::credentials::Credentials;
use refit_apiserver::host::Host;
use refit_apiserver::server::{Limits, Server};
use refit_apiserver::store::Store;
use refit_provider_sim::kinds::{SimCluster, SimMachine};
use refit_provider_sim::{Provider, Workloads};
use serde_json::{Value, json};

const NAMESPACE: &str = "default";
/// Objects that are made at a time.
const CONCURRENCY: usize = 16;

#[tokio::main(worker_threads = 2)]
async fn main() {
    let count = std::env::args().filter_map(|argument| argument.parse().ok()).next().unwrap_or(1000);
    let folder = tempfile::TempDir::new().expect("there must be a temporary folder");
    let host = Host::start_on_system(Store::in_memory()).await.expect("the API must start");
    let credentials = Credentials::open(folder.path(), &[], Timestamp::now()).expect("there must be credentials");
    let address = "127.0.0.1:0".parse().expect("it must be an address");
    let server = Server::bind(host.clone(), credentials, address, Limits::default()).await.expect("it must listen");
    let client = Client::new(host.service(access::admin()), NAMESPACE);
    let workload = Client::new(host.service(access::admin()).in_cluster("default.demo"), NAMESPACE);
    install(&client).await;
    let provider = Provider::new(client.clone(), Workloads::on(host, &server), Arc::new(Timestamp::now));
    let running = tokio::spawn(provider.run(std::future::pending()));
    infrastructure(&client).await;
    let began = Instant::now();
    let machines = futures::stream::iter(0..count).map(|index| machine(&client, index));
    machines.buffer_unordered(CONCURRENCY).collect::<Vec<()>>().await;
    let made = began.elapsed();
    while nodes(&workload).await < count {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let all = began.elapsed();
    println!("{count} machines made in {made:.1?}, all have nodes after {all:.1?}");
    println!("{:.0} machines per second, peak memory {} MiB", count as f64 / all.as_secs_f64(), peak_mebibytes());
    running.abort();
}

async fn install(client: &Client) {
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    for crd in refit_api::crd::all().into_iter().chain(refit_provider_sim::crds()) {
        let crd = serde_json::from_value(crd).expect("it must be a CRD");
        crds.create(&PostParams::default(), &crd).await.expect("a CRD must be accepted");
    }
}

async fn infrastructure(client: &Client) {
    let clusters: Api<Cluster> = Api::default_namespaced(client.clone());
    let reference = json!({ "apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "SimCluster", "name": "demo" });
    let cluster: Cluster =
        create(client, json!({ "metadata": { "name": "demo" }, "spec": { "infrastructureRef": reference } })).await;
    let _: SimCluster = create(client, json!({ "metadata": metadata("demo", "Cluster", &cluster) })).await;
    let sims: Api<SimCluster> = Api::default_namespaced(client.clone());
    while sims.get("demo").await.expect("it must be there").status.initialization.provisioned.is_none() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let status = json!({ "status": { "initialization": { "infrastructureProvisioned": true } } });
    let params = PatchParams::default();
    clusters.patch_status("demo", &params, &Patch::Merge(status)).await.expect("a status must be written");
}

async fn machine(client: &Client, index: usize) {
    let name = format!("m-{index:05}");
    let reference = json!({ "apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "SimMachine", "name": name });
    let spec = json!({
        "clusterName": "demo",
        "version": "v1.34.0",
        "bootstrap": { "dataSecretName": "brought" },
        "infrastructureRef": reference,
    });
    let owner: Machine = create(client, json!({ "metadata": { "name": name }, "spec": spec })).await;
    let sim = json!({ "metadata": metadata(&name, "Machine", &owner), "spec": { "memory": "8Gi" } });
    let _: SimMachine = create(client, sim).await;
}

async fn create<K>(client: &Client, object: Value) -> K
where
    K: refit_api::resource::CustomKind + std::fmt::Debug,
    K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope>,
{
    let object: K = serde_json::from_value(object).expect("it must be of the kind");
    let api: Api<K> = Api::default_namespaced(client.clone());
    api.create(&PostParams::default(), &object).await.expect("it must be accepted")
}

fn metadata(name: &str, kind: &str, owner: &impl ResourceExt) -> Value {
    let owner = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": kind,
        "name": owner.name_any(),
        "uid": owner.uid(),
        "controller": true,
    });
    json!({ "name": name, "labels": { "cluster.x-k8s.io/cluster-name": "demo" }, "ownerReferences": [owner] })
}

/// How many Nodes there are: those of one page, and those that remain.
async fn nodes(workload: &Client) -> usize {
    let page = Api::<Node>::all(workload.clone()).list(&ListParams::default().limit(1)).await;
    let page = page.expect("nodes must be listed");
    page.items.len() + page.metadata.remaining_item_count.unwrap_or(0).max(0) as usize
}

fn peak_mebibytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kibibytes.unwrap_or(0) / 1024
}
