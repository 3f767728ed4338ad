//! Resources that come and go with their definitions.

use http::Method;
use refit_api::crd;
use serde_json::{Value, json};

use crate::client::Client;
use crate::widgets::{self, DEFINITIONS, WIDGETS, definition, widget};

const WIDGET_DEFINITION: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com";

#[tokio::test]
async fn a_resource_is_served_as_soon_as_its_definition_is_answered() {
    let client = Client::new().await;
    assert_eq!(client.get(WIDGETS).await.0, 404);
    let made = client.create(DEFINITIONS, definition(json!({"type": "object"}))).await;
    assert_eq!(made["spec"]["names"]["listKind"], "WidgetList");
    assert_eq!(made["spec"]["conversion"], json!({"strategy": "None"}));
    assert_eq!(made["status"]["storedVersions"], json!(["v1"]));
    let conditions = made["status"]["conditions"].as_array().unwrap();
    assert!(conditions.iter().all(|condition| condition["status"] == "True"), "{conditions:?}");
    client.create(WIDGETS, widget("a", json!({}))).await;
}

#[tokio::test]
async fn a_wrong_definition_is_refused_with_every_cause() {
    let client = Client::new().await;
    let mut wrong = definition(json!({"type": "object", "properties": {"a": {}}}));
    wrong["spec"]["scope"] = "Foo".into();
    let (code, refusal) = client.post(DEFINITIONS, wrong).await;
    assert_eq!((code, refusal["details"]["causes"].as_array().map(Vec::len)), (422, Some(2)), "{refusal}");
    let message = refusal["message"].as_str().unwrap();
    let start = "CustomResourceDefinition.apiextensions.k8s.io \"widgets.example.com\" is invalid: [spec.scope: ";
    assert!(message.starts_with(start), "{message}");
}

#[tokio::test]
async fn a_deleted_definition_goes_after_its_objects() {
    let client = widgets::client().await;
    client.create(WIDGETS, widget("free", json!({}))).await;
    let mut held = widget("held", json!({}));
    held["metadata"]["finalizers"] = json!(["x/y"]);
    client.create(WIDGETS, held).await;
    let (code, marked) = client.delete(WIDGET_DEFINITION).await;
    assert_eq!(code, 200);
    assert_eq!(marked["metadata"]["finalizers"], json!(["customresourcecleanup.apiextensions.k8s.io"]));
    let (code, refusal) = client.post(WIDGETS, widget("late", json!({}))).await;
    let message =
        "widgets.example.com \"late\" is forbidden: create not allowed while custom resource definition is terminating";
    assert_eq!((code, &refusal["message"]), (403, &json!(message)));
    client.settle().await;
    assert!(!client.has(&format!("{WIDGETS}/free")).await);
    let (_, definition) = client.get(WIDGET_DEFINITION).await;
    assert_eq!(definition["status"]["conditions"][2]["reason"], "InstanceDeletionInProgress");
    client.patch(&format!("{WIDGETS}/held"), json!({"metadata": {"finalizers": null}})).await;
    client.settle().await;
    assert!(!client.has(WIDGET_DEFINITION).await);
    assert_eq!(client.get(WIDGETS).await.0, 404);
}

#[tokio::test]
async fn names_that_are_given_back_go_to_who_waits_for_them() {
    let client = widgets::client().await;
    let mut second = definition(json!({"type": "object"}));
    second["metadata"]["name"] = "gadgets.example.com".into();
    second["spec"]["names"]["plural"] = "gadgets".into();
    let made = client.create(DEFINITIONS, second).await;
    assert_eq!(made["status"]["conditions"][0]["reason"], "ListKindConflict");
    let gadgets = "/apis/example.com/v1/gadgets";
    assert_eq!(client.get(gadgets).await.0, 404);
    client.delete(WIDGET_DEFINITION).await;
    let running = tokio::spawn({
        let api = client.api.clone();
        async move { api.run_lifecycle().await }
    });
    client.wait_for(gadgets, |code, _| code == 200).await;
    running.abort();
}

#[tokio::test]
async fn a_changed_definition_counts_at_once() {
    let client = widgets::client().await;
    client.create(WIDGETS, widget("a", json!({"size": 1}))).await;
    let (_, mut changed) = client.get(WIDGET_DEFINITION).await;
    let version = &mut changed["spec"]["versions"][0];
    version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["size"]["maximum"] = json!(5);
    version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["color"] =
        json!({"type": "string", "default": "red"});
    let mut second = version.clone();
    second["name"] = "v2".into();
    second["storage"] = false.into();
    changed["spec"]["versions"].as_array_mut().unwrap().push(second);
    let (code, changed) = client.put(WIDGET_DEFINITION, changed).await;
    assert_eq!((code, &changed["metadata"]["generation"]), (200, &json!(2)), "{changed}");
    let (_, shown) = client.get("/apis/example.com/v2/namespaces/default/widgets/a").await;
    assert_eq!((&shown["apiVersion"], &shown["spec"]["color"]), (&json!("example.com/v2"), &json!("red")));
    assert_eq!(client.post(WIDGETS, widget("b", json!({"size": 6}))).await.0, 422);
    let unserved = json!({"spec": {"versions": [changed["spec"]["versions"][0]]}});
    client.patch(WIDGET_DEFINITION, unserved).await;
    assert_eq!(client.get("/apis/example.com/v2/widgets").await.0, 404);
    let (code, refusal) = client.patch(WIDGET_DEFINITION, json!({"spec": {"scope": "Cluster"}})).await;
    assert_eq!(code, 422, "{refusal}");
}

#[tokio::test]
async fn what_a_schema_keeps_open_stays_open() {
    let client = Client::new().await;
    let mut open = definition(json!({"type": "object"}));
    let root = &mut open["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    *root = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let made = client.create(DEFINITIONS, open.clone()).await;
    let shown = &made["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    assert_eq!(*shown, open["spec"]["versions"][0]["schema"]["openAPIV3Schema"]);
    let mut object = widget("a", json!({"deep": {"deeper": [1, {"x": "y"}]}}));
    object["other"] = json!(true);
    let made = client.create(WIDGETS, object.clone()).await;
    assert_eq!((&made["spec"], &made["other"]), (&object["spec"], &Value::Bool(true)));
}

#[tokio::test]
async fn webhooks_are_refused_in_words() {
    let client = Client::new().await;
    for plural in ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"] {
        let uri = format!("/apis/admissionregistration.k8s.io/v1/{plural}");
        let (code, refusal) = client.post(&uri, json!({"metadata": {"name": "a"}})).await;
        let message = refusal["message"].as_str().unwrap_or_default();
        assert!(code == 501 && message.contains("calls no admission webhooks"), "{refusal}");
    }
    let mut converted = definition(json!({"type": "object"}));
    converted["spec"]["conversion"] = json!({"strategy": "Webhook"});
    let (code, refusal) = client.post(DEFINITIONS, converted).await;
    assert_eq!((code, &refusal["details"]["causes"][0]["field"]), (422, &json!("spec.conversion.strategy")));
}

#[tokio::test]
async fn our_own_definitions_can_be_applied_twice() {
    let client = Client::new().await;
    let mut versions = [Vec::new(), Vec::new()];
    for (round, expected) in [201, 200].into_iter().enumerate() {
        for definition in crd::all() {
            let name = definition["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            let uri = format!("{DEFINITIONS}/{name}?fieldManager=m&force=true");
            let (code, answer) =
                client.send_as(Method::PATCH, &uri, definition.clone(), "application/apply-patch+yaml").await;
            assert_eq!(code, expected, "{answer}");
            versions[round].push(answer["metadata"]["resourceVersion"].clone());
        }
    }
    assert_eq!(versions[0], versions[1]);
    assert_eq!(client.get("/apis/cluster.x-k8s.io/v1beta2/machines").await.0, 200);
}
