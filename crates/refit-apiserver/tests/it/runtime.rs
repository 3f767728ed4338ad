//! kube-rs' watcher, reflector, Controller and finalizer over both transports.

use std::sync::Arc;
use std::time::Duration;

use futures::{Stream, StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams};
use kube::runtime::controller::Action;
use kube::runtime::finalizer::{Event, finalizer};
use kube::runtime::{Controller, WatchStreamExt, reflector, watcher};
use kube::{Client, Resource, ResourceExt};
use refit_api::crd;
use refit_apiserver::host::Host;
use refit_apiserver::store::Store;
use serde_json::json;
use tokio::sync::oneshot;
use tokio::time::sleep;

use crate::running::{Running, admin_in_process};
use crate::transports::check_both;

const FINALIZER: &str = "refit.dev/test";

fn machines(client: Client) -> (Api<DynamicObject>, ApiResource) {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("cluster.x-k8s.io", "v1beta2", "Machine"));
    (Api::default_namespaced_with(client, &resource), resource)
}

/// Installs the definitions and makes machines m1, m2, …
async fn make_machines(client: &Client, count: usize) -> (Api<DynamicObject>, ApiResource) {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    for definition in crd::all() {
        let definition = serde_json::from_value(definition).expect("it must be a definition");
        definitions.create(&PostParams::default(), &definition).await.expect("it must be accepted");
    }
    let (machines, resource) = machines(client.clone());
    for number in 1..=count {
        machines.create(&PostParams::default(), &machine(&resource, number)).await.expect("it must be made");
    }
    (machines, resource)
}

fn machine(resource: &ApiResource, number: usize) -> DynamicObject {
    DynamicObject::new(&format!("m{number}"), resource).data(json!({"spec": {
        "clusterName": "c",
        "bootstrap": {"dataSecretName": "s"},
        "infrastructureRef": {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "Host", "name": "h"},
    }}))
}

#[tokio::test]
async fn a_reflector_holds_what_was_there_and_what_comes() {
    check_both(|client| async move {
        let (machines, resource) = make_machines(&client, 3).await;
        for (config, next) in [(watcher::Config::default(), 4), (watcher::Config::default().streaming_lists(), 5)] {
            let writer = reflector::store::Writer::new(resource.clone());
            let store = writer.as_reader();
            let mut events = watcher(machines.clone(), config).reflect(writer).boxed();
            while !matches!(events.try_next().await.expect("the watch must go on"), Some(watcher::Event::InitDone)) {}
            assert_eq!(store.len(), next - 1);
            machines.create(&PostParams::default(), &machine(&resource, next)).await.expect("it must be made");
            let event = events.try_next().await.expect("the watch must go on");
            assert!(matches!(event, Some(watcher::Event::Apply(_))), "{event:?}");
            assert_eq!(store.len(), next);
        }
    })
    .await;
}

#[derive(Debug, thiserror::Error)]
#[error("never")]
struct Never;

/// The names of machines that a controller has put its finalizer on, and of those it has cleaned up after.
fn control(client: &Client) -> impl Stream<Item = String> + use<> {
    let (api, resource) = machines(client.clone());
    let context = Arc::new(api.clone());
    let reconcile = |machine: Arc<DynamicObject>, api: Arc<Api<DynamicObject>>| async move {
        finalizer(&api, FINALIZER, machine, |event| async move {
            match event {
                Event::Apply(_) | Event::Cleanup(_) => Ok::<_, Never>(Action::await_change()),
            }
        })
        .await
    };
    let controller = Controller::new_with(api, watcher::Config::default(), resource);
    let done = controller.run(reconcile, |_, _, _| Action::requeue(Duration::from_millis(10)), context);
    done.filter_map(|result| async { result.ok().map(|(object, _)| object.name) })
}

#[tokio::test]
async fn a_controller_puts_its_finalizer_on_every_object() {
    check_both(|client| async move {
        let (machines, _) = make_machines(&client, 5).await;
        let mut reconciled = control(&client).boxed();
        let is_marked = |machine: &DynamicObject| machine.finalizers().iter().any(|name| name == FINALIZER);
        while !machines.list(&Default::default()).await.unwrap().iter().all(is_marked) {
            reconciled.next().await.expect("the controller must go on");
        }
    })
    .await;
}

#[tokio::test]
async fn a_deleted_object_goes_when_its_finalizer_does() {
    check_both(|client| async move {
        let (machines, _) = make_machines(&client, 3).await;
        let mut reconciled = control(&client).boxed();
        reconciled.next().await.expect("the controller must go on");
        machines.delete_collection(&DeleteParams::default(), &Default::default()).await.expect("they must be deleted");
        while !machines.list(&Default::default()).await.unwrap().items.is_empty() {
            reconciled.next().await.expect("the controller must go on");
        }
    })
    .await;
}

/// A controller that gives each machine a config map of its name, and follows these as well.
fn control_maps(client: &Client) -> impl Stream<Item = String> + use<> {
    let (api, resource) = machines(client.clone());
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let reconcile = |machine: Arc<DynamicObject>, context: Arc<(Api<ConfigMap>, ApiResource)>| async move {
        let (maps, resource) = &*context;
        let owner = machine.controller_owner_ref(resource).expect("a stored object must have a reference");
        let metadata = json!({"name": machine.name_any(), "ownerReferences": [owner]});
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
        maps.patch(&machine.name_any(), &PatchParams::apply("test"), &Patch::Apply(map)).await?;
        Ok::<_, kube::Error>(Action::await_change())
    };
    let context = Arc::new((maps.clone(), resource.clone()));
    let controller = Controller::new_with(api, watcher::Config::default(), resource);
    let controller = controller.owns(maps, watcher::Config::default().streaming_lists());
    let done = controller.run(reconcile, |_, _, _| Action::requeue(Duration::from_millis(10)), context);
    done.filter_map(|result| async { result.ok().map(|(object, _)| object.name) })
}

#[tokio::test]
async fn a_controller_makes_anew_what_it_owns() {
    check_both(|client| async move {
        make_machines(&client, 3).await;
        let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
        let mut reconciled = control_maps(&client).boxed();
        let are_all_there = async || maps.list(&Default::default()).await.unwrap().items.len() == 3;
        while !are_all_there().await {
            reconciled.next().await.expect("the controller must go on");
        }
        let uid = maps.get("m2").await.expect("it must be there").uid();
        maps.delete("m2", &DeleteParams::default()).await.expect("it must be deleted");
        while !are_all_there().await {
            reconciled.next().await.expect("the controller must go on");
        }
        assert_ne!(maps.get("m2").await.expect("it must be there again").uid(), uid);
    })
    .await;
}

async fn write(maps: &Api<ConfigMap>, number: usize) {
    let mut map = ConfigMap::default();
    map.metadata.name = Some(format!("c{number}"));
    maps.create(&PostParams::default(), &map).await.expect("it must be made");
}

/// Reads until all objects were seen, in their order and once each. A second listing would hide what was lost.
async fn seen_once(
    mut events: impl Stream<Item = watcher::Result<watcher::Event<ConfigMap>>> + Unpin,
    begun: oneshot::Sender<()>,
    count: usize,
) {
    let (mut seen, mut listings, mut begun) = (Vec::new(), 0, Some(begun));
    while seen.len() < count {
        match events.next().await.expect("the watch must go on") {
            Ok(watcher::Event::Apply(map)) => seen.push(map.name_any()),
            Ok(watcher::Event::Init) => listings += 1,
            Ok(watcher::Event::InitDone) => drop(begun.take()),
            Ok(_) => {}
            // The server is away; asking again at once would keep this thread from starting it.
            Err(_) => sleep(Duration::from_millis(5)).await,
        }
    }
    let expected: Vec<String> = (0..count).map(|number| format!("c{number}")).collect();
    assert_eq!((seen, listings), (expected, 1));
}

#[tokio::test(start_paused = true)]
async fn a_watch_in_process_that_ends_and_begins_again_loses_nothing() {
    let host = Host::start_on_system(Store::in_memory()).await.expect("the API must start");
    let maps: Api<ConfigMap> = Api::default_namespaced(admin_in_process(&host));
    let events = watcher(maps.clone(), watcher::Config::default().timeout(5)).boxed();
    let (begun, has_begun) = oneshot::channel();
    let writes = async {
        let _ = has_begun.await;
        for number in 0..60 {
            sleep(Duration::from_secs(1)).await;
            write(&maps, number).await;
        }
    };
    tokio::join!(seen_once(events, begun, 60), writes);
}

#[tokio::test]
async fn a_watch_over_a_server_that_goes_and_comes_loses_nothing() {
    let mut running = Running::start().await;
    let local: Api<ConfigMap> = Api::default_namespaced(admin_in_process(&running.host));
    let remote: Api<ConfigMap> = Api::default_namespaced(running.client().await);
    let events = watcher(remote, watcher::Config::default()).boxed();
    let (begun, has_begun) = oneshot::channel();
    let writes = async {
        let _ = has_begun.await;
        for round in 0..4 {
            write(&local, round * 3).await;
            write(&local, round * 3 + 1).await;
            running.restart(write(&local, round * 3 + 2)).await;
        }
    };
    tokio::join!(seen_once(events, begun, 12), writes);
    running.stop().await;
}
