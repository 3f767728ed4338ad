//! Definitions of custom resources: rules, patterns, defaults and columns.

use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::{Attack, message};

pub(super) const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
pub(super) const THINGS: &str = "/apis/x.io/v1/namespaces/default/things";

pub(super) fn definition(spec: &Value, columns: &Value) -> Value {
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.x.io"},
        "spec": {"group": "x.io", "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"},
            "versions": [{"name": "v1", "served": true, "storage": true, "additionalPrinterColumns": columns,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}}]}})
}

fn with_rule(rule: &str) -> Value {
    let spec = json!({"type": "object", "properties": {"s": {"type": "string", "maxLength": 10}},
        "x-kubernetes-validations": [{"rule": rule}]});
    definition(&spec, &json!([]))
}

pub(super) fn thing(spec: &Value) -> Value {
    json!({"apiVersion": "x.io/v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": spec})
}

pub(super) async fn create(attack: &Attack, definition: &Value) -> (StatusCode, Value) {
    attack.json(Method::POST, DEFINITIONS, definition).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rules_that_nest_too_deep_are_refused() {
    let attack = Attack::by_admin().await;
    for terms in [2_759, 10_000, 500_000] {
        let answer = create(&attack, &with_rule(&format!("1{} > 0", "+1".repeat(terms)))).await;
        assert_eq!(answer.0, StatusCode::UNPROCESSABLE_ENTITY, "{terms}");
        assert!(message(&answer).contains("compilation failed: expression"), "{terms}");
    }
    for text in ["(", "[", "!", "-", "self.", "true?", "{1:", "self.map(x,", "f(", "'", "\"\"\""] {
        let answer = create(&attack, &with_rule(&text.repeat(30_000 / text.len()))).await;
        assert_eq!(answer.0, StatusCode::UNPROCESSABLE_ENTITY, "{text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rule_that_is_accepted_never_ends_the_server_and_its_definition_can_be_deleted() {
    let attack = Attack::by_admin().await;
    for rule in [
        format!("[self.s]{}.size() > 0", ".map(x, x + x)".repeat(40)),
        format!("{}1 > 0", "1+".repeat(200)),
        vec!["self.s.size() >= 0"; 1_500].join(" && "),
        format!("self.s in [{}'']", "'x',".repeat(5_000)),
        "'0123456789'.matches('((a{0,100}){0,100}){0,10}') || true".to_owned(),
    ] {
        let answer = create(&attack, &with_rule(&rule)).await;
        if answer.0 == StatusCode::CREATED {
            attack.json(Method::POST, THINGS, &thing(&json!({"s": "0123456789"}))).await;
            attack.json(Method::PATCH, &format!("{THINGS}/a"), &json!({"spec": {"s": "1"}})).await;
            let gone = attack.json(Method::DELETE, &format!("{DEFINITIONS}/things.x.io"), &json!({})).await;
            assert_eq!(gone.0, StatusCode::OK, "{}", message(&gone));
            while attack.json(Method::GET, &format!("{DEFINITIONS}/things.x.io"), &json!({})).await.0 == StatusCode::OK
            {
            }
        } else {
            assert_eq!(answer.0, StatusCode::UNPROCESSABLE_ENTITY, "{}", message(&answer));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_patterns_and_values_of_all_of_them() {
    let attack = Attack::by_admin().await;
    let name = |number: usize| format!("p{number}");
    let pattern = |number: usize| json!({"type": "string", "pattern": format!("^(a{number}|b){{1,40}}(c|d){{1,40}}$")});
    let fields: serde_json::Map<String, Value> = (0..1_000).map(|number| (name(number), pattern(number))).collect();
    let answer = create(&attack, &definition(&json!({"type": "object", "properties": fields}), &json!([]))).await;
    assert_eq!(answer.0, StatusCode::CREATED, "{}", message(&answer));
    let values: serde_json::Map<String, Value> = (0..1_000).map(|number| (name(number), json!("bc"))).collect();
    let answer = attack.json(Method::POST, THINGS, &thing(&Value::Object(values))).await;
    assert_eq!(answer.0, StatusCode::CREATED, "{}", message(&answer));
    let large = json!({"type": "object", "properties": {"p": {"type": "string", "pattern": "(a{1000}){1000}"}}});
    let answer = attack
        .json(
            Method::PATCH,
            &format!("{DEFINITIONS}/things.x.io?dryRun=All"),
            &json!({"spec": {"versions": [
        {"name": "v1", "served": true, "storage": true,
         "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": large}}}}]}}),
        )
        .await;
    assert!(message(&answer).contains("must be a valid regular expression"), "{}", message(&answer));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_default_that_is_filled_in_many_times() {
    let attack = Attack::by_admin().await;
    let item = json!({"type": "object", "properties": {"t": {"type": "string", "default": "x".repeat(1_000_000)}}});
    let spec = json!({"type": "object", "properties": {"l": {"type": "array", "items": item}}});
    assert_eq!(create(&attack, &definition(&spec, &json!([]))).await.0, StatusCode::CREATED);
    let answer = attack.json(Method::POST, THINGS, &thing(&json!({"l": vec![json!({}); 100_000]}))).await;
    assert_eq!(message(&answer), "Request entity too large: it would take up too much memory");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_column_that_looks_everywhere_eight_times() {
    let attack = Attack::by_admin().await;
    let spec = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let column = json!({"name": "X", "type": "string", "jsonPath": format!("{}.none", "..*".repeat(8))});
    let answer = create(&attack, &definition(&spec, &json!([column]))).await;
    assert_eq!(answer.0, StatusCode::CREATED, "{}", message(&answer));
    let deep = (0..90).fold(json!({"a": 1}), |value, _| json!({"a": value, "b": [1, {"c": 2}]}));
    assert_eq!(attack.json(Method::POST, THINGS, &thing(&deep)).await.0, StatusCode::CREATED);
    let table = attack.running.client_by_token(&attack.running.token("read-only")).await;
    let viewer = Attack { running: attack.running, client: table };
    let request = http::Request::get(THINGS).header("accept", "application/json;as=Table;v=v1;g=meta.k8s.io");
    let request = request.body(kube::client::Body::empty()).expect("it must be a request");
    let response = viewer.client.send(request).await.expect("there must be an answer");
    assert_eq!(response.status(), StatusCode::OK);
    viewer.assert_served().await;
}

/// A definition with so many properties, of a group with so many of them.
fn wide(number: usize, properties: usize) -> Value {
    let members: serde_json::Map<String, Value> =
        (0..properties).map(|number| (format!("p{number}"), json!({"type": "string"}))).collect();
    let mut definition = definition(&json!({"type": "object", "properties": members}), &json!([]));
    definition["metadata"]["name"] = format!("wide{number}s.x.io").into();
    definition["spec"]["names"] = json!({"plural": format!("wide{number}s"), "kind": format!("Wide{number}")});
    definition
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_definitions_hold_is_bounded() {
    let attack = Attack::by_admin().await;
    let answer = create(&attack, &wide(0, 60_000)).await;
    assert_eq!(message(&answer), "Request entity too large: limit of a definition is 1572864");
    let answer = create(&attack, &wide(0, 40_000)).await;
    assert_eq!(answer.0, StatusCode::FORBIDDEN);
    assert!(message(&answer).contains("the definition would hold"), "{}", message(&answer));
    let mut made = 0;
    let refused = loop {
        let answer = create(&attack, &wide(made, 20_000)).await;
        if answer.0 != StatusCode::CREATED {
            break answer;
        }
        made += 1;
    };
    assert_eq!(refused.0, StatusCode::FORBIDDEN);
    assert!((8..16).contains(&made), "{made}");
    let all = "all definitions of the cluster would hold";
    assert!(message(&refused).contains(all), "{}", message(&refused));
    // One that is there may be written, and what is deleted makes room.
    let label = json!({"metadata": {"labels": {"a": "b"}}});
    let written = attack.json(Method::PATCH, &format!("{DEFINITIONS}/wide0s.x.io"), &label).await;
    assert_eq!(written.0, StatusCode::OK, "{}", message(&written));
    for kind in ["/openapi/v3/apis/x.io/v1", "/openapi/v3", "/openapi/v2", "/apis"] {
        assert_eq!(attack.json(Method::GET, kind, &json!({})).await.0, StatusCode::OK, "{kind}");
    }
    assert_eq!(attack.json(Method::DELETE, &format!("{DEFINITIONS}/wide0s.x.io"), &json!({})).await.0, StatusCode::OK);
    while attack.json(Method::GET, &format!("{DEFINITIONS}/wide0s.x.io"), &json!({})).await.0 == StatusCode::OK {}
    // What was made of it goes a moment later.
    for _ in 0..100 {
        if create(&attack, &wide(made, 20_000)).await.0 == StatusCode::CREATED {
            return;
        }
    }
    panic!("there must be room again");
}
