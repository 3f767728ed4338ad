//! Deleting objects and collections.

use serde_json::json;

use crate::client::{Client, names};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

#[tokio::test]
async fn a_deleted_object_is_gone_and_a_status_says_which_it_was() {
    let client = Client::new().await;
    let map = client.create(MAPS, json!({"metadata": {"name": "a"}})).await;
    let (code, status) = client.delete(&format!("{MAPS}/a?dryRun=All")).await;
    assert_eq!((code, &status["status"]), (200, &json!("Success")));
    let (code, status) = client.delete(&format!("{MAPS}/a")).await;
    assert_eq!(code, 200);
    let details = json!({"name": "a", "kind": "configmaps", "uid": map["metadata"]["uid"]});
    let success =
        json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details});
    assert_eq!(status, success);
    let (code, status) = client.delete(&format!("{MAPS}/a")).await;
    assert_eq!((code, &status["message"]), (404, &json!("configmaps \"a\" not found")));
}

#[tokio::test]
async fn finalizers_hold_an_object_until_the_last_is_removed() {
    let client = Client::new().await;
    client.create(MAPS, json!({"metadata": {"name": "a", "finalizers": ["x/y"]}})).await;
    let uri = format!("{MAPS}/a");
    let (_, held) = client.delete(&uri).await;
    assert_eq!(held["metadata"]["deletionTimestamp"], "2026-01-01T00:00:00Z");
    let (_, again) = client.delete(&uri).await;
    assert_eq!(again, held);
    let (code, taken) = client.post(MAPS, json!({"metadata": {"name": "a"}})).await;
    let message = json!("object is being deleted: configmaps \"a\" already exists");
    assert_eq!((code, &taken["message"]), (409, &message));
    let (code, last) = client.patch(&uri, json!({"metadata": {"finalizers": null}})).await;
    assert_eq!((code, &last["metadata"]["resourceVersion"]), (200, &held["metadata"]["resourceVersion"]));
    assert!(!client.has(&uri).await);
}

#[tokio::test]
async fn a_collection_is_deleted_by_selector_and_shown_as_it_was() {
    let client = Client::new().await;
    for (name, label) in [("a", "x"), ("b", "y"), ("c", "x")] {
        client.create(MAPS, json!({"metadata": {"name": name, "labels": {"l": label}}})).await;
    }
    let (code, list) = client.delete(&format!("{MAPS}?labelSelector=l%3Dx")).await;
    assert_eq!((code, &list["kind"]), (200, &json!("ConfigMapList")));
    assert_eq!(names(&list), ["a", "c"]);
    let (_, left) = client.get(MAPS).await;
    assert_eq!(names(&left), ["b"]);
    for (uri, expected) in [("/api/v1/namespaces", 405), ("/api/v1/configmaps", 405), ("/api/v1/configmaps/a", 404)] {
        assert_eq!(client.delete(uri).await.0, expected, "{uri}");
    }
}

#[tokio::test]
async fn both_groups_see_the_same_events() {
    let client = Client::new().await;
    let new = "/apis/events.k8s.io/v1/namespaces/default/events";
    let core = "/api/v1/namespaces/default/events";
    let event = json!({"metadata": {"name": "e"}, "regarding": {"kind": "Pod", "name": "p"}, "note": "n"});
    let made = client.create(new, event).await;
    assert_eq!((&made["apiVersion"], &made["note"]), (&json!("events.k8s.io/v1"), &json!("n")));
    let (_, seen) = client.get(&format!("{core}/e")).await;
    assert_eq!((&seen["apiVersion"], &seen["message"]), (&json!("v1"), &json!("n")));
    let (code, _) = client.patch(&format!("{core}/e"), json!({"count": 2})).await;
    assert_eq!(code, 200);
    let (_, list) = client.get(&format!("{new}?fieldSelector=regarding.kind%3DPod")).await;
    assert_eq!(list["items"][0]["deprecatedCount"], 2);
    let (code, patched) = client.patch(&format!("{new}/e"), json!({"note": "m"})).await;
    assert_eq!((code, &patched["note"]), (200, &json!("m")));
    client.delete(&format!("{new}/e")).await;
    assert!(!client.has(&format!("{core}/e")).await);
}

#[tokio::test]
async fn an_owner_keeps_its_fields_when_it_sends_them_back() {
    let client = Client::new().await;
    let map = client.create(MAPS, json!({"metadata": {"name": "a"}, "data": {"x": "1"}})).await;
    let (code, patched) = client.patch(&format!("{MAPS}/a"), json!({"data": {"y": "2"}})).await;
    assert_eq!(code, 200);
    let fields = &patched["metadata"]["managedFields"][0]["fieldsV1"]["f:data"];
    assert_eq!(*fields, json!({".": {}, "f:x": {}, "f:y": {}}), "{map}");
}
