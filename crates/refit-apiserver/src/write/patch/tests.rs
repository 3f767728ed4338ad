use serde_json::{Value, json};

use super::{json, strategic};
use crate::budget::Budget;
use crate::resource::built_in;

fn check_json(patch: Value, object: &Value, expected: Option<Value>) {
    assert_eq!(json::apply(&patch, object, &Budget::default()).ok(), expected, "{patch}");
}

#[test]
fn json_patches_are_as_lenient_as_the_real_server() {
    let object = json!({"a": {"b": 1}, "l": [1, 2, 3]});
    check_json(
        json!([{"op": "replace", "path": "/a/new", "value": 2}]),
        &object,
        Some(json!({"a": {"b": 1, "new": 2}, "l": [1, 2, 3]})),
    );
    check_json(json!([{"op": "test", "path": "/a/none", "value": null}]), &object, Some(object.clone()));
    check_json(
        json!([{"op": "copy", "from": "/a/none", "path": "/c"}]),
        &object,
        Some(json!({"a": {"b": 1}, "c": null, "l": [1, 2, 3]})),
    );
    check_json(
        json!([{"op": "replace", "path": "/l/-1", "value": 9}]),
        &object,
        Some(json!({"a": {"b": 1}, "l": [1, 2, 9]})),
    );
    check_json(
        json!([{"op": "move", "from": "/l/0", "path": "/l/-"}]),
        &object,
        Some(json!({"a": {"b": 1}, "l": [2, 3, 1]})),
    );
}

#[test]
fn json_patches_that_cannot_be_carried_out_are_refused() {
    let object = json!({"a": {"b": 1}, "l": [1]});
    for patch in [
        json!([{"op": "test", "path": "/a/b", "value": 2}]),
        json!([{"op": "remove", "path": "/none"}]),
        json!([{"op": "add", "path": "/none/x", "value": 1}]),
        json!([{"op": "add", "path": "/l/5", "value": 1}]),
        json!([{"op": "replace", "path": "/l/1", "value": 1}]),
        json!([{"op": "sing", "path": "/a"}]),
        json!([{"path": "/a"}]),
        json!([7]),
        json!({"op": "add"}),
    ] {
        check_json(patch, &object, None);
    }
}

fn check_strategic(plural: &str, patch: Value, object: &Value, expected: &Value) {
    let resource = built_in::all().iter().find(|resource| resource.plural == plural).expect("it must be built in");
    let merged = strategic::apply(&resource.schema, &patch, object).expect("the patch must apply");
    assert_eq!(&merged, expected, "{patch}");
}

#[test]
fn strategic_patches_merge_lists_by_key() {
    let pod = json!({"spec": {"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "1"}]}});
    let patch = json!({"spec": {"containers": [{"name": "b", "image": "2"}, {"name": "c", "image": "3"}]}});
    let merged = json!({"spec": {"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "2"}, {"name": "c", "image": "3"}]}});
    check_strategic("pods", patch, &pod, &merged);
    let delete = json!({"spec": {"containers": [{"$patch": "delete", "name": "a"}]}});
    check_strategic("pods", delete, &pod, &json!({"spec": {"containers": [{"name": "b", "image": "1"}]}}));
    let order = json!({"spec": {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]}});
    let ordered = json!({"spec": {"containers": [{"name": "b", "image": "1"}, {"name": "a", "image": "1"}]}});
    check_strategic("pods", order, &pod, &ordered);
}

#[test]
fn strategic_patches_add_to_and_take_from_plain_lists() {
    let map = json!({"metadata": {"finalizers": ["a/x", "b/x"]}, "data": {"k": "1", "l": "2"}});
    let patch = json!({"metadata": {"finalizers": ["c/x"], "$deleteFromPrimitiveList/finalizers": ["a/x"]}, "data": {"k": null}});
    let merged = json!({"metadata": {"finalizers": ["c/x", "b/x"]}, "data": {"l": "2"}});
    check_strategic("configmaps", patch, &map, &merged);
    let replace = json!({"data": {"$patch": "replace", "n": "3"}});
    check_strategic(
        "configmaps",
        replace,
        &map,
        &json!({"metadata": {"finalizers": ["a/x", "b/x"]}, "data": {"n": "3"}}),
    );
}

fn refusal(patch: &Value) -> String {
    let refused = json::apply(patch, &json!({"a": [1]}), &Budget::default());
    refused.map(|_| ()).expect_err("the patch must be refused").message
}

#[test]
fn copies_that_double_the_object_are_refused_before_they_are_made() {
    let double = json!({"op": "copy", "from": "/a", "path": "/a/-"});
    let patch = Value::Array(vec![double; 30]);
    assert_eq!(refusal(&patch), "the server rejected our request due to an error in our request");
}

#[test]
fn adds_and_moves_that_nest_ever_deeper_are_refused() {
    let deeper = "Request entity too large: it would nest more than 120 levels deep";
    let adds: Vec<Value> =
        (1..200).map(|depth| json!({"op": "add", "path": "/x".repeat(depth), "value": {}})).collect();
    assert_eq!(refusal(&json!(adds)), deeper);
    let mut moves: Vec<Value> = Vec::new();
    for _ in 0..200 {
        moves.push(json!({"op": "add", "path": "/x", "value": {}}));
        moves.push(json!({"op": "move", "from": "/a", "path": "/x/a"}));
        moves.push(json!({"op": "move", "from": "/x", "path": "/a"}));
    }
    assert_eq!(refusal(&json!(moves)), deeper);
}

#[test]
fn lists_of_thousands_are_merged_as_quickly_as_they_are_read() {
    let containers = |from: usize, to: usize| -> Vec<Value> {
        (from..to).map(|number| json!({"name": format!("c{number}"), "image": "1"})).collect()
    };
    let pod = json!({"spec": {"containers": containers(0, 50_000)}});
    let patch = json!({"spec": {"containers": containers(25_000, 75_000),
        "$setElementOrder/containers": containers(0, 75_000)}});
    check_strategic("pods", patch, &pod, &json!({"spec": {"containers": containers(0, 75_000)}}));
    let finalizers =
        |from: usize, to: usize| -> Vec<String> { (from..to).map(|number| format!("x/{number}")).collect() };
    let map = json!({"metadata": {"finalizers": finalizers(0, 50_000)}});
    let patch = json!({"metadata": {"finalizers": finalizers(50_000, 99_000),
        "$deleteFromPrimitiveList/finalizers": finalizers(0, 50_000)}});
    check_strategic("configmaps", patch, &map, &json!({"metadata": {"finalizers": finalizers(50_000, 99_000)}}));
}
