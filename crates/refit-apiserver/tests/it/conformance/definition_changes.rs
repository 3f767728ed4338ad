//! Facts 13 and 14: objects that were there before their definition changed.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use super::ask::Ask;
use super::definitions::definition;
use super::ends::End;
use super::script::{Case, case};

const THINGS: &str = "/apis/conf.refit.dev/v1/namespaces/$ns/things";
const DEFINITION: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.conf.refit.dev";

#[test]
fn objects_follow_their_definition_as_on_the_real_server() {
    super::on_both_ends(async |ends| {
        let namespace = "definition-changes";
        super::make_namespace(ends, namespace).await;
        for end in ends {
            super::install(end, &[things(&json!({"code": {"type": "string"}, "gone": {"type": "string"}}))]).await;
        }
        let mut problems = before().run(ends, namespace, 1).await;
        for end in ends {
            change(end, namespace).await;
        }
        problems.extend(after().run(ends, namespace, 1).await);
        assert!(problems.is_empty(), "{}", problems.join("\n"));
    });
}

fn things(fields: &Value) -> Value {
    let spec = json!({"type": "object", "properties": fields});
    let schema = json!({"type": "object", "properties": {"spec": spec}});
    let names = json!({"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"});
    let version = json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}});
    definition("Namespaced", &names, &json!([version]))
}

fn before() -> Case {
    let spec = json!({"code": "long enough", "gone": "x"});
    let thing = json!({"apiVersion": "conf.refit.dev/v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": spec});
    case("before the change").post(THINGS, thing)
}

/// Tightens a bound, adds a default, takes a field away; and waits until that shows.
async fn change(end: &End, namespace: &str) {
    let fields = json!({
        "code": {"type": "string", "maxLength": 3},
        "size": {"type": "integer", "default": 7},
        "other": {"type": "string"},
    });
    let spec = things(&fields)["spec"].clone();
    let patch = json!([{"op": "replace", "path": "/spec/versions", "value": spec["versions"]}]);
    let raw = end.send(&Ask::json(Method::PATCH, DEFINITION, "application/json-patch+json", &patch)).await;
    assert_eq!(raw.code, 200, "{raw:?}");
    let uri = format!("{}/a", THINGS.replace("$ns", namespace));
    loop {
        let raw = end.send(&Ask::json(Method::GET, &uri, "application/json", &Value::Null)).await;
        let object: Value = serde_json::from_slice(&raw.body).unwrap_or_default();
        if object["spec"]["size"] == 7 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn after() -> Case {
    let a = format!("{THINGS}/a");
    case("after the change")
        .get(&a)
        .get(THINGS)
        .merge(&a, json!({"spec": {"other": "x"}}))
        .merge(&a, json!({"spec": {"code": "also too long"}}))
        .merge(&a, json!({"spec": {"gone": "y"}}))
        .apply(
            &format!("{a}?fieldManager=m"),
            json!({"apiVersion": "conf.refit.dev/v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": {"size": 8}}),
        )
        .get(&a)
        .delete(&a, json!(null))
}
