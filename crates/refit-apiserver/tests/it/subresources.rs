//! Parts of objects that have a path of their own.

use http::Method;
use serde_json::{Value, json};

use crate::client::Client;
use crate::widgets::{self, WIDGETS, widget};

/// The managers of an object, with what each is called and through which part it wrote.
fn managers(object: &Value) -> Vec<String> {
    let entries = object["metadata"]["managedFields"].as_array().into_iter().flatten();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    entries
        .map(|entry| {
            format!("{} {} {}", text(&entry["manager"]), text(&entry["operation"]), text(&entry["subresource"]))
        })
        .collect()
}

#[tokio::test]
async fn a_scale_shows_and_changes_the_replicas_of_an_object() {
    let client = widgets::client().await;
    client.create(WIDGETS, widget("a", json!({"replicas": 1, "size": 5}))).await;
    let uri = format!("{WIDGETS}/a/scale");
    let (code, scale) = client.get(&uri).await;
    assert_eq!((code, &scale["kind"], &scale["spec"]), (200, &json!("Scale"), &json!({"replicas": 1})));
    assert!(scale["metadata"].get("managedFields").is_none(), "{scale}");
    let (code, scale) = client.patch(&format!("{uri}?fieldManager=scaler"), json!({"spec": {"replicas": 3}})).await;
    assert_eq!((code, &scale["kind"], &scale["spec"]["replicas"]), (200, &json!("Scale"), &json!(3)));
    let (_, object) = client.get(&format!("{WIDGETS}/a")).await;
    assert_eq!((&object["spec"], &object["metadata"]["generation"]), (&json!({"replicas": 3, "size": 5}), &json!(2)));
    assert_eq!(managers(&object), ["scaler Update scale", "test Update "]);
    let mut stale = scale.clone();
    stale["metadata"]["resourceVersion"] = "1".into();
    assert_eq!(client.put(&uri, stale).await.0, 409);
    let mut wrong = scale;
    wrong["spec"]["replicas"] = json!(-1);
    let (code, refusal) = client.put(&uri, wrong).await;
    let message =
        "Widget.example.com \"a\" is invalid: .spec.replicas: Invalid value: -1: should be a non-negative integer";
    assert_eq!((code, &refusal["message"]), (422, &json!(message)));
}

#[tokio::test]
async fn a_scale_is_applied_with_conflicts() {
    let client = widgets::client().await;
    client.create(WIDGETS, widget("a", json!({"replicas": 1}))).await;
    let scale = json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": {"replicas": 2}});
    let apply = |query: &'static str| {
        let (client, scale) = (&client, scale.clone());
        async move {
            let uri = format!("{WIDGETS}/a/scale?fieldManager=m{query}");
            client.send_as(Method::PATCH, &uri, scale, "application/apply-patch+yaml").await
        }
    };
    let (code, refusal) = apply("").await;
    let message = "Apply failed with 1 conflict: conflict with \"test\" using autoscaling/v1: .spec.replicas";
    assert_eq!((code, &refusal["message"]), (409, &json!(message)));
    assert_eq!(apply("&force=true").await.0, 200);
    let (_, object) = client.get(&format!("{WIDGETS}/a")).await;
    assert_eq!((&object["spec"]["replicas"], managers(&object)[0].as_str()), (&json!(2), "m Apply scale"));
}

#[tokio::test]
async fn unknown_parts_are_not_found() {
    let client = widgets::client().await;
    client.create(WIDGETS, widget("a", json!({}))).await;
    let (code, refusal) = client.get(&format!("{WIDGETS}/a/nothing")).await;
    assert_eq!((code, &refusal["message"]), (404, &json!("widgets.example.com \"a\" not found")));
    let (code, refusal) = client.get("/api/v1/namespaces/default/configmaps/a/nothing").await;
    let message = json!("the server could not find the requested resource");
    assert_eq!((code, &refusal["message"]), (404, &message));
    assert_eq!(client.post(&format!("{WIDGETS}/a/status"), json!({})).await.0, 405);
}

#[tokio::test]
async fn an_eviction_deletes_a_pod_as_far_as_the_budget_goes() {
    let client = Client::new().await;
    let pods = "/api/v1/namespaces/default/pods";
    let budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
    for name in ["a", "b"] {
        let pod = json!({"metadata": {"name": name, "labels": {"app": "x"}}, "spec": {"containers": []}});
        client.create(pods, pod).await;
        let ready = json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}});
        client.patch(&format!("{pods}/{name}/status"), ready).await;
    }
    let spec = json!({"selector": {"matchLabels": {"app": "x"}}});
    client.create(budgets, json!({"metadata": {"name": "budget"}, "spec": spec})).await;
    let status = json!({"status": {
        "observedGeneration": 1, "disruptionsAllowed": 1, "currentHealthy": 2, "desiredHealthy": 2, "expectedPods": 2,
    }});
    client.patch(&format!("{budgets}/budget/status"), status).await;
    let evict = |name: &'static str| {
        let client = &client;
        async move {
            let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}});
            client.post(&format!("{pods}/{name}/eviction"), eviction).await
        }
    };
    let (code, done) = evict("a").await;
    assert_eq!((code, &done["status"]), (201, &json!("Success")));
    assert!(!client.has(&format!("{pods}/a")).await);
    let (code, refusal) = evict("b").await;
    let message = "Cannot evict pod as it would violate the pod's disruption budget.";
    assert_eq!((code, &refusal["message"]), (429, &json!(message)));
    let cause = "The disruption budget budget needs 2 healthy pods and has 2 currently";
    assert_eq!(refusal["details"]["causes"][0]["message"], cause);
    assert!(client.has(&format!("{pods}/b")).await);
}

#[tokio::test]
async fn a_scale_without_replicas_can_be_written_and_not_read() {
    let client = widgets::client().await;
    client.create(WIDGETS, widget("a", json!({"size": 1}))).await;
    let uri = format!("{WIDGETS}/a/scale");
    let (code, refusal) = client.get(&uri).await;
    let message = "Internal error occurred: the spec replicas field \".spec.replicas\" does not exist";
    assert_eq!((code, &refusal["message"]), (500, &json!(message)));
    assert_eq!(client.patch(&uri, json!({"spec": {"replicas": 2}})).await.0, 200);
    let empty = json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}});
    let (code, scale) = client.put(&uri, empty).await;
    assert_eq!((code, &scale["spec"]), (200, &json!({})));
    let (code, refusal) = client.post(&uri, json!({})).await;
    let message = "create is not supported on resources of kind \"widgets.example.com\"";
    assert_eq!((code, &refusal["message"]), (405, &json!(message)));
}
