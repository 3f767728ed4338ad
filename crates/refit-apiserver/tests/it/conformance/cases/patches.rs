//! Facts 32 and 33: JSON, merge and strategic patches.

use http::Method;
use serde_json::{Value, json};

use crate::conformance::definitions::{WIDGETS, widget};
use crate::conformance::script::{Case, case};

const MAPS: &str = "/api/v1/namespaces/$ns/configmaps";
const NODES: &str = "/api/v1/nodes";

fn operations(name: &'static str, patches: &[Value]) -> Case {
    let a = format!("{WIDGETS}/a");
    let spec = json!({"size": 1, "tags": ["a", "b"], "params": {"x": "1"}});
    let start = case(name).post(WIDGETS, widget("a", spec));
    patches.iter().fold(start, |case, patch| case.json(&a, patch.clone()))
}

pub fn cases() -> Vec<Case> {
    let a = format!("{WIDGETS}/a");
    let map = format!("{MAPS}/a");
    let many: Vec<Value> = (0..10_001).map(|_| json!({"op": "test", "path": "/kind", "value": "Widget"})).collect();
    vec![
        operations("32 a JSON patch that cannot be carried out", &[
            json!([{"op": "test", "path": "/spec/size", "value": 7}]),
            json!([{"op": "remove", "path": "/spec/nosuch"}]),
            json!([{"op": "remove", "path": "/spec/tags/9"}]),
            json!([{"op": "add", "path": "/spec/tags/9", "value": "x"}]),
            json!([{"op": "add", "path": "/metadata/labels/x", "value": "y"}]),
            json!([{"op": "move", "from": "/spec/nosuch", "path": "/spec/code"}]),
            json!([{"op": "copy", "from": "/nosuch/deep", "path": "/spec/code"}]),
            json!([{"op": "what", "path": "/spec/size"}]),
            json!([{"path": "/spec/size"}]),
            json!([{"op": "add", "value": 1}]),
            json!([{"op": "add", "path": "spec", "value": 1}]),
            json!([{"op": "replace", "path": "/spec/tags/x", "value": "y"}]),
            json!([{"op": "add", "path": "/spec/size"}]),
            json!(["text"]),
            json!([null]),
            json!({"op": "add"}),
            json!("text"),
            json!([{"op": 1, "path": "/spec/size"}]),
            json!(many),
        ]),
        operations("32 a JSON patch may do more than the standard says", &[
            json!([]),
            json!([{"op": "replace", "path": "/spec/code", "value": "x"}]),
            json!([{"op": "copy", "from": "/spec/nosuch", "path": "/spec/note"}]),
            json!([{"op": "test", "path": "/spec/nosuch", "value": null}]),
            json!([{"op": "add", "path": "/spec/tags/-1", "value": "c"}]),
            json!([{"op": "add", "path": "/spec/tags/-", "value": "d"}]),
            json!([{"op": "remove", "path": "/spec/tags/-1"}]),
            json!([{"op": "replace", "path": "/spec/tags/-1", "value": "z"}]),
            json!([{"op": "add", "path": "/spec/params/a~1b", "value": "x"}]),
            json!([{"op": "move", "from": "/spec/params/x", "path": "/spec/params/y"}]),
            json!([{"op": "add", "path": "/spec/tags/01", "value": "q"}]),
            json!([{"op": "add", "path": "/metadata/labels", "value": {}}]),
            json!([{"op": "replace", "path": "", "value": {}}]),
            json!([{"op": "remove", "path": "/spec"}]),
            json!([{"op": "remove", "path": "/metadata/name"}]),
            json!([{"op": "replace", "path": "/metadata/managedFields", "value": [{}]}]),
        ]),
        case("33 a strategic patch of a custom resource is unsupported")
            .post(WIDGETS, widget("a", json!({})))
            .strategic(&a, json!({"spec": {"size": 1}}))
            .raw(Method::PATCH, &a, "text/plain", "{}")
            .raw(Method::PATCH, &a, "application/json", "{}")
            .raw(Method::PATCH, &a, "application/merge-patch+json; charset=utf-8", r#"{"spec":{"size":3}}"#)
            .raw(Method::PATCH, &a, "", "{}"),
        case("33 a wrong type of patch on a config map")
            .post(MAPS, json!({"metadata": {"name": "a"}}))
            .raw(Method::PATCH, &map, "text/plain", "{}")
            .raw(Method::PATCH, &map, "application/json", "{}")
            .raw(Method::PATCH, &map, "", "{}"),
        case("a JSON patch that tests a number by its text")
            .post(WIDGETS, widget("a", json!({"size": 1})))
            .json(&a, json!([{"op": "test", "path": "/spec/size", "value": 1.0}]))
            .differs("json-patch-numbers"),
        case("merge patches")
            .post(WIDGETS, widget("a", json!({"size": 1, "params": {"a": "1", "b": "2"}, "tags": ["a"]})))
            .merge(&a, json!({"spec": {"params": {"a": null, "c": "3"}, "tags": ["b", "c"]}}))
            .merge(&a, json!({"spec": {"params": null}}))
            .merge(&a, json!([]))
            .merge(&a, json!("text"))
            .merge(&a, json!(1))
            .merge(&a, json!({}))
            .raw(Method::PATCH, &a, "application/merge-patch+json", "null")
            .raw(Method::PATCH, &a, "application/merge-patch+json", "")
            .raw(Method::PATCH, &a, "application/merge-patch+json", "spec: {size: 3}")
            .raw(Method::PATCH, &map, "application/merge-patch+json", "{"),
        case("strategic patches of a config map")
            .post(MAPS, json!({"metadata": {"name": "a", "finalizers": ["refit.dev/a"], "labels": {"a": "b"}}, "data": {"a": "1", "b": "2"}}))
            .strategic(&map, json!({"data": {"a": null, "c": "3"}}))
            .strategic(&map, json!({"metadata": {"finalizers": ["refit.dev/b"]}}))
            .strategic(&map, json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["refit.dev/a"]}}))
            .strategic(&map, json!({"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "A", "name": "a", "uid": "1"}]}}))
            .strategic(&map, json!({"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "B", "name": "b", "uid": "2"}]}}))
            .strategic(&map, json!({"metadata": {"ownerReferences": [{"$patch": "delete", "uid": "1"}]}}))
            .strategic(&map, json!({"metadata": {"ownerReferences": [{"kind": "B"}]}}))
            .strategic(&map, json!({"data": {"$patch": "replace", "z": "1"}}))
            .strategic(&map, json!({"data": {"$patch": "what", "z": "1"}}))
            .strategic(&map, json!({"data": "text"}))
            .differs("strategic-types")
            .strategic(&map, json!([]))
            .strategic(&map, json!({"$patch": "delete"}))
            .strategic(&map, json!({"metadata": {"finalizers": null, "labels": null}})),
        case("strategic patches of a node")
            .post(NODES, json!({"metadata": {"name": "$ns"}, "spec": {"taints": [{"key": "a", "effect": "NoSchedule"}], "podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24"]}}))
            .differs("node-taint")
            .strategic("/api/v1/nodes/$ns", json!({"spec": {"taints": [{"key": "b", "effect": "NoExecute"}]}}))
            .strategic("/api/v1/nodes/$ns/status", json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}}))
            .strategic("/api/v1/nodes/$ns/status", json!({"status": {"conditions": [{"type": "Ready", "status": "False"}, {"type": "Other", "status": "True"}]}}))
            .strategic("/api/v1/nodes/$ns", json!({"metadata": {"labels": {"a": "b"}}, "spec": {"unschedulable": true}, "status": {"phase": "x"}})),
    ]
}
