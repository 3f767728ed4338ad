use serde_json::{Value, json};

use super::super::testing::{json_patch, merge_patch, object, raw_patch};
use super::*;

/// An object with a list and a map, of which `spec` counts.
fn start() -> RawObject {
    object(json!({
        "apiVersion": "x.io/v1", "kind": "K", "metadata": { "labels": { "a.io/b": "c" } },
        "spec": { "a": 1, "list": [1, 2, 3], "map": { "k": "v" } },
    }))
}

/// The spec after a patch.
fn spec_after(patch: &Patch) -> Result<Value, PatchProblem> {
    apply(patch, &start(), &["spec"]).map(|patched| patched.spec().cloned().unwrap_or_default())
}

/// Checks what becomes of one field of the spec.
fn check_json(operations: Value, field: &str, expected: Value) {
    let spec = spec_after(&json_patch(operations.clone())).expect("the patch must apply");
    assert_eq!(spec.get(field).cloned().unwrap_or(json!("absent")), expected, "{operations}");
}

fn check_refused(operations: Value, index: usize, path: &str, problem: OperationProblem) {
    let expected = PatchProblem::Operation { index, path: path.to_owned(), problem };
    assert_eq!(spec_after(&json_patch(operations.clone())), Err(expected), "{operations}");
}

fn malformed(operations: Value, index: usize, message: &str) {
    match spec_after(&json_patch(operations.clone())) {
        Err(PatchProblem::Operation { index: found, problem: OperationProblem::Malformed(text), .. }) => {
            assert_eq!(found, index, "{operations}");
            assert!(text.contains(message), "{text}");
        }
        other => panic!("{operations} must be malformed, and is {other:?}"),
    }
}

#[test]
fn operations_do_what_the_rfc_says() {
    check_json(json!([{ "op": "add", "path": "/spec/b", "value": null }]), "b", json!(null));
    check_json(json!([{ "op": "add", "path": "/spec/list/1", "value": 9 }]), "list", json!([1, 9, 2, 3]));
    check_json(json!([{ "op": "add", "path": "/spec/list/-", "value": 9 }]), "list", json!([1, 2, 3, 9]));
    check_json(json!([{ "op": "remove", "path": "/spec/a" }]), "a", json!("absent"));
    check_json(json!([{ "op": "replace", "path": "/spec/a", "value": 2 }]), "a", json!(2));
    check_json(json!([{ "op": "move", "from": "/spec/map/k", "path": "/spec/a" }]), "a", json!("v"));
    check_json(json!([{ "op": "move", "from": "/spec/list/0", "path": "/spec/list/2" }]), "list", json!([2, 3, 1]));
    check_json(json!([{ "op": "move", "from": "/spec/a", "path": "/spec/a" }]), "a", json!(1));
    check_json(
        json!([{ "op": "copy", "from": "/spec/list", "path": "/spec/map/l" }]),
        "map",
        json!({ "k": "v", "l": [1, 2, 3] }),
    );
    check_json(
        json!([{ "op": "test", "path": "/metadata/labels/a.io~1b", "value": "c" }, { "op": "remove", "path": "/spec/a" }]),
        "a",
        json!("absent"),
    );
}

#[test]
fn negative_indices_count_from_the_end() {
    check_json(json!([{ "op": "replace", "path": "/spec/list/-1", "value": 9 }]), "list", json!([1, 2, 9]));
    check_json(json!([{ "op": "remove", "path": "/spec/list/-3" }]), "list", json!([2, 3]));
    check_json(json!([{ "op": "add", "path": "/spec/list/-1", "value": 9 }]), "list", json!([1, 2, 3, 9]));
    check_json(json!([{ "op": "add", "path": "/spec/list/-4", "value": 9 }]), "list", json!([9, 1, 2, 3]));
    check_json(json!([{ "op": "move", "from": "/spec/list/-3", "path": "/spec/list/-1" }]), "list", json!([2, 3, 1]));
    check_json(json!([{ "op": "copy", "from": "/spec/list/-1", "path": "/spec/a" }]), "a", json!(3));
    check_json(json!([{ "op": "test", "path": "/spec/list/-2", "value": 2 }]), "a", json!(1));
    check_refused(json!([{ "op": "remove", "path": "/spec/list/-4" }]), 0, "/spec/list/-4", OperationProblem::NotFound);
    check_refused(
        json!([{ "op": "add", "path": "/spec/list/-5", "value": 1 }]),
        0,
        "/spec/list/-5",
        OperationProblem::NotFound,
    );
    check_json(json!([{ "op": "add", "path": "/spec/map/-1", "value": 1 }]), "map", json!({ "k": "v", "-1": 1 }));
}

#[test]
fn a_test_for_null_holds_for_a_field_that_is_not_there() {
    check_json(json!([{ "op": "test", "path": "/spec/none", "value": null }]), "a", json!(1));
    check_refused(
        json!([{ "op": "test", "path": "/spec/a", "value": null }]),
        0,
        "/spec/a",
        OperationProblem::TestFailed,
    );
    let not_null = json!([{ "op": "test", "path": "/spec/none", "value": 1 }]);
    check_refused(not_null, 0, "/spec/none", OperationProblem::NotFound);
    let beneath_nothing = json!([{ "op": "test", "path": "/spec/none/none", "value": null }]);
    check_refused(beneath_nothing, 0, "/spec/none/none", OperationProblem::NotFound);
    let behind_the_end = json!([{ "op": "test", "path": "/spec/list/3", "value": null }]);
    check_refused(behind_the_end, 0, "/spec/list/3", OperationProblem::NotFound);
    let added =
        json!([{ "op": "add", "path": "/spec/n", "value": null }, { "op": "test", "path": "/spec/n", "value": null }]);
    check_json(added, "n", json!(null));
}

#[test]
fn an_operation_that_does_not_apply_fails_the_patch_wherever_it_points() {
    let fine = json!({ "op": "replace", "path": "/spec/a", "value": 2 });
    let check = |operation: Value, problem: OperationProblem| {
        let path = operation["path"].as_str().expect("a path").to_owned();
        check_refused(json!([fine, operation]), 1, &path, problem);
    };
    check(json!({ "op": "remove", "path": "/status/x" }), OperationProblem::NotFound);
    check(json!({ "op": "replace", "path": "/spec/none", "value": 1 }), OperationProblem::NotFound);
    check(json!({ "op": "add", "path": "/spec/none/x", "value": 1 }), OperationProblem::NotFound);
    check(json!({ "op": "add", "path": "/spec/a/x", "value": 1 }), OperationProblem::NotFound);
    check(json!({ "op": "add", "path": "/spec/list/4", "value": 1 }), OperationProblem::NotFound);
    check(json!({ "op": "test", "path": "/spec/map", "value": {} }), OperationProblem::TestFailed);
    check(json!({ "op": "copy", "from": "/spec/none", "path": "/spec/x" }), OperationProblem::FromNotFound);
    check(json!({ "op": "move", "from": "/spec/none", "path": "/spec/x" }), OperationProblem::FromNotFound);
}

#[test]
fn what_nobody_means_is_refused() {
    malformed(json!([{ "op": "replace", "path": "spec/a", "value": 2 }]), 0, "slash");
    malformed(json!([{ "op": "remove", "path": "/spec/~2" }]), 0, "");
    malformed(json!([{ "op": "remove" }]), 0, "path");
    malformed(json!([{ "op": "add", "path": "/spec/b" }]), 0, "value");
    malformed(json!([{ "op": "test", "path": "/spec/b" }]), 0, "value");
    malformed(json!([{ "op": "copy", "path": "/spec/b" }]), 0, "from");
    malformed(json!([{ "op": "Add", "path": "/spec/b", "value": 1 }]), 0, "Add");
    malformed(json!([{ "op": "test", "path": "/spec/a", "value": 1 }, null]), 1, "");
    let check = |operation: Value, problem: OperationProblem| {
        let path = operation["path"].as_str().expect("a path").to_owned();
        check_refused(json!([operation]), 0, &path, problem);
    };
    check(json!({ "op": "add", "path": "/spec/", "value": 1 }), OperationProblem::EmptyName);
    check(json!({ "op": "remove", "path": "/spec/list/01" }), OperationProblem::NotFound);
    check(json!({ "op": "remove", "path": "/spec/list/+1" }), OperationProblem::NotFound);
    check(json!({ "op": "remove", "path": "/spec/list/-0" }), OperationProblem::NotFound);
    check(json!({ "op": "remove", "path": "" }), OperationProblem::WholeObject);
    check(json!({ "op": "copy", "from": "", "path": "/spec/x" }), OperationProblem::WholeObject);
    check(json!({ "op": "copy", "from": "/spec", "path": "" }), OperationProblem::WholeObject);
    check(json!({ "op": "move", "from": "/spec", "path": "" }), OperationProblem::WholeObject);
    check(json!({ "op": "move", "from": "/spec/map", "path": "/spec/map/x" }), OperationProblem::IntoItself);
    check(json!({ "op": "move", "from": "/spec/list/0", "path": "/spec/list/0/x" }), OperationProblem::IntoItself);
    check(json!({ "op": "replace", "path": "", "value": [] }), OperationProblem::NotAnObject);
}

#[test]
fn documents_are_read_as_upstream_reads_them() {
    let check = |patch_type: &str, document: &str, expected: Result<Value, PatchProblem>| {
        assert_eq!(spec_after(&raw_patch(patch_type, document.as_bytes())), expected, "{patch_type} {document}");
    };
    let unchanged = || Ok(start().spec().cloned().expect("a spec"));
    check("JSONPatch", "[]", unchanged());
    check("JSONPatch", "null", unchanged());
    check("JSONPatch", "", Err(PatchProblem::NoDocument));
    check("JSONPatch", "{}", Err(PatchProblem::NotAList));
    check("JSONMergePatch", "", unchanged());
    check("JSONMergePatch", "{}", unchanged());
    check("JSONMergePatch", "null", Err(PatchProblem::NotAnObject));
    check("JSONMergePatch", "[1]", Err(PatchProblem::NotAnObject));
    check("", "[]", Err(PatchProblem::NoType));
    check("jsonpatch", "[]", Err(PatchProblem::UnknownType("jsonpatch".to_owned())));
    for document in ["[", "[] []", "{\"a\":}"] {
        for patch_type in ["JSONPatch", "JSONMergePatch"] {
            let result = spec_after(&raw_patch(patch_type, document.as_bytes()));
            assert!(matches!(result, Err(PatchProblem::Document(_))), "{document}: {result:?}");
        }
    }
}

#[test]
fn merge_patches_prune_nulls_where_upstream_does() {
    let check = |target: Value, patch: Value, expected: Value| {
        let start = object(json!({ "kind": "K", "spec": { "x": target } }));
        let patch = merge_patch(json!({ "spec": { "x": patch } }));
        let patched = apply(&patch, &start, &["spec"]).expect("the patch must apply");
        assert_eq!(patched.spec().and_then(|spec| spec.get("x")).cloned().unwrap_or(json!("absent")), expected);
    };
    check(json!({ "a": 1, "b": 1 }), json!({ "a": null, "c": { "d": null } }), json!({ "b": 1, "c": {} }));
    check(json!(1), json!(null), json!("absent"));
    check(json!([1]), json!([{ "a": null, "b": 1 }, null]), json!([{ "b": 1 }, null]));
    check(json!("text"), json!({ "a": null }), json!({}));
    check(json!(null), json!([{ "a": null }]), json!([{}]));
    check(json!({ "a": 1 }), json!([{ "b": null }]), json!([{ "b": null }]));
}

#[test]
fn only_the_subtree_is_taken_over() {
    let template = || {
        object(
            json!({ "kind": "T", "spec": { "replicas": 1, "template": { "metadata": { "l": 1 }, "spec": { "a": 1 } } } }),
        )
    };
    let check = |patch: Value, expected: Value| {
        let patched = apply(&merge_patch(patch.clone()), &template(), &["spec", "template", "spec"]);
        let mut whole = template().into_value();
        whole["spec"]["template"]["spec"] = expected;
        assert_eq!(patched.map(RawObject::into_value), Ok(whole), "{patch}");
    };
    check(
        json!({ "spec": { "replicas": 5, "template": { "metadata": null, "spec": { "a": 2 } } } }),
        json!({ "a": 2 }),
    );
    check(json!({ "status": { "x": 1 }, "metadata": { "name": "x" }, "kind": "Other" }), json!({ "a": 1 }));
    check(json!({ "spec": { "template": { "spec": null } } }), json!({ "a": 1 }));
    check(json!({ "spec": null }), json!({ "a": 1 }));
    check(json!({ "spec": "text" }), json!({ "a": 1 }));
    check(json!({ "spec": { "template": { "spec": "text" } } }), json!("text"));
}

#[test]
fn the_subtree_can_be_added() {
    let patch = merge_patch(json!({ "spec": { "template": { "spec": { "a": 1 } } } }));
    let check = |start: Value, expected: Result<Value, PatchProblem>| {
        let patched = apply(&patch, &object(start), &["spec", "template", "spec"]);
        assert_eq!(patched.map(RawObject::into_value), expected);
    };
    check(json!({ "kind": "T" }), Ok(json!({ "kind": "T", "spec": { "template": { "spec": { "a": 1 } } } })));
    check(json!({ "kind": "T", "spec": 5 }), Err(PatchProblem::NoPlace));
}

#[test]
fn a_patched_object_keeps_its_kind() {
    for patch in [json!({ "kind": null }), json!({ "kind": "" }), json!({ "kind": 5 })] {
        assert_eq!(spec_after(&merge_patch(patch)), Err(PatchProblem::NoKind));
    }
    let whole = json_patch(json!([{ "op": "add", "path": "", "value": { "spec": {} } }]));
    assert_eq!(spec_after(&whole), Err(PatchProblem::NoKind));
    let whole = json_patch(json!([{ "op": "add", "path": "", "value": { "kind": "K", "spec": { "new": 1 } } }]));
    assert_eq!(spec_after(&whole), Ok(json!({ "new": 1 })));
}

#[test]
fn a_copy_bomb_goes_off_early() {
    // Each copy doubles the list; sixty of them would fill any memory.
    let double = json!({ "op": "copy", "from": "/spec/list", "path": "/spec/list/-" });
    let operations: Vec<Value> = std::iter::repeat_n(double, 60).collect();
    match spec_after(&json_patch(json!(operations))) {
        Err(PatchProblem::Operation { index, problem, .. }) => {
            assert_eq!(problem, OperationProblem::TooMuchCopied);
            assert!(index < 20, "{index}");
        }
        other => panic!("the bomb must be refused: {}", other.is_ok()),
    }
}

#[test]
fn operations_are_limited_in_number_and_depth() {
    let test = json!({ "op": "test", "path": "/spec/a", "value": 1 });
    let many = |count: usize| json_patch(std::iter::repeat_n(test.clone(), count).collect());
    assert!(spec_after(&many(MAX_OPERATIONS)).is_ok());
    let found = MAX_OPERATIONS + 1;
    assert_eq!(spec_after(&many(found)), Err(PatchProblem::TooManyOperations { found }));

    let mut path = "/spec".to_owned();
    let deeper = (0..decode::MAX_DEPTH).map(|_| {
        path.push_str("/x");
        json!({ "op": "add", "path": path, "value": {} })
    });
    let operations: Value = deeper.collect();
    let last = format!("/spec{}", "/x".repeat(63));
    check_refused(operations, 62, &last, OperationProblem::TooDeep);
    let deep = format!("[{}{}]", "[".repeat(200), "]".repeat(200));
    let result = spec_after(&raw_patch("JSONMergePatch", deep.as_bytes()));
    assert!(matches!(result, Err(PatchProblem::Document(_))));
}
