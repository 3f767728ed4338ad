//! What is wrong in many places, or wrong at great length, is refused in few words.

use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::definitions::{DEFINITIONS, THINGS, create, definition, thing};
use super::{Attack, message};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
/// How many things are wrong in each body.
const MANY: usize = 20_000;
/// The longest refusal: its message and its causes.
const REFUSAL_BYTES: usize = 2 * 1024 * 1024;

/// The answer names some of the errors, says that there are more, and is short.
fn assert_bounded(what: &str, answer: &(StatusCode, Value)) {
    assert_eq!(answer.0, StatusCode::UNPROCESSABLE_ENTITY, "{what}: {:.300}", message(answer));
    assert!(answer.1.to_string().len() < REFUSAL_BYTES, "{what}: {} bytes", answer.1.to_string().len());
    let causes = answer.1["details"]["causes"].as_array().map_or(&[][..], Vec::as_slice);
    let last = causes.last().map(|cause| cause["message"].to_string()).unwrap_or_default();
    assert!(last.contains("there are more errors than are named here"), "{what}: {last:.300}");
    assert!((20..=257).contains(&causes.len()), "{what}: {} causes", causes.len());
}

fn numbered(member: impl Fn(usize) -> (String, Value)) -> Value {
    Value::Object((0..MANY).map(member).collect())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn metadata_and_data_that_are_wrong_all_over() {
    let attack = Attack::by_admin().await;
    let map = |metadata: &Value| {
        let mut map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
        map["metadata"]["name"] = "a".into();
        map
    };
    let mut data = map(&json!({}));
    data["data"] = numbered(|number| (format!("{number}/"), json!("")));
    let bodies = [
        ("finalizers", map(&json!({"finalizers": vec![""; MANY]}))),
        ("owners", map(&json!({"ownerReferences": vec![json!({}); MANY]}))),
        ("labels", map(&json!({"labels": numbered(|number| (format!("{number}//"), json!("//")))}))),
        ("annotations", map(&json!({"annotations": numbered(|number| (format!("{number}//"), json!("")))}))),
        ("data", data),
    ];
    for (what, body) in bodies {
        assert_bounded(what, &attack.json(Method::POST, &format!("{MAPS}?dryRun=All"), &body).await);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_apply_that_conflicts_all_over() {
    let attack = Attack::by_admin().await;
    let map = |value: &str| {
        let data = numbered(|number| (format!("k{number}"), json!(value)));
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data}).to_string()
    };
    for (manager, value, expected) in [("one", "a", StatusCode::CREATED), ("two", "b", StatusCode::CONFLICT)] {
        let path = format!("{MAPS}/a?fieldManager={manager}");
        let answer = attack.send(Method::PATCH, &path, "application/apply-patch+yaml", map(value).into_bytes()).await;
        assert_eq!(answer.0, expected, "{:.300}", message(&answer));
        if expected == StatusCode::CONFLICT {
            assert!(message(&answer).starts_with(&format!("Apply failed with {MANY} conflicts: ")));
            let causes = answer.1["details"]["causes"].as_array().map_or(0, Vec::len);
            assert!((20..=257).contains(&causes), "{causes} causes");
            assert!(answer.1.to_string().len() < REFUSAL_BYTES);
            assert!(message(&answer).ends_with("there are more errors than are named here; correct these first"));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn owners_without_names_in_protobuf() {
    let attack = Attack::by_admin().await;
    let field = |number: u8, bytes: &[u8]| {
        let mut length = bytes.len();
        let mut field = vec![number << 3 | 2];
        while length > 127 {
            field.push((length & 127) as u8 | 128);
            length >>= 7;
        }
        field.push(length as u8);
        field.extend_from_slice(bytes);
        field
    };
    let metadata = [field(1, b"a"), field(13, b"").repeat(MANY)].concat();
    let kind = field(1, &[field(1, b"v1"), field(2, b"ConfigMap")].concat());
    let body = [b"k8s\0".to_vec(), kind, field(2, &field(1, &metadata))].concat();
    let answer = attack.send(Method::POST, MAPS, "application/vnd.kubernetes.protobuf", body).await;
    assert_bounded("owners", &answer);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_definition_with_names_that_are_none() {
    let attack = Attack::by_admin().await;
    let mut body = definition(&json!({"type": "object"}), &json!([]));
    body["spec"]["names"]["shortNames"] = json!(vec!["//"; MANY]);
    assert_bounded("names", &attack.json(Method::POST, DEFINITIONS, &body).await);
    let fields = json!({"type": "object", "properties": numbered(|number| (format!("f{number}"), json!({})))});
    assert_bounded("fields", &create(&attack, &definition(&fields, &json!([]))).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn values_that_break_what_a_definition_says() {
    let attack = Attack::by_admin().await;
    let list = |item: Value| json!({"type": "array", "maxItems": MANY, "items": item});
    let long: Vec<String> = (0..500).map(|number| format!("{number:04}{}", "y".repeat(2_000))).collect();
    let rule = json!([{"rule": "self != 'q'", "message": "m".repeat(30_000)}]);
    let spec = json!({"type": "object", "properties": {
        "number": list(json!({"type": "integer", "minimum": 5})),
        "listed": list(json!({"type": "string", "enum": long})),
        "either": list(json!({"anyOf": [{"minLength": 5}, {"pattern": "^b"}], "type": "string"})),
        "ruled": list(json!({"type": "string", "maxLength": 10, "x-kubernetes-validations": rule})),
    }});
    let answer = create(&attack, &definition(&spec, &json!([]))).await;
    assert_eq!(answer.0, StatusCode::CREATED, "{}", message(&answer));
    for (what, value) in [
        ("number", json!(vec![1; MANY])),
        ("number", json!(vec!["x"; MANY])),
        ("listed", json!(vec!["x"; 200])),
        ("either", json!(vec!["a"; MANY])),
        ("ruled", json!(vec!["q"; MANY])),
    ] {
        assert_bounded(what, &attack.json(Method::POST, THINGS, &thing(&json!({what: value}))).await);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn small_items_with_large_names_are_not_applied() {
    let attack = Attack::by_admin().await;
    let item = json!({"type": "object", "required": ["a"], "properties": {
        "a": {"type": "string"}, "b": {"type": "string", "default": "d".repeat(20_000)}}});
    let spec = json!({"type": "object", "properties": {"l": {"type": "array", "items": item,
        "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a", "b"]}}});
    assert_eq!(create(&attack, &definition(&spec, &json!([]))).await.0, StatusCode::CREATED);
    let items: Vec<Value> = (0..8_000).map(|number| json!({"a": number.to_string()})).collect();
    let body = thing(&json!({"l": items})).to_string().into_bytes();
    let path = format!("{THINGS}/a?fieldManager=x&dryRun=All");
    let answer = attack.send(Method::PATCH, &path, "application/apply-patch+yaml", body).await;
    assert_eq!(message(&answer), "Request entity too large: it would take up too much memory");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_about_a_namespace_that_no_name_can_be() {
    let attack = Attack::by_nobody().await;
    let body = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview",
        "spec": {"namespace": "a".repeat(2_900_000)}});
    let path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
    let answer = attack.json(Method::POST, path, &body).await;
    assert_eq!(message(&answer), "spec.namespace: must be no more than 63 characters");
}
