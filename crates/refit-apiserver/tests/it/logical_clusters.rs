//! Logical clusters: nothing of one shows in another.

use futures::StreamExt;
use http::Request;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, ListParams, PostParams, WatchEvent, WatchParams};
use kube::client::Body;
use kube::{Client, ResourceExt};
use refit_apiserver::access::{admin, cluster_admin};
use refit_apiserver::clusters::ClusterError;
use refit_apiserver::host::Host;
use refit_apiserver::store::Store;

use crate::running::{Running, admin_in_process, client, refusal};

async fn host() -> Host {
    Host::start_on_system(Store::in_memory()).await.expect("the API must start")
}

fn in_cluster(host: &Host, name: &str) -> Client {
    Client::new(host.service(admin()).in_cluster(name), "default")
}

fn map(name: &str) -> ConfigMap {
    let mut map = ConfigMap::default();
    map.metadata.name = Some(name.to_owned());
    map
}

async fn names(client: &Client) -> Vec<String> {
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let list = maps.list(&ListParams::default()).await.expect("they must be listed");
    list.items.iter().map(ResourceExt::name_any).collect()
}

#[tokio::test]
async fn objects_names_and_uids_are_each_clusters_own() {
    let host = host().await;
    let (a, b) = (host.clusters().create("a").await.unwrap(), host.clusters().create("b").await.unwrap());
    assert_ne!(a.uid, b.uid);
    let clients = [admin_in_process(&host), in_cluster(&host, "a"), in_cluster(&host, "b")];
    for (client, name) in clients.iter().zip(["same", "same", "other"]) {
        let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
        maps.create(&PostParams::default(), &map(name)).await.expect("a name must be free in each cluster");
    }
    assert_eq!(
        [names(&clients[0]).await, names(&clients[1]).await, names(&clients[2]).await],
        [["same"], ["same"], ["other"]]
    );
    let found: Vec<_> = host.clusters().list().into_iter().map(|cluster| cluster.name.to_string()).collect();
    assert_eq!(found, ["a", "b"]);
}

#[tokio::test]
async fn a_definition_counts_in_its_own_cluster_only() {
    let host = host().await;
    host.clusters().create("a").await.unwrap();
    host.clusters().create("b").await.unwrap();
    let clients = [in_cluster(&host, "a"), in_cluster(&host, "b"), admin_in_process(&host)];
    let definitions: Api<CustomResourceDefinition> = Api::all(clients[0].clone());
    for definition in refit_api::crd::all() {
        let definition = serde_json::from_value(definition).expect("it must be a definition");
        definitions.create(&PostParams::default(), &definition).await.expect("it must be accepted");
    }
    for (client, expected) in clients.into_iter().zip([200, 404, 404]) {
        let request = Request::get("/apis/cluster.x-k8s.io/v1beta2/machines").body(Body::empty()).unwrap();
        let response = client.send(request).await.expect("there must be an answer");
        assert_eq!(response.status().as_u16(), expected);
    }
}

#[tokio::test]
async fn a_watch_sees_its_own_cluster_only_and_ends_with_it() {
    let host = host().await;
    host.clusters().create("a").await.unwrap();
    let maps = |client| Api::<ConfigMap>::default_namespaced(client);
    let watched = maps(in_cluster(&host, "a"));
    let mut events = watched.watch(&WatchParams::default(), "0").await.unwrap().boxed();
    maps(admin_in_process(&host)).create(&PostParams::default(), &map("outside")).await.unwrap();
    watched.create(&PostParams::default(), &map("inside")).await.unwrap();
    let Some(Ok(WatchEvent::Added(first))) = events.next().await else { panic!("there must be an object") };
    assert_eq!(first.name_any(), "inside");
    host.clusters().drop("a").await.unwrap();
    assert!(matches!(events.next().await, Some(Ok(WatchEvent::Error(status))) if status.code == 410));
    assert!(events.next().await.is_none());
}

#[tokio::test]
async fn a_dropped_cluster_leaves_nothing_to_the_next_of_its_name() {
    let host = host().await;
    let first = host.clusters().create("a").await.unwrap();
    let client = in_cluster(&host, "a");
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    maps.create(&PostParams::default(), &map("x")).await.unwrap();
    assert!(matches!(host.clusters().create("a").await, Err(ClusterError::Exists { .. })));
    host.clusters().drop("a").await.unwrap();
    assert_eq!(refusal(maps.list(&ListParams::default()).await).0, 404);
    assert_eq!(refusal(maps.create(&PostParams::default(), &map("ghost")).await).0, 404);
    assert!(matches!(host.clusters().drop("a").await, Err(ClusterError::Missing { .. })));
    let second = host.clusters().create("a").await.unwrap();
    assert_ne!(first.uid, second.uid);
    assert_eq!(names(&client).await, [""; 0]);
    let old = Client::new(host.service(cluster_admin(&first)).in_cluster("a"), "default");
    assert_eq!(refusal(Api::<Namespace>::all(old).list(&ListParams::default()).await).0, 403);
}

#[tokio::test]
async fn names_that_are_no_part_of_a_path_are_refused() {
    let host = host().await;
    for name in ["", "A", "a/b", "..", "a b"] {
        assert!(matches!(host.clusters().create(name).await, Err(ClusterError::Name { .. })), "{name:?}");
        assert!(matches!(host.clusters().drop(name).await, Err(ClusterError::Name { .. })), "{name:?}");
    }
}

#[tokio::test]
async fn the_kubeconfig_of_a_cluster_reaches_that_cluster_only() {
    let running = Running::start().await;
    let a = running.host.clusters().create("a").await.unwrap();
    let b = running.host.clusters().create("b").await.unwrap();
    let kubeconfig = running.kubeconfigs.of_cluster(&a, Timestamp::now()).unwrap();
    let inside = client(&kubeconfig).await;
    let maps: Api<ConfigMap> = Api::default_namespaced(inside.clone());
    maps.create(&PostParams::default(), &map("x")).await.expect("the cluster is its own");
    assert_eq!(names(&inside).await, ["x"]);
    for url in
        [running.url.clone(), format!("{}/clusters/{}", running.url, b.name), format!("{}/clusters/c", running.url)]
    {
        let outside = client(&kubeconfig.replace(&format!("{}/clusters/a", running.url), &url)).await;
        assert_eq!(refusal(Api::<Namespace>::all(outside).list(&ListParams::default()).await).0, 403, "{url}");
    }
    running.stop().await;
}
