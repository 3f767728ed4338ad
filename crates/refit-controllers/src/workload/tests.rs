//! A management cluster and a workload cluster on the embedded server, under a paused clock.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use futures::FutureExt;
use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, Patch, PatchParams, PostParams};
use refit_api::crd;
use refit_apiserver::access;
use refit_apiserver::host::Host;
use refit_apiserver::store::Store;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::sleep;
use tower::{BoxError, ServiceExt};

use super::*;
use crate::cache::Feed;

const KUBECONFIG: &str = "{ apiVersion: v1, kind: Config, clusters: [], users: [], contexts: [] }";
/// Longer than any delay here.
const LONG: Duration = Duration::from_secs(120);

struct World {
    management: Client,
    host: Host,
    is_cut: Arc<AtomicBool>,
    connects: Arc<AtomicUsize>,
    told: Arc<Mutex<Vec<String>>>,
}

impl World {
    async fn start() -> Self {
        let host = Host::start_on_system(Store::in_memory()).await.expect("the API must start");
        host.clusters().create("w").await.expect("a workload cluster must be made");
        let management = Client::new(host.service(access::admin()), "default");
        create::<CustomResourceDefinition>(&Api::all(management.clone()), crd::of::<Cluster>()).await;
        let cluster = json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": { "name": "w" },
            "spec": { "infrastructureRef": { "apiGroup": "infra.io", "kind": "HostCluster", "name": "w" } },
        });
        create::<Cluster>(&Api::namespaced(management.clone(), "default"), cluster).await;
        Self { management, host, is_cut: Arc::default(), connects: Arc::default(), told: Arc::default() }
    }

    async fn clusters(&self) -> WorkloadClusters {
        let chance = Chance::from_seed(1);
        let clusters = Informer::start(Feed::of(Api::all(self.management.clone())), vec![], chance.clone());
        let secrets: Informer<PartialObjectMeta<Secret>> =
            Informer::start(Feed::of(Api::all(self.management.clone())), vec![], chance.clone());
        assert!(clusters.wait_ready(LONG).await && secrets.wait_ready(LONG).await);
        let clock = Clock::beginning(Timestamp::UNIX_EPOCH);
        let workloads =
            WorkloadClusters::new(self.management.clone(), clusters, secrets, self.connector(), clock, chance);
        let (nodes, connections) = (Arc::clone(&self.told), Arc::clone(&self.told));
        workloads.listen(Listener {
            node: Box::new(move |cluster, change| {
                let name = change.either().and_then(|node| node.metadata.name.clone()).unwrap_or_default();
                nodes.lock().unwrap().push(format!("node {name} of {cluster}"));
            }),
            connection: Box::new(move |cluster| connections.lock().unwrap().push(format!("connection of {cluster}"))),
        });
        workloads
    }

    /// Connects in process, by a way that can be cut.
    fn connector(&self) -> Connector {
        let (host, is_cut, connects) = (self.host.clone(), Arc::clone(&self.is_cut), Arc::clone(&self.connects));
        Arc::new(move |cluster, _| {
            connects.fetch_add(1, Ordering::SeqCst);
            let (service, is_cut) = (host.service(access::admin()).in_cluster(&cluster.name), Arc::clone(&is_cut));
            let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
                let (service, is_cut) = (service.clone(), Arc::clone(&is_cut));
                async move {
                    if is_cut.load(Ordering::SeqCst) {
                        return Err(BoxError::from("the cable is cut"));
                    }
                    service.oneshot(request).await.map_err(BoxError::from)
                }
            });
            async move { Ok(Client::new(service, "default")) }.boxed()
        })
    }

    async fn write_secret(&self, text: &str) {
        let value = ByteString(text.as_bytes().to_vec());
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "w-kubeconfig" }, "data": { "value": value },
        });
        let api = Api::<Secret>::namespaced(self.management.clone(), "default");
        let params = PatchParams::apply("test").force();
        api.patch("w-kubeconfig", &params, &Patch::Apply(secret)).await.expect("the Secret must be written");
    }

    async fn create_node(&self, name: &str) {
        let client = Client::new(self.host.service(access::admin()).in_cluster("w"), "default");
        let node = json!({ "metadata": { "name": name }, "spec": { "providerID": format!("sim://{name}") } });
        create::<Node>(&Api::all(client), node).await;
    }

    fn told(&self) -> Vec<String> {
        std::mem::take(&mut *self.told.lock().unwrap())
    }
}

async fn create<K>(api: &Api<K>, object: Value)
where
    K: Clone + std::fmt::Debug + serde::Serialize + DeserializeOwned,
{
    let object = serde_json::from_value(object).expect("it must be an object");
    api.create(&PostParams::default(), &object).await.expect("it must be created");
}

/// Waits until the cluster is connected to, or not any more.
async fn wait(workloads: &WorkloadClusters, key: &ObjectKey, is_connected: bool) {
    let waiting = async {
        while workloads.get(key).connected.is_some() != is_connected {
            sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(LONG, waiting).await.expect("the connection must become so");
}

#[tokio::test(start_paused = true)]
async fn a_cluster_is_connected_to_when_its_kubeconfig_appears() {
    let world = World::start().await;
    let (workloads, key) = (world.clusters().await, ObjectKey::new("default", "w"));
    world.create_node("n1").await;
    assert!(workloads.get(&key).connected.is_none());
    sleep(LONG).await;
    assert_eq!(world.connects.load(Ordering::SeqCst), 0, "there is nothing to connect with");
    world.write_secret(KUBECONFIG).await;
    wait(&workloads, &key, true).await;
    let connected = workloads.get(&key).connected.expect("it must be connected");
    assert_eq!(connected.nodes.by(NODE_BY_PROVIDER_ID, "sim://n1").len(), 1);
    assert_eq!(world.told(), ["node n1 of default/w", "connection of default/w"]);
    world.create_node("n2").await;
    sleep(Duration::from_secs(1)).await;
    assert_eq!(world.told(), ["node n2 of default/w"]);
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_does_not_answer_is_given_up_and_found_again() {
    let world = World::start().await;
    let (workloads, key) = (world.clusters().await, ObjectKey::new("default", "w"));
    world.write_secret(KUBECONFIG).await;
    wait(&workloads, &key, true).await;
    world.is_cut.store(true, Ordering::SeqCst);
    let last = workloads.get(&key).connection.last_probe_success;
    sleep(Duration::from_secs(25)).await;
    assert!(workloads.get(&key).connected.is_some(), "a short interruption costs nothing");
    wait(&workloads, &key, false).await;
    let connection = workloads.get(&key).connection;
    assert!(connection.consecutive_failures >= 5 && connection.last_probe_success >= last);
    world.is_cut.store(false, Ordering::SeqCst);
    wait(&workloads, &key, true).await;
    assert_eq!(workloads.get(&key).connection.consecutive_failures, 0);
}

/// What the metrics say of the cluster.
fn counted(workloads: &WorkloadClusters) -> BTreeMap<String, String> {
    let (mut registry, mut text) = (prometheus_client::registry::Registry::default(), String::new());
    workloads.metrics().register(&mut registry);
    prometheus_client::encoding::text::encode(&mut text, &registry).expect("it must encode");
    let lines = text.lines().filter_map(|line| line.strip_prefix("capi_cluster_cache_")?.rsplit_once(' '));
    lines.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

#[tokio::test(start_paused = true)]
async fn probes_and_connections_are_counted_under_upstreams_names_until_the_cluster_is_gone() {
    let world = World::start().await;
    let (workloads, key) = (world.clusters().await, ObjectKey::new("default", "w"));
    let labels = "cluster_name=\"w\",cluster_namespace=\"default\"";
    let check = |expected: &[(&str, &str, &str)]| {
        let line =
            |(name, more, value): &(&str, &str, &str)| (format!("{name}{{{labels}{more}}}"), (*value).to_owned());
        assert_eq!(counted(&workloads), expected.iter().map(line).collect());
    };
    assert!(workloads.get(&key).connected.is_none());
    sleep(Duration::from_secs(1)).await;
    check(&[("connection_up", "", "0")]);
    world.write_secret(KUBECONFIG).await;
    wait(&workloads, &key, true).await;
    sleep(Duration::from_secs(25)).await;
    let (success, error) = (",status=\"success\"", ",status=\"error\"");
    check(&[("connection_up", "", "1"), ("healthcheck", "", "1"), ("healthchecks_total", success, "2")]);
    world.is_cut.store(true, Ordering::SeqCst);
    sleep(Duration::from_secs(10)).await;
    let failed = ("healthchecks_total", error, "1");
    check(&[("connection_up", "", "1"), ("healthcheck", "", "0"), ("healthchecks_total", success, "2"), failed]);
    wait(&workloads, &key, false).await;
    let failed = ("healthchecks_total", error, "5");
    check(&[("connection_up", "", "0"), ("healthcheck", "", "0"), ("healthchecks_total", success, "2"), failed]);
    let clusters = Api::<Cluster>::namespaced(world.management.clone(), "default");
    clusters.delete("w", &Default::default()).await.expect("it must be deleted");
    sleep(LONG).await;
    check(&[]);
}

#[tokio::test(start_paused = true)]
async fn another_kubeconfig_makes_another_connection() {
    let world = World::start().await;
    let (workloads, key) = (world.clusters().await, ObjectKey::new("default", "w"));
    world.write_secret(KUBECONFIG).await;
    wait(&workloads, &key, true).await;
    let before = world.connects.load(Ordering::SeqCst);
    world.write_secret(&KUBECONFIG.replace("contexts", "preferences: {}, contexts")).await;
    sleep(Duration::from_secs(1)).await;
    assert!(world.connects.load(Ordering::SeqCst) > before);
    assert!(workloads.get(&key).connected.is_some());
}

#[tokio::test(start_paused = true)]
async fn nothing_is_kept_of_a_cluster_that_does_not_exist() {
    let world = World::start().await;
    let workloads = world.clusters().await;
    assert!(workloads.get(&ObjectKey::new("default", "other")).connected.is_none());
    assert!(workloads.shared.links().is_empty());
}
