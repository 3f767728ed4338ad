//! Control planes on the embedded server: made, upgraded in place by a real extension, and left alone where that must be.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Secret};
use kube::api::{Api, Patch, PatchParams};
use kube::{Client, ResourceExt};
use refit_api::cluster::Machine;
use refit_api::conditions::is_true;
use refit_api::controlplane::KubeadmControlPlane;
use refit_api::vocabulary::annotations::UPDATE_IN_PROGRESS;
use refit_api::vocabulary::condition_types as types;
use refit_api::vocabulary::refit::annotations::{DECIDED, UPDATE_PLAN};
use refit_examples::host::HostChange;
use refit_examples::{Host, HostError, VersionUpdater};
use refit_sdk::Extension;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::plain::{self, CORE, INFRASTRUCTURE_V1, Provider, named, reference};
use crate::plane::Plane;
use crate::rollouts::extension_config;
use crate::world::{api, create, until};

const BOOTSTRAP: &str = "bootstrap.cluster.x-k8s.io/v1beta2";
const CONTROL_PLANE: &str = "controlplane.cluster.x-k8s.io/v1beta2";
const OLD: &str = "v1.34.0";
const NEW: &str = "v1.35.0";

/// Plays kubeadm and the controller of KubeadmConfigs until it is dropped.
struct Kubeadm(JoinHandle<()>);

impl Drop for Kubeadm {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Kubeadm {
    fn start(client: Client) -> Self {
        Self(tokio::spawn(async move {
            loop {
                bootstrap(&client).await;
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }))
    }
}

/// What goes wrong is done in the next round.
async fn bootstrap(client: &Client) {
    let configs = api(client, BOOTSTRAP, "KubeadmConfig", Some("default"));
    let status = json!({ "status": {
        "dataSecretName": "data", "initialization": { "dataSecretCreated": true },
        "conditions": [{
            "type": "Ready", "status": "True", "reason": "Ready", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
        }],
    } });
    for config in configs.list(&Default::default()).await.map(|all| all.items).unwrap_or_default() {
        if config.data["status"]["dataSecretName"].is_null() {
            let _ = configs.patch_status(&config.name_any(), &Default::default(), &Patch::Merge(&status)).await;
        }
    }
    let label = "node-role.kubernetes.io/control-plane";
    let marks = json!({
        "metadata": { "labels": { label: "" } },
        "spec": { "taints": [{ "key": label, "effect": "NoSchedule" }] },
    });
    let nodes = Api::<Node>::all(client.clone());
    for node in nodes.list(&Default::default()).await.map(|all| all.items).unwrap_or_default() {
        if !node.labels().contains_key(label) {
            let _ = nodes.patch(&node.name_any(), &Default::default(), &Patch::Merge(&marks)).await;
        }
    }
}

/// Installs versions: the kubelet of the Node is of another one.
#[derive(Clone)]
struct Hosts(std::sync::Arc<std::sync::OnceLock<Client>>);

impl Host for Hosts {
    async fn change(&self, _: &str, name: &str, change: HostChange) -> Result<(), HostError> {
        let (Some(client), HostChange::Version(version)) = (self.0.get(), change) else {
            return Err(HostError("only versions can be installed".to_owned()));
        };
        let status = json!({ "status": { "nodeInfo": { "kubeletVersion": version } } });
        let nodes = Api::<Node>::all(client.clone());
        let patched = nodes.patch_status(name, &PatchParams::default(), &Patch::Merge(status)).await;
        patched.map(drop).map_err(|error| HostError(error.to_string()))
    }
}

/// A management plane with a Cluster whose control plane is wanted.
struct Story {
    plane: Plane,
    _players: (Provider, Kubeadm),
}

impl Story {
    async fn begin(replicas: usize, max_surge: i32, policy: &str) -> Self {
        let client_of_hosts = std::sync::Arc::new(std::sync::OnceLock::new());
        let updater = VersionUpdater::new(Hosts(client_of_hosts.clone()));
        let extension: Extension =
            Extension::builder(updater).poll_seconds(1).build().expect("it must be an extension");
        let plane = Plane::start(extension).await;
        let client = plane.client.clone();
        assert!(client_of_hosts.set(client.clone()).is_ok(), "nobody else may set it");
        let players = (Provider::start(client.clone()), Kubeadm::start(client.clone()));
        plain::template(&client, "small", "4Gi").await;
        plain::template(&client, "large", "8Gi").await;
        cluster(&client).await;
        control_plane(&client, replicas, max_surge, policy).await;
        let story = Self { plane, _players: players };
        story.settled("small", OLD, replicas).await;
        story
    }

    fn client(&self) -> &Client {
        &self.plane.client
    }

    async fn change(&self, patch: Value) {
        let control_planes = api(self.client(), CONTROL_PLANE, "KubeadmControlPlane", Some("default"));
        let patched = control_planes.patch("cp", &PatchParams::default(), &Patch::Merge(patch)).await;
        patched.expect("the control plane must be changed");
    }

    async fn now(&self) -> KubeadmControlPlane {
        let control_planes = Api::<KubeadmControlPlane>::namespaced(self.client().clone(), "default");
        control_planes.get("cp").await.expect("it must be there")
    }

    /// Waits until all machines are what is wanted, and well.
    async fn settled(&self, template: &str, version: &str, machines: usize) -> KubeadmControlPlane {
        let all = i32::try_from(machines).ok();
        let mut last = None;
        for _ in 0..1_800 {
            let found = self.now().await;
            let status = &found.status;
            let counts =
                [status.replicas, status.ready_replicas, status.available_replicas, status.up_to_date_replicas];
            let is_wanted = found.spec.version == version
                && found.spec.machine_template.spec.infrastructure_ref.name == template
                && status.observed_generation == found.metadata.generation;
            let versions: Vec<&str> = status.versions.iter().map(|it| it.version.as_str()).collect();
            if is_wanted && counts.iter().all(|count| *count == all) && versions == [version] {
                return found;
            }
            last = Some(found);
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        for machine in machines_of(self.client()).await {
            eprintln!("{}", serde_json::to_string_pretty(&machine.status).expect("it must encode"));
        }
        panic!(
            "it takes too long: {} {:?}",
            serde_json::to_string_pretty(&last.map(|it| it.status)).expect("it must encode"),
            self.plane.workload.log()
        );
    }

    /// Waits until the control plane says that it waits for this.
    async fn waits_for(&self, words: &str) {
        until(words, async || {
            let status = self.now().await.status;
            status.conditions.iter().any(|condition| condition.message.contains(words)).then_some(())
        })
        .await;
    }

    async fn identities(&self) -> BTreeMap<String, String> {
        let machines = machines_of(self.client()).await;
        machines.into_iter().map(|machine| (machine.name_any(), machine.uid().unwrap_or_default())).collect()
    }
}

async fn machines_of(client: &Client) -> Vec<Machine> {
    let machines = Api::<Machine>::namespaced(client.clone(), "default");
    machines.list(&Default::default()).await.expect("they must be listed").items
}

async fn cluster(client: &Client) {
    let control_plane =
        json!({ "apiGroup": "controlplane.cluster.x-k8s.io", "kind": "KubeadmControlPlane", "name": "cp" });
    let spec = json!({ "infrastructureRef": reference("PlainCluster", "c"), "controlPlaneRef": control_plane });
    create(client, INFRASTRUCTURE_V1, "PlainCluster", Some("default"), named("c", json!({}))).await;
    create(client, CORE, "Cluster", Some("default"), named("c", spec)).await;
}

async fn control_plane(client: &Client, replicas: usize, max_surge: i32, policy: &str) {
    let spec = json!({
        "replicas": replicas,
        "version": OLD,
        "kubeadmConfigSpec": { "clusterConfiguration": { "encryptionAlgorithm": "ECDSA-P256" } },
        "machineTemplate": { "spec": { "infrastructureRef": reference("PlainMachineTemplate", "small") } },
        "rollout": { "strategy": { "type": "RollingUpdate", "rollingUpdate": { "maxSurge": max_surge } } },
    });
    let mut object = named("cp", spec);
    object["metadata"]["annotations"] = json!({ "refit.dev/in-place": policy });
    create(client, CONTROL_PLANE, "KubeadmControlPlane", Some("default"), object).await;
}

#[tokio::test(start_paused = true)]
async fn a_control_plane_is_made_and_then_left_alone() {
    let story = Story::begin(3, 1, "Prefer").await;
    let status = story.now().await.status;
    for type_ in [types::INITIALIZED, types::CERTIFICATES_AVAILABLE, types::AVAILABLE, types::ETCD_CLUSTER_HEALTHY] {
        assert!(is_true(&status.conditions, type_), "{type_}: {:?}", status.conditions);
    }
    let configs = api(story.client(), BOOTSTRAP, "KubeadmConfig", Some("default")).list(&Default::default()).await;
    let joins = configs.expect("they must be listed").items.into_iter();
    let joins = joins.filter(|it| it.data["spec"]["joinConfiguration"]["controlPlane"].is_object()).count();
    assert_eq!(joins, 2, "the first machine begins the cluster and the others join");
    let secrets = Api::<Secret>::namespaced(story.client().clone(), "default").list(&Default::default()).await;
    let mut names: Vec<String> =
        secrets.expect("they must be listed").items.iter().map(ResourceExt::name_any).collect();
    names.retain(|name| name.starts_with("c-"));
    assert_eq!(names, ["c-ca", "c-etcd", "c-kubeconfig", "c-proxy", "c-sa"]);
    story.plane.at_rest().await;
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(story.plane.at_rest().await, BTreeMap::new(), "nothing is written any more");
    story.plane.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_version_is_installed_in_place_one_machine_after_the_other() {
    let story = Story::begin(3, 0, "Prefer").await;
    extension_config(story.client()).await;
    let before = story.identities().await;
    story.plane.at_rest().await;
    story.change(json!({ "spec": { "version": NEW } })).await;
    story.settled("small", NEW, 3).await;
    assert_eq!(story.identities().await, before);
    let log = story.plane.workload.log();
    assert!(log.contains(&format!("prepare {NEW}")), "{log:?}");
    until("the addons follow", async || story.plane.workload.log().contains(&format!("addons {NEW}")).then_some(()))
        .await;
    let moves = story.plane.workload.log().iter().filter(|it| it.starts_with("leadership")).count();
    assert!(moves > 0, "the leader hands over before it is updated: {log:?}");
    let writes = story.plane.at_rest().await;
    assert_eq!(writes.get("DELETE machines"), None, "{writes:?}");
    story.plane.end().await;
}

#[tokio::test(start_paused = true)]
async fn the_only_machine_is_upgraded_without_a_second_one() {
    let story = Story::begin(1, 1, "Prefer").await;
    extension_config(story.client()).await;
    let before = story.identities().await;
    story.plane.at_rest().await;
    story.change(json!({ "spec": { "version": NEW } })).await;
    story.settled("small", NEW, 1).await;
    assert_eq!(story.identities().await, before);
    let writes = story.plane.at_rest().await;
    assert_eq!(writes.get("DELETE machines"), None, "{writes:?}");
    story.plane.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_change_that_nobody_covers_is_on_record_before_a_machine_goes() {
    let story = Story::begin(3, 0, "Prefer").await;
    let before = story.identities().await;
    story.change(json!({ "spec": { "version": NEW } })).await;
    story.waits_for("the machine is replaced at").await;
    assert!(story.now().await.annotations().contains_key(DECIDED));
    assert_eq!(story.identities().await, before);
    // Who covers it comes in time.
    extension_config(story.client()).await;
    story.settled("small", NEW, 3).await;
    assert_eq!(story.identities().await, before);
    story.plane.end().await;
}

#[tokio::test(start_paused = true)]
async fn what_lasts_uncovered_is_replaced_one_machine_after_the_other() {
    let story = Story::begin(3, 0, "Prefer").await;
    let before = story.identities().await;
    let template = json!({ "spec": { "infrastructureRef": { "name": "large" } } });
    story.change(json!({ "spec": { "machineTemplate": template } })).await;
    story.settled("large", OLD, 3).await;
    let after = story.identities().await;
    assert!(before.keys().all(|name| !after.contains_key(name)), "{before:?} {after:?}");
    let log = story.plane.workload.log();
    assert_eq!(log.iter().filter(|it| it.ends_with("leaves etcd")).count(), 3, "{log:?}");
    story.plane.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_refused_change_leaves_no_mark() {
    let story = Story::begin(3, 0, "Require").await;
    extension_config(story.client()).await;
    let rule = json!([{ "rule": "self == oldSelf", "message": "memory cannot be changed" }]);
    let memory = json!({ "type": "string", "x-kubernetes-validations": rule });
    let path = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
    let operations = json!([{ "op": "add", "path": path, "value": { "memory": memory } }]);
    let operations = serde_json::from_value(operations).expect("it must be a patch");
    let definitions = api(story.client(), "apiextensions.k8s.io/v1", "CustomResourceDefinition", None);
    let name = "plainmachines.infrastructure.cluster.x-k8s.io";
    let patched = definitions.patch(name, &PatchParams::default(), &Patch::<()>::Json(operations)).await;
    patched.expect("the definition must be changed");
    let template = json!({ "spec": { "infrastructureRef": { "name": "large" } } });
    story.change(json!({ "spec": { "machineTemplate": template } })).await;
    story.waits_for("memory cannot be changed").await;
    for machine in machines_of(story.client()).await {
        let marks = [UPDATE_IN_PROGRESS, UPDATE_PLAN];
        assert!(marks.iter().all(|mark| !machine.annotations().contains_key(*mark)), "{:?}", machine.annotations());
    }
    story.plane.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_sick_control_plane_stops_the_rollout_and_goes_on_by_itself() {
    let story = Story::begin(3, 0, "Prefer").await;
    extension_config(story.client()).await;
    let before = story.identities().await;
    story.plane.at_rest().await;
    let sick = before.keys().last().expect("there must be machines").clone();
    story.plane.workload.set_sick(&sick, true);
    story.waits_for(&sick).await;
    story.change(json!({ "spec": { "version": NEW } })).await;
    story.waits_for("APIServerPodHealthy").await;
    story.plane.at_rest().await;
    assert_eq!(story.identities().await, before);
    story.plane.workload.set_sick(&sick, false);
    story.settled("small", NEW, 3).await;
    assert_eq!(story.identities().await, before);
    story.plane.end().await;
}

#[tokio::test(start_paused = true)]
async fn controllers_that_die_again_and_again_upgrade_the_same_machines() {
    const CRASHES: u64 = 25;
    let mut story = Story::begin(3, 0, "Require").await;
    extension_config(story.client()).await;
    let before = story.identities().await;
    story.plane.at_rest().await;
    story.change(json!({ "spec": { "version": NEW } })).await;
    for crash in 0..CRASHES {
        let writes = || story.plane.writes.lock().expect("nobody must panic while counting").values().sum::<usize>();
        let (begun, few) = (writes(), usize::try_from(crash % 4).expect("it must be small"));
        let died = async {
            while writes() <= begun + few {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let _ = tokio::time::timeout(Duration::from_secs(20), died).await;
        story.plane.crash().await;
    }
    story.settled("small", NEW, 3).await;
    assert_eq!(story.identities().await, before);
    story.plane.end().await;
}
