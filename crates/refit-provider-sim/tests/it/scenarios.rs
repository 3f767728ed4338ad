//! What the provider promises, told on both kinds of management cluster.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Node, Pod, Secret};
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, PostParams};
use refit_api::cluster::Machine;
use refit_examples::Host;
use refit_examples::host::HostChange;
use refit_provider_sim::SimHosts;
use refit_provider_sim::kinds::{SimBootstrapConfig, SimCluster, SimControlPlane, SimHost, SimMachine};
use refit_provider_sim::kubelet::pod_on;
use serde_json::json;

use crate::backend::Backend;
use crate::story::{CLUSTER, Story, eventually};

/// The invariant of a provisioned SimMachine.
const HOST: &str = "there must be a host";
/// What must be seen while it goes on lasts longer than any test, and until the test ends it.
const ENDLESS: i32 = i32::MAX;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_the_embedded_server() {
    tell_all(Backend::embedded().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_real_server() {
    let Some(backend) = Backend::real().await else { return };
    tell_all(backend).await;
}

async fn tell_all(backend: Backend) {
    let provider = backend.start_provider();
    let (client, hosts) = (&backend.client, &provider.hosts);
    tokio::join!(
        machines_wait_for_what_the_contract_says(Story::begin(client, "waits").await),
        machines_become_nodes(Story::with_infrastructure(client, "nodes").await),
        updates_change_the_same_host(Story::with_infrastructure(client, "updates").await, hosts),
        failures_come_when_told_to(Story::with_infrastructure(client, "failures").await, hosts),
        deletion_leaves_nothing(Story::with_infrastructure(client, "deletes").await),
        paused_objects_stay(Story::with_infrastructure(client, "paused").await),
        pods_run_and_end(Story::with_infrastructure(client, "pods").await),
    );
    provider.stop().await;
    a_restart_goes_on(&backend).await;
}

async fn machines_wait_for_what_the_contract_says(story: Story) {
    story.add_machine("a", "v1.34.0", json!({})).await;
    let sim = story.wait_infrastructure().await;
    assert!(sim.spec.control_plane_endpoint.port.is_some());
    let is_initialized = |plane: &SimControlPlane| plane.status.initialization.control_plane_initialized == Some(true);
    story.eventually("is initialized", is_initialized, CLUSTER).await;
    story.hand_over_bootstrap("a").await;
    story.wait_provisioned("a").await;
    let secrets: Api<Secret> = Api::namespaced(story.client.clone(), &story.namespace);
    let data = secrets.get("a").await.expect("there must be bootstrap data");
    assert_eq!(data.type_.as_deref(), Some("cluster.x-k8s.io/secret"));
    assert!(data.data.is_some_and(|data| data.contains_key("value")));
}

async fn machines_become_nodes(story: Story) {
    let (sim, node) = story.machine("a", "v1.34.0", json!({ "cpus": 4, "memory": "8Gi", "image": "one" })).await;
    let provider_id = format!("sim://{}/a", story.namespace);
    assert_eq!(sim.spec.provider_id.as_deref(), Some(provider_id.as_str()));
    assert_eq!(node.spec.expect("a node has a spec").provider_id, Some(provider_id));
    let status = node.status.expect("a node has a status");
    assert_eq!(status.node_info.expect("a node says what it runs").kubelet_version, "v1.34.0");
    assert_eq!(status.capacity.expect("a node says what it has")["memory"].0, "8Gi");
    let conditions = status.conditions.unwrap_or_default();
    assert!(conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True"));
    assert_eq!(sim.status.addresses.len(), 2);
    // A spec alone changes nothing, and new bootstrap settings make no new data.
    let host = sim.status.host.expect(HOST);
    story.patch::<SimMachine>("a", json!({ "spec": { "memory": "16Gi", "image": "two" } })).await;
    story.patch::<SimBootstrapConfig>("a", json!({ "spec": { "script": "new" } })).await;
    story.machine("b", "v1.34.0", json!({})).await;
    assert_eq!(story.get::<SimMachine>("a").await.status.host, Some(host));
    assert_eq!(story.node_names().await, ["a", "b"]);
}

async fn updates_change_the_same_host(story: Story, hosts: &SimHosts) {
    let spec = json!({ "memory": "8Gi", "image": "one", "updateSeconds": 1 });
    let (before, node) = story.machine("a", "v1.34.0", spec).await;
    let old = before.status.host.clone().expect(HOST);
    story.patch::<SimMachine>("a", json!({ "spec": { "memory": "16Gi", "image": "two" } })).await;
    story.patch::<Machine>("a", json!({ "spec": { "version": "v1.35.0" } })).await;
    let change = |change| hosts.change(&story.namespace, "a", change);
    change(HostChange::Memory("16Gi".to_owned())).await.expect("the memory must change");
    change(HostChange::Version("v1.35.0".to_owned())).await.expect("the version must change");
    let changed: SimMachine = story.get("a").await;
    let new = changed.status.host.clone().expect(HOST);
    let expected = SimHost {
        memory: "16Gi".to_owned(),
        image: Some("two".to_owned()),
        kubernetes_version: Some("v1.35.0".to_owned()),
        boot_count: 3,
        start_time: new.start_time.clone(),
        ..old.clone()
    };
    assert_eq!(new, expected, "the same host and disk, started twice more");
    assert_eq!((changed.uid(), changed.spec.provider_id), (before.uid(), before.spec.provider_id));
    let updated: Node = story.wait_node("a").await;
    assert_eq!(updated.uid(), node.uid());
    let status = updated.status.expect("a node has a status");
    assert_eq!(status.node_info.expect("a node says what it runs").kubelet_version, "v1.35.0");
    assert_eq!(status.capacity.expect("a node says what it has")["memory"].0, "16Gi");
    // What is there already is done at once, without a write.
    let version = changed.metadata.resource_version;
    change(HostChange::Version("v1.35.0".to_owned())).await.expect("it must be done");
    assert_eq!(story.get::<SimMachine>("a").await.metadata.resource_version, version);
}

async fn failures_come_when_told_to(story: Story, hosts: &SimHosts) {
    let spec = json!({ "failures": { "provisioning": ENDLESS, "update": 1 } });
    story.add_machine("a", "v1.34.0", spec).await;
    story.hand_over_bootstrap("a").await;
    let reason = |sim: &SimMachine| {
        let ready = sim.status.conditions.iter().find(|condition| condition.type_ == "Ready");
        ready.map(|condition| condition.reason.clone())
    };
    let has_failed = |sim: &SimMachine| reason(sim).as_deref() == Some("ProvisioningFailed");
    story.eventually("has failed to be provisioned", has_failed, "a").await;
    story.patch::<SimMachine>("a", json!({ "spec": { "failures": { "provisioning": 1 } } })).await;
    let sim = story.wait_provisioned("a").await;
    assert_eq!(reason(&sim).as_deref(), Some("Provisioned"));
    let change = || hosts.change(&story.namespace, "a", HostChange::Memory("16Gi".to_owned()));
    change().await.expect_err("the first update must fail");
    assert_eq!(story.get::<SimMachine>("a").await.status.host, sim.status.host);
    change().await.expect("the second one must not");
    assert_eq!(story.get::<SimMachine>("a").await.status.host.expect(HOST).memory, "16Gi");
}

async fn deletion_leaves_nothing(story: Story) {
    story.machine("a", "v1.34.0", json!({})).await;
    story.machine("b", "v1.34.0", json!({})).await;
    story.delete::<SimMachine>("a").await;
    story.wait_gone::<SimMachine>("a").await;
    assert_eq!(story.node_names().await, ["b"]);
    let nodes = story.nodes().await;
    story.delete::<SimCluster>(CLUSTER).await;
    story.wait_gone::<SimCluster>(CLUSTER).await;
    nodes.get("b").await.expect_err("the workload cluster must be gone");
    let secrets: Api<Secret> = Api::namespaced(story.client.clone(), &story.namespace);
    assert!(secrets.get_opt("demo-kubeconfig").await.expect("secrets must be readable").is_none());
    // Without its workload cluster, a machine can still go.
    story.delete::<SimMachine>("b").await;
    story.wait_gone::<SimMachine>("b").await;
}

async fn paused_objects_stay(story: Story) {
    story.add_machine("a", "v1.34.0", json!({})).await;
    let paused = json!({ "metadata": { "annotations": { "cluster.x-k8s.io/paused": "" } } });
    story.patch::<SimMachine>("a", paused).await;
    story.hand_over_bootstrap("a").await;
    let is_paused = |sim: &SimMachine| sim.status.conditions.iter().any(|c| c.type_ == "Paused" && c.status == "True");
    story.eventually("is paused", is_paused, "a").await;
    story.machine("b", "v1.34.0", json!({})).await;
    assert_eq!(story.get::<SimMachine>("a").await.status.host, None);
    story.patch::<SimMachine>("a", json!({ "metadata": { "annotations": { "cluster.x-k8s.io/paused": null } } })).await;
    story.wait_provisioned("a").await;
}

async fn pods_run_and_end(story: Story) {
    story.machine("a", "v1.34.0", json!({})).await;
    let pods: Api<Pod> = Api::namespaced(story.workload().await, "default");
    let mut pod = pod_on("a", "p", BTreeMap::new());
    pod.spec.get_or_insert_default().termination_grace_period_seconds = Some(1);
    pods.create(&PostParams::default(), &pod).await.expect("a pod must be accepted");
    let phase = |pod: &Pod| pod.status.as_ref().and_then(|status| status.phase.clone());
    eventually("the pod runs", async || match pods.get("p").await {
        Ok(pod) if phase(&pod).is_some_and(|phase| phase == "Running") => Ok(()),
        seen => Err(seen),
    })
    .await;
    pods.delete("p", &DeleteParams::default()).await.expect("it must be deleted");
    eventually("the pod is gone", async || match pods.get_opt("p").await.expect("pods must be readable") {
        None => Ok(()),
        Some(pod) => Err(pod),
    })
    .await;
}

/// The provider ends while a host is on its way, and a change of another; the next one goes on.
async fn a_restart_goes_on(backend: &Backend) {
    let provider = backend.start_provider();
    let story = Story::with_infrastructure(&backend.client, "restart").await;
    let (sim, _) = story.machine("a", "v1.34.0", json!({ "updateSeconds": ENDLESS })).await;
    story.add_machine("b", "v1.34.0", json!({ "provisioningSeconds": ENDLESS })).await;
    story.hand_over_bootstrap("b").await;
    let is_on_its_way = |sim: &SimMachine| sim.status.provisioning.is_some();
    let begun = story.eventually("is on its way", is_on_its_way, "b").await;
    let (hosts, namespace) = (provider.hosts.clone(), story.namespace.clone());
    let change = HostChange::Version("v1.35.0".to_owned());
    let (again, first) = (change.clone(), tokio::spawn(async move { hosts.change(&namespace, "a", change).await }));
    let is_changing = |sim: &SimMachine| sim.status.update.is_some();
    let changing = story.eventually("is changing", is_changing, "a").await;
    first.abort();
    provider.stop().await;
    story.patch::<SimMachine>("a", json!({ "spec": { "updateSeconds": 1 } })).await;
    story.patch::<SimMachine>("b", json!({ "spec": { "provisioningSeconds": 1 } })).await;

    let provider = backend.start_provider();
    provider.hosts.change(&story.namespace, "a", again).await.expect("the change must go on");
    let changed: SimMachine = story.get("a").await;
    assert_eq!(changed.status.host.expect(HOST).disk_id, sim.status.host.expect(HOST).disk_id);
    assert!(changing.status.update.is_some() && changed.status.update.is_none());
    let arrived = story.wait_provisioned("b").await;
    assert_eq!((begun.uid(), begun.spec.provider_id), (arrived.uid(), arrived.spec.provider_id));
    story.wait_node("b").await;
    assert_eq!(story.node_names().await, ["a", "b"]);
    provider.stop().await;
}
