//! Objects that go, or stay, with their owners.

use serde_json::{Value, json};

use crate::client::{Client, names};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// A map that names an owner.
fn owned(name: &str, owner: &Value, blocks: bool) -> Value {
    let metadata = &owner["metadata"];
    let reference = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "name": metadata["name"], "uid": metadata["uid"],
        "blockOwnerDeletion": blocks,
    });
    json!({"metadata": {"name": name, "ownerReferences": [reference]}})
}

/// A chain: a owns b, b owns c.
async fn chain(blocks: bool) -> Client {
    let client = Client::new().await;
    let a = client.create(MAPS, json!({"metadata": {"name": "a"}})).await;
    let b = client.create(MAPS, owned("b", &a, blocks)).await;
    client.create(MAPS, owned("c", &b, blocks)).await;
    client.settle().await;
    client
}

/// Deletes the head of a chain; `after` are the maps that are left.
async fn check(blocks: bool, policy: &str, after: &[&str]) {
    let client = chain(blocks).await;
    let (code, _) = client.delete(&format!("{MAPS}/a?propagationPolicy={policy}")).await;
    assert_eq!(code, 200);
    client.settle().await;
    let (_, list) = client.get(MAPS).await;
    assert_eq!(names(&list), after, "{policy}");
    for item in list["items"].as_array().into_iter().flatten() {
        let owner = &item["metadata"]["ownerReferences"][0]["name"];
        assert_ne!(owner, "a", "{item}");
    }
}

#[tokio::test]
async fn what_a_deleted_object_owns_goes_or_stays_as_the_policy_says() {
    check(true, "Background", &[]).await;
    check(true, "Foreground", &[]).await;
    check(false, "Foreground", &[]).await;
    check(true, "Orphan", &["b", "c"]).await;
}

#[tokio::test]
async fn an_owner_deleted_in_the_foreground_waits_for_what_blocks_it() {
    let client = chain(true).await;
    client.patch(&format!("{MAPS}/c"), json!({"metadata": {"finalizers": ["x/y"]}})).await;
    client.delete(&format!("{MAPS}/a?propagationPolicy=Foreground")).await;
    client.settle().await;
    for name in ["a", "b", "c"] {
        let (_, object) = client.get(&format!("{MAPS}/{name}")).await;
        assert!(object["metadata"]["deletionTimestamp"].is_string(), "{object}");
    }
    client.patch(&format!("{MAPS}/c"), json!({"metadata": {"finalizers": null}})).await;
    client.settle().await;
    for name in ["a", "b", "c"] {
        assert!(!client.has(&format!("{MAPS}/{name}")).await, "{name}");
    }
}

#[tokio::test]
async fn an_object_stays_with_the_owners_it_has_left() {
    let client = Client::new().await;
    let a = client.create(MAPS, json!({"metadata": {"name": "a"}})).await;
    let b = client.create(MAPS, json!({"metadata": {"name": "b"}})).await;
    let mut both = owned("c", &a, true);
    let second = owned("c", &b, true)["metadata"]["ownerReferences"][0].clone();
    both["metadata"]["ownerReferences"].as_array_mut().unwrap().push(second);
    client.create(MAPS, both).await;
    client.delete(&format!("{MAPS}/a")).await;
    client.settle().await;
    let (_, c) = client.get(&format!("{MAPS}/c")).await;
    let owners = c["metadata"]["ownerReferences"].as_array().unwrap();
    assert_eq!((owners.len(), &owners[0]["name"]), (1, &json!("b")));
}

#[tokio::test]
async fn an_owner_that_never_was_costs_the_object_its_life_and_one_of_an_unserved_kind_does_not() {
    let client = Client::new().await;
    let reference = |api_version: &str, kind: &str, name: &str, uid: &Value| json!([{"apiVersion": api_version, "kind": kind, "name": name, "uid": uid}]);
    client.create("/api/v1/namespaces", json!({"metadata": {"name": "other"}})).await;
    let elsewhere =
        client.create("/api/v1/namespaces/other/configmaps", json!({"metadata": {"name": "elsewhere"}})).await;
    let (_, namespace) = client.get("/api/v1/namespaces/default").await;
    let nobody = json!("nobody");
    let cases = [
        ("never", reference("v1", "ConfigMap", "x", &nobody), false),
        ("other-namespace", reference("v1", "ConfigMap", "elsewhere", &elsewhere["metadata"]["uid"]), false),
        ("other-uid", reference("v1", "Namespace", "default", &nobody), false),
        ("unserved-kind", reference("g/v1", "Widget", "x", &nobody), true),
        ("unserved-version", reference("v2", "ConfigMap", "x", &nobody), true),
        ("without-namespace", reference("v1", "Namespace", "default", &namespace["metadata"]["uid"]), true),
    ];
    for (name, owners, _) in &cases {
        client.create(MAPS, json!({"metadata": {"name": name, "ownerReferences": owners}})).await;
    }
    client.settle().await;
    for (name, _, stays) in &cases {
        assert_eq!(client.has(&format!("{MAPS}/{name}")).await, *stays, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_running_server_collects_without_being_asked() {
    let client = chain(true).await;
    let api = client.api.clone();
    let running = tokio::spawn(async move { api.run_lifecycle().await });
    client.delete(&format!("{MAPS}/a")).await;
    client.wait_for(&format!("{MAPS}/c"), |code, _| code == 404).await;
    client.api.create_cluster(&"second".into()).await.unwrap();
    let second = Client { api: client.api.clone(), cluster: "second".into() };
    second.create(MAPS, owned("d", &json!({"metadata": {"name": "x", "uid": "y"}}), false)).await;
    second.wait_for(&format!("{MAPS}/d"), |code, _| code == 404).await;
    running.abort();
}
