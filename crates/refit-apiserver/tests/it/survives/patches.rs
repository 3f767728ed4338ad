//! Patches, by anybody who may write, dry runs included.

use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::{Attack, message};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const JSON_PATCH: &str = "application/json-patch+json";

async fn attack() -> Attack {
    let attack = Attack::by_admin().await;
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}});
    assert_eq!(attack.json(Method::POST, MAPS, &map).await.0, StatusCode::CREATED);
    attack
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn copies_that_double_the_object() {
    let attack = attack().await;
    let operations: Vec<Value> =
        (0..30).map(|number| json!({"op": "copy", "from": "", "path": format!("/data/c{number}")})).collect();
    for query in ["", "?dryRun=All"] {
        let body = json!(operations).to_string().into_bytes();
        let answer = attack.send(Method::PATCH, &format!("{MAPS}/a{query}"), JSON_PATCH, body).await;
        assert_eq!(answer.0, StatusCode::UNPROCESSABLE_ENTITY, "{}", message(&answer));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn adds_that_nest() {
    let attack = attack().await;
    let operations: Vec<Value> = (0..3_000)
        .map(|depth| json!({"op": "add", "path": format!("/data{}", "/x".repeat(depth % 400 + 1)), "value": {}}))
        .collect();
    let body = json!(operations).to_string().into_bytes();
    let answer = attack.send(Method::PATCH, &format!("{MAPS}/a"), JSON_PATCH, body).await;
    assert_eq!(message(&answer), "Request entity too large: it would nest more than 120 levels deep");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn inserts_at_the_front_of_a_long_list() {
    let attack = attack().await;
    let mut operations = vec![json!({"op": "add", "path": "/data", "value": vec![1; 500_000]})];
    operations.extend((0..9_990).map(|_| json!({"op": "add", "path": "/data/0", "value": 1})));
    let body = json!(operations).to_string().into_bytes();
    let answer = attack.send(Method::PATCH, &format!("{MAPS}/a"), JSON_PATCH, body).await;
    assert_eq!(answer.0, StatusCode::PAYLOAD_TOO_LARGE, "{}", message(&answer));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn merges_of_lists_with_tens_of_thousands_of_items() {
    let attack = attack().await;
    let names = |from: usize, to: usize| -> Vec<String> { (from..to).map(|number| format!("x.io/{number}")).collect() };
    let patch = json!({"metadata": {"finalizers": names(0, 40_000)}});
    let send = |media_type: &'static str, patch: Value| {
        let attack = &attack;
        async move { attack.send(Method::PATCH, &format!("{MAPS}/a"), media_type, patch.to_string().into_bytes()).await }
    };
    let strategic = "application/strategic-merge-patch+json";
    let answer = send(strategic, patch).await;
    assert_eq!(answer.0, StatusCode::OK, "{}", message(&answer));
    let order = json!({"metadata": {"$setElementOrder/finalizers": names(0, 80_000), "finalizers": names(20_000, 80_000),
        "$deleteFromPrimitiveList/finalizers": names(0, 20_000)}});
    let answer = send(strategic, order).await;
    assert_eq!(answer.0, StatusCode::OK, "{}", message(&answer));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn patches_that_make_an_object_ever_larger() {
    let attack = attack().await;
    let mut last = (StatusCode::OK, Value::Null);
    for number in 0..8 {
        let patch = json!({"metadata": {"annotations": {format!("a{number}"): "x".repeat(2_900_000)}}});
        last = attack.json(Method::PATCH, &format!("{MAPS}/a"), &patch).await;
        if last.0 != StatusCode::OK {
            break;
        }
    }
    assert!(last.0.is_client_error(), "{} {}", last.0, message(&last));
}
