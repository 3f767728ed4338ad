//! Machines are deleted: their Nodes are cordoned and drained, and others are heard, before their hosts go.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Pod};
use kube::Client;
use kube::api::{DeleteParams, Patch, PatchParams};
use refit_api::cluster::Machine;
use refit_api::conditions::get;
use serde_json::{Value, json};

use crate::plain::{self, CORE, INFRASTRUCTURE_V1, Provider, named, reference};
use crate::plane::Plane;
use crate::rollouts::memory_updater;
use crate::world::{api, create, until};

/// Longer than it takes until the next look at a Node.
const LONG: Duration = Duration::from_secs(60);
/// What a budget that allows nothing is called.
const BUDGET: &str = "budget";

/// All controllers, a control plane, and a Machine `m` whose Node is up.
struct World {
    plane: Plane,
    _provider: Provider,
}

impl World {
    /// `deletion` is the spec of that name of the Machine.
    async fn start(deletion: Value, annotations: Value) -> Self {
        let plane = Plane::start(memory_updater()).await;
        let provider = Provider::start(plane.client.clone());
        let world = Self { plane, _provider: provider };
        plain::cluster(world.client()).await;
        plain::kubeconfig(world.client()).await;
        world.machine("cp", json!({ "cluster.x-k8s.io/control-plane": "" }), json!({}), json!({})).await;
        world.machine("m", json!({}), deletion, annotations).await;
        for name in ["cp", "m"] {
            let has_node = async || world.get(name).await.filter(|machine| machine.status.node_ref.is_some());
            until("the machine has its Node", has_node).await;
        }
        world
    }

    fn client(&self) -> &Client {
        &self.plane.client
    }

    async fn machine(&self, name: &str, labels: Value, deletion: Value, annotations: Value) {
        create(self.client(), INFRASTRUCTURE_V1, "PlainMachine", Some("default"), named(name, json!({}))).await;
        let (bootstrap, host) = (json!({ "dataSecretName": "data" }), reference("PlainMachine", name));
        let mut spec = json!({ "clusterName": "c", "bootstrap": bootstrap, "infrastructureRef": host });
        if deletion != json!({}) {
            spec["deletion"] = deletion;
        }
        let mut machine = named(name, spec);
        machine["metadata"]["labels"] = labels;
        machine["metadata"]["annotations"] = annotations;
        create(self.client(), CORE, "Machine", Some("default"), machine).await;
    }

    /// A Pod on the Node of the Machine.
    async fn pod(&self, name: &str, more: Value) {
        let mut pod = named(name, json!({ "nodeName": "m", "containers": [{ "name": "c", "image": "i" }] }));
        for (field, value) in more.as_object().into_iter().flatten() {
            pod["metadata"][field] = value.clone();
        }
        create(self.client(), "v1", "Pod", Some("default"), pod).await;
        let ready = json!({ "type": "Ready", "status": "True" });
        let running = Patch::Merge(json!({ "status": { "phase": "Running", "conditions": [ready] } }));
        let pods = api(self.client(), "v1", "Pod", Some("default"));
        pods.patch_status(name, &PatchParams::default(), &running).await.expect("it must run");
    }

    /// A Pod `app` that nobody may evict as long as the budget allows nothing.
    async fn protected_pod(&self) {
        self.pod("app", json!({ "labels": { "app": "a" } })).await;
        let spec = json!({ "minAvailable": 1, "selector": { "matchLabels": { "app": "a" } } });
        create(self.client(), "policy/v1", "PodDisruptionBudget", Some("default"), named(BUDGET, spec)).await;
        self.allow_disruptions(0).await;
    }

    async fn allow_disruptions(&self, allowed: i32) {
        let budgets = api(self.client(), "policy/v1", "PodDisruptionBudget", Some("default"));
        let found = budgets.get(BUDGET).await.expect("it must be there");
        let status = json!({
            "observedGeneration": found.metadata.generation, "disruptionsAllowed": allowed,
            "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1,
        });
        let patch = Patch::Merge(json!({ "status": status }));
        budgets.patch_status(BUDGET, &PatchParams::default(), &patch).await.expect("it must be patched");
    }

    async fn delete(&self) {
        let machines = api(self.client(), CORE, "Machine", Some("default"));
        machines.delete("m", &DeleteParams::default()).await.expect("it must be deleted");
    }

    async fn get(&self, name: &str) -> Option<Machine> {
        let machines = kube::Api::<Machine>::namespaced(self.client().clone(), "default");
        machines.get_opt(name).await.expect("it must be readable")
    }

    async fn annotate(&self, key: &str, value: Option<&str>) {
        let patch = Patch::Merge(json!({ "metadata": { "annotations": { key: value } } }));
        let machines = api(self.client(), CORE, "Machine", Some("default"));
        machines.patch("m", &PatchParams::default(), &patch).await.expect("it must be annotated");
    }

    /// The reason and the message of the stage that the deletion is in.
    async fn stage(&self) -> (String, String) {
        let Some(machine) = self.get("m").await else { return ("gone".to_owned(), String::new()) };
        let condition = get(&machine.status.conditions, "Deleting");
        condition.map(|it| (it.reason.clone(), it.message.clone())).unwrap_or_default()
    }

    async fn until_stage(&self, reason: &str) {
        until(&format!("the stage is {reason}"), async || (self.stage().await.0 == reason).then_some(())).await;
    }

    /// Waits until the deletion is in this stage, makes sure that it stays there with its host, and gives the message.
    async fn held(&self, reason: &str) -> String {
        self.until_stage(reason).await;
        tokio::time::sleep(LONG).await;
        let (found, message) = self.stage().await;
        assert_eq!(found, reason);
        let host = api(self.client(), INFRASTRUCTURE_V1, "PlainMachine", Some("default")).get("m").await;
        assert!(host.expect("the host must be there").metadata.deletion_timestamp.is_none());
        message
    }

    async fn is_cordoned(&self) -> bool {
        let node = kube::Api::<Node>::all(self.client().clone()).get("m").await.expect("it must be there");
        node.spec.and_then(|spec| spec.unschedulable) == Some(true)
    }

    /// Whether nobody has asked the Pod to end.
    async fn is_left_alone(&self, pod: &str) -> bool {
        let pod = self.pods().get(pod).await.expect("it must be there");
        pod.metadata.deletion_timestamp.is_none()
    }

    fn pods(&self) -> kube::Api<Pod> {
        kube::Api::namespaced(self.client().clone(), "default")
    }

    /// The kubelet does what it was asked for.
    async fn end_pod(&self, name: &str) {
        let at_once = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() };
        self.pods().delete(name, &at_once).await.expect("it must end");
    }

    /// Waits until the Machine, its host and its Node are gone.
    async fn gone(self) {
        self.until_stage("gone").await;
        let host = api(self.client(), INFRASTRUCTURE_V1, "PlainMachine", Some("default")).get_opt("m").await;
        assert!(host.expect("it must be readable").is_none(), "no host without a Machine");
        let node = kube::Api::<Node>::all(self.client().clone()).get_opt("m").await;
        assert!(node.expect("it must be readable").is_none(), "no Node without a host");
        self.plane.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_is_drained_before_its_host_goes() {
    let world = World::start(json!({}), json!({})).await;
    let set = create(world.client(), "apps/v1", "DaemonSet", Some("default"), daemon_set()).await;
    let uid = &set["metadata"]["uid"];
    let owner = json!({ "apiVersion": "apps/v1", "kind": "DaemonSet", "name": "ds", "uid": uid, "controller": true });
    world.pod("of-ds", json!({ "ownerReferences": [owner] })).await;
    world.pod("mirror", json!({ "annotations": { "kubernetes.io/config.mirror": "x" } })).await;
    world.pod("plain", json!({})).await;
    world.protected_pod().await;
    world.delete().await;

    let message = world.held("DrainingNode").await;
    let refused = "* Pod default/app: cannot evict pod as it would violate the pod's disruption budget.";
    let going = "* Pod default/plain: deletionTimestamp set, but still not removed from the Node";
    assert!(message.contains(refused) && message.contains(going), "{message}");
    assert!(world.is_cordoned().await);
    assert!(world.is_left_alone("app").await, "the budget protects it");
    world.end_pod("plain").await;
    world.allow_disruptions(1).await;
    until("the budget lets it go", async || (!world.is_left_alone("app").await).then_some(())).await;
    world.end_pod("app").await;
    until("the Node is drained", async || (world.stage().await.0 != "DrainingNode").then_some(())).await;
    assert!(world.is_left_alone("of-ds").await && world.is_left_alone("mirror").await);
    world.gone().await;
}

fn daemon_set() -> Value {
    let labels = json!({ "app": "ds" });
    let template =
        json!({ "metadata": { "labels": labels }, "spec": { "containers": [{ "name": "c", "image": "i" }] } });
    named("ds", json!({ "selector": { "matchLabels": labels }, "template": template }))
}

#[tokio::test(start_paused = true)]
async fn a_drain_that_takes_too_long_is_given_up() {
    let world = World::start(json!({ "nodeDrainTimeoutSeconds": 120 }), json!({})).await;
    world.protected_pod().await;
    world.delete().await;
    world.held("DrainingNode").await;
    until("the drain is given up", async || (world.stage().await.0 != "DrainingNode").then_some(())).await;
    assert!(world.is_left_alone("app").await);
    world.gone().await;
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_is_excluded_is_neither_cordoned_nor_drained() {
    let excluded = json!({ "machine.cluster.x-k8s.io/exclude-node-draining": "" });
    let world = World::start(json!({}), excluded).await;
    world.pod("plain", json!({})).await;
    world.annotate("pre-terminate.delete.hook.machine.cluster.x-k8s.io/test", Some("")).await;
    world.delete().await;
    world.held("WaitingForPreTerminateHook").await;
    assert!(!world.is_cordoned().await && world.is_left_alone("plain").await);
    world.annotate("pre-terminate.delete.hook.machine.cluster.x-k8s.io/test", None).await;
    world.gone().await;
}

#[tokio::test(start_paused = true)]
async fn hooks_of_others_hold_the_deletion_until_they_are_taken_off() {
    let world = World::start(json!({}), json!({})).await;
    world.pod("plain", json!({})).await;
    for hook in ["pre-drain", "pre-terminate"] {
        world.annotate(&format!("{hook}.delete.hook.machine.cluster.x-k8s.io/test"), Some("somebody")).await;
    }
    world.delete().await;
    world.held("WaitingForPreDrainHook").await;
    assert!(!world.is_cordoned().await && world.is_left_alone("plain").await);
    world.annotate("pre-drain.delete.hook.machine.cluster.x-k8s.io/test", None).await;
    until("the Pod is evicted", async || (!world.is_left_alone("plain").await).then_some(())).await;
    world.end_pod("plain").await;
    world.held("WaitingForPreTerminateHook").await;
    world.annotate("pre-terminate.delete.hook.machine.cluster.x-k8s.io/test", None).await;
    world.gone().await;
}

async fn set_volumes(world: &World, volumes: Value) {
    let patch = Patch::Merge(json!({ "status": { "volumesAttached": volumes } }));
    let nodes = api(world.client(), "v1", "Node", None);
    nodes.patch_status("m", &PatchParams::default(), &patch).await.expect("it must be patched");
}

#[tokio::test(start_paused = true)]
async fn volumes_leave_before_the_host_goes() {
    let world = World::start(json!({}), json!({})).await;
    set_volumes(&world, json!([{ "name": "kubernetes.io/csi/d^v", "devicePath": "" }])).await;
    world.delete().await;
    let message = world.held("WaitingForVolumeDetach").await;
    assert!(message.contains("kubernetes.io/csi/d^v"), "{message}");
    set_volumes(&world, json!(null)).await;
    world.gone().await;
}

#[tokio::test(start_paused = true)]
async fn volumes_that_do_not_leave_are_given_up() {
    let world = World::start(json!({ "nodeVolumeDetachTimeoutSeconds": 120 }), json!({})).await;
    set_volumes(&world, json!([{ "name": "kubernetes.io/csi/d^v", "devicePath": "" }])).await;
    world.delete().await;
    world.held("WaitingForVolumeDetach").await;
    world.gone().await;
}
