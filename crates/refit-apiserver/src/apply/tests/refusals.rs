//! What is refused, in which words.

use super::*;

#[test]
fn conflicts_read_as_on_kubernetes() {
    let story = Story::new().applies("m1", json!({"spec": {"size": 1, "code": "a"}}));
    let one = "Apply failed with 1 conflict: conflict with \"m1\": .spec.size";
    story.check_refusal("m2", json!({"spec": {"size": 2}}), 409, one);
    let two = "Apply failed with 2 conflicts: conflicts with \"m1\":\n- .spec.code\n- .spec.size";
    story.check_refusal("m2", json!({"spec": {"size": 2, "code": "b"}}), 409, two);

    let story = Story::new().updates("m1", json!({"spec": {"ports": [{"port": 80, "name": "a"}]}}));
    let update = "Apply failed with 1 conflict: conflict with \"m1\" using g/v1: \
                  .spec.ports[port=80,protocol=\"TCP\"].name";
    story.check_refusal("m1", json!({"spec": {"ports": [{"port": 80, "name": "b"}]}}), 409, update);

    let story = Story::new().updates("m", json!({"spec": {"size": 1}})).at(status_endpoint());
    let story = story.updates("m1", json!({"status": {"phase": "a"}}));
    let subresource = "Apply failed with 1 conflict: conflict with \"m1\" with subresource \"status\" using g/v1: \
                       .status.phase";
    story.check_refusal("m2", json!({"status": {"phase": "b"}}), 409, subresource);
}

#[test]
fn a_conflict_has_causes_and_no_name() {
    let story = Story::new().applies("m1", json!({"spec": {"size": 1}}));
    let status = story.try_apply("m2", json!({"spec": {"size": 2}}), false).unwrap_err().status().to_json();
    let cause = json!({"reason": "FieldManagerConflict", "message": "conflict with \"m1\"", "field": ".spec.size"});
    assert_eq!((&status["reason"], &status["details"]), (&json!("Conflict"), &json!({"causes": [cause]})));
}

#[test]
fn owner_references_are_one_field_each() {
    let reference = |name: &str| json!({"apiVersion": "v1", "kind": "Pod", "name": name, "uid": "u-1"});
    let story = Story::new().applies("m1", json!({"metadata": {"ownerReferences": [reference("a")]}}));
    let message = "Apply failed with 1 conflict: conflict with \"m1\": .metadata.ownerReferences[uid=\"u-1\"]";
    story.check_refusal("m2", json!({"metadata": {"ownerReferences": [reference("b")]}}), 409, message);
}

#[test]
fn configurations_that_do_not_fit_are_refused() {
    let check = |spec: Value, why: &str| {
        let message = format!("failed to create typed patch object (/a; g/v1, Kind=Widget): {why}");
        Story::new().check_refusal("m", json!({"spec": spec}), 500, &message);
    };
    check(json!({"nosuch": 1}), ".spec.nosuch: field not declared in schema");
    check(json!({"size": "x"}), ".spec.size: expected numeric (int or float), got string");
    check(json!({"code": 5}), ".spec.code: expected string, got &value.valueUnstructured{Value:5}");
    check(json!({"params": [1]}), ".spec.params: expected map, got &{[1]}");
    check(json!({"list": {"a": 1}}), ".spec.list: expected list, got &{map[a:1]}");
    check(
        json!({"list": [{}]}),
        ".spec.list[0]: expected string, got &value.valueUnstructured{Value:map[string]interface {}{}}",
    );
    check(json!({"tags": ["a", "a"]}), ".spec.tags: duplicate entries for key [=\"a\"]");
    check(json!({"items": [{"name": "x"}, {"name": "x"}]}), ".spec.items: duplicate entries for key [name=\"x\"]");
    let omits = ".spec.items: element 0: associative list with keys has an element that omits all key fields [\"name\"] \
                 (and doesn't have default values for any key fields)";
    check(json!({"items": [{"sub": {}}]}), omits);
    check(
        json!({"size": "x", "nosuch": 1}),
        "errors:\n  .spec.nosuch: field not declared in schema\n  .spec.size: expected numeric (int or float), got string",
    );
}

#[test]
fn owners_and_other_kinds_cannot_be_applied() {
    let story = Story::new();
    let parts = json!({"metadata": {"managedFields": []}});
    story.check_refusal("m", parts, 400, "metadata.managedFields must be nil");
    story.check_refusal("m", json!({"kind": "Gadget"}), 400, "invalid object type: g/v1, Kind=Gadget");
    story.check_refusal("m", json!({"apiVersion": "v1"}), 400, "invalid object type: /v1, Kind=Widget");
}
