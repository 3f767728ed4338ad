use serde_json::json;

use super::*;

fn definition() -> Value {
    let version = |name: &str, is_stored: bool| {
        json!({"name": name, "served": true, "storage": is_stored,
            "schema": {"openAPIV3Schema": {"type": "object"}},
            "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.r", "statusReplicasPath": ".status.r"}}})
    };
    json!({"metadata": {"name": "widgets.example.io"}, "spec": {
        "group": "example.io", "scope": "Namespaced",
        "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "shortNames": ["wi"], "categories": ["all"]},
        "versions": [version("v1beta1", false), version("v1", true)],
    }})
}

fn discovery() -> Discovery {
    Discovery::new(&Catalog::new([&definition()]))
}

fn plain(path: &str) -> Value {
    serde_json::from_slice(discovery().plain(path).expect("it must be served")).unwrap()
}

#[test]
fn the_stable_version_is_preferred() {
    let expected = json!({
        "kind": "APIGroup", "apiVersion": "v1", "name": "example.io",
        "versions": [
            {"groupVersion": "example.io/v1", "version": "v1"},
            {"groupVersion": "example.io/v1beta1", "version": "v1beta1"},
        ],
        "preferredVersion": {"groupVersion": "example.io/v1", "version": "v1"},
    });
    assert_eq!(plain("/apis/example.io"), expected);
}

#[test]
fn a_resource_is_listed_with_its_parts_and_the_hash_of_the_real_server() {
    let expected = json!([
        {"name": "widgets", "singularName": "widget", "namespaced": true, "kind": "Widget",
            "verbs": ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"],
            "shortNames": ["wi"], "categories": ["all"], "storageVersionHash": "1ko09pd2AaU="},
        {"name": "widgets/status", "singularName": "", "namespaced": true, "kind": "Widget",
            "verbs": ["get", "patch", "update"]},
        {"name": "widgets/scale", "singularName": "", "namespaced": true, "group": "autoscaling", "version": "v1",
            "kind": "Scale", "verbs": ["get", "patch", "update"]},
    ]);
    assert_eq!(plain("/apis/example.io/v1")["resources"], expected);
    assert_eq!(plain("/apis/example.io/v1beta1")["resources"], expected);
}

#[test]
fn groups_stand_in_the_order_of_their_priority() {
    let groups = plain("/apis")["groups"].clone();
    let names: Vec<&str> = groups.as_array().unwrap().iter().filter_map(|group| group["name"].as_str()).collect();
    let expected = [
        "apps",
        "events.k8s.io",
        "policy",
        "rbac.authorization.k8s.io",
        "storage.k8s.io",
        "apiextensions.k8s.io",
        "coordination.k8s.io",
        "example.io",
    ];
    assert_eq!(names, expected);
    assert!(discovery().plain("/apis/nope").is_none());
}

#[test]
fn one_document_says_it_all_and_its_tag_follows_its_content() {
    let all = discovery();
    let whole = all.aggregated("/apis").expect("it must be served");
    let document: Value = serde_json::from_slice(&whole.text).unwrap();
    let last = document["items"].as_array().and_then(|items| items.last()).unwrap();
    assert_eq!(last["metadata"]["name"], "example.io");
    assert_eq!(last["versions"][0]["version"], "v1");
    let scale = json!({"subresource": "scale", "verbs": ["get", "patch", "update"],
        "responseKind": {"group": "autoscaling", "version": "v1", "kind": "Scale"}});
    assert_eq!(last["versions"][0]["resources"][0]["subresources"][1], scale);
    assert_eq!(whole.tag, discovery().aggregated("/apis").unwrap().tag);
    assert_ne!(whole.tag, Discovery::new(&Catalog::default()).aggregated("/apis").unwrap().tag);
}
