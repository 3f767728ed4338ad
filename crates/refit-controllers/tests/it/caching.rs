use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::Request;
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::client::Body;
use kube::{Client, Resource};
use refit_apiserver::access;
use refit_apiserver::host::Host;
use refit_apiserver::store::Store;
use refit_controllers::cache::{BY_CLUSTER, Cache, Change, Informer, ObjectKey, Provided};
use refit_controllers::chance::Chance;
use refit_peers::{ControlPlane, Options, require_peers};
use serde_json::json;
use tower::ServiceExt;

use crate::plain::{self, INFRASTRUCTURE, INFRASTRUCTURE_V1, named};
use crate::world::{api, create, embedded, install_crds, machine, real, until};

const LIMIT: Duration = Duration::from_secs(180);
const VERSION: &str = "cluster.x-k8s.io/v1beta2";

#[tokio::test]
async fn a_write_is_seen_in_the_cache_and_found_by_its_cluster() {
    check_writes_are_seen(embedded().await).await;
}

#[test]
fn a_write_on_the_real_server_is_seen_in_the_cache_and_found_by_its_cluster() {
    let Some(peers) = require_peers() else { return };
    let plane = ControlPlane::start(&peers, Options::default()).expect("a control plane must start");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime must start");
    runtime.block_on(async { check_writes_are_seen(real(&plane).await).await });
}

async fn check_writes_are_seen(client: Client) {
    create(&client, VERSION, "Machine", Some("default"), machine("m1")).await;
    let cache = Cache::start(&client, &Chance::from_seed(1));
    assert!(cache.wait_ready(LIMIT).await, "all kinds must be listed");
    let key = ObjectKey::new("default", "m1");
    assert!(cache.machines.get(&key).is_some());
    let patch = Patch::Merge(json!({ "metadata": { "labels": { "a": "b" } } }));
    let machines = api(&client, VERSION, "Machine", Some("default"));
    let written = machines.patch("m1", &PatchParams::default(), &patch).await.expect("it must be patched");
    let version =
        written.metadata.resource_version.expect("it must have a version").parse().expect("it must be a number");
    assert!(cache.machines.wait_seen(version, LIMIT).await);
    let found = cache.machines.by(BY_CLUSTER, "default/c");
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].metadata.labels.as_ref().and_then(|labels| labels.get("a")).map(String::as_str), Some("b"));
    let definition = ObjectKey::new("", "machines.cluster.x-k8s.io");
    assert!(cache.definitions.get(&definition).is_some());
    // Everything is listed once more, by a request that is made after this.
    let now = tokio::time::Instant::now();
    assert!(cache.wait_as_new_as(now, LIMIT).await, "all kinds must be listed anew");
    machines.delete("m1", &DeleteParams::default()).await.expect("it must be deleted");
    until("it is gone", async || cache.machines.get(&key).is_none().then_some(())).await;
}

/// What is known and told of `PlainMachine`s.
struct Hosts {
    informer: Informer<Provided>,
    told: Arc<Mutex<Vec<String>>>,
}

impl Hosts {
    fn of(cache: &Cache) -> Self {
        let reference = json!({ "apiGroup": INFRASTRUCTURE, "kind": "PlainMachine", "name": "any" });
        let reference = serde_json::from_value(reference).expect("it must be a reference");
        let informer = cache.provider(&cache.provider_kind(&reference).expect("it must be defined").resource);
        let told: Arc<Mutex<Vec<String>>> = Arc::default();
        let tell = Arc::clone(&told);
        let subscriber = move |change: &Change<Provided>| {
            let name = change.either().and_then(|host| host.meta().name.clone()).unwrap_or_default();
            let sign = if change.is_deletion() { "-" } else { "+" };
            tell.lock().expect("nobody must panic").push(format!("{sign}{name}"));
        };
        informer.subscribe("test", Box::new(subscriber));
        Self { informer, told }
    }

    async fn until(&self, name: &str, is_there: bool) {
        let key = ObjectKey::new("default", name);
        until("the host is known so", async || (self.informer.get(&key).is_some() == is_there).then_some(())).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_kind_is_not_asked_for_while_it_is_not_defined_and_nothing_is_lost_when_it_is_again() {
    let host = Host::start_on_system(Store::in_memory()).await.expect("the API must start");
    let client = Client::new(host.service(access::admin()), "default");
    install_crds(&client).await;
    plain::install(&client).await;
    let requests = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&requests);
    let service = host.service(access::admin()).map_request(move |request: Request<Body>| {
        counted.fetch_add(usize::from(request.uri().path().contains("plainmachines")), Ordering::SeqCst);
        request
    });
    let cache = Cache::start(&Client::new(service, "default"), &Chance::from_seed(1));
    assert!(cache.wait_ready(LIMIT).await, "all kinds must be listed");
    let hosts = Hosts::of(&cache);
    create(&client, INFRASTRUCTURE_V1, "PlainMachine", Some("default"), named("a", json!({}))).await;
    hosts.until("a", true).await;

    let definitions = api(&client, "apiextensions.k8s.io/v1", "CustomResourceDefinition", None);
    let name = format!("plainmachines.{INFRASTRUCTURE}");
    definitions.delete(&name, &DeleteParams::default()).await.expect("it must be deleted");
    let key = ObjectKey::new("", name);
    until("the definition is gone", async || cache.definitions.get(&key).is_none().then_some(())).await;
    hosts.until("a", false).await;
    assert!(!hosts.informer.is_ready(), "nobody knows what there is");
    let before = requests.load(Ordering::SeqCst);
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    assert_eq!(requests.load(Ordering::SeqCst), before, "there is nothing to ask for");

    plain::define(&client, "PlainMachine").await;
    create(&client, INFRASTRUCTURE_V1, "PlainMachine", Some("default"), named("b", json!({}))).await;
    hosts.until("b", true).await;
    assert!(hosts.informer.is_ready());
    assert_eq!(*hosts.told.lock().expect("nobody must panic"), ["+a", "-a", "+b"]);
}
