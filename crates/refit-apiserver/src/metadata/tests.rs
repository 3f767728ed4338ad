use serde_json::{Value, json};

use super::names::NameRule;
use super::{validate, validate_change};
use crate::field_error::{FieldError, FieldErrors};

fn fields(errors: &[FieldError]) -> Vec<(&str, &str)> {
    errors.iter().map(|error| (error.field.as_str(), error.detail.as_str())).collect()
}

fn check(metadata: Value, expected: &[(&str, &str)]) {
    let errors = validate(&json!({ "metadata": metadata }), true, NameRule::Subdomain);
    let found = fields(&errors);
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for ((field, detail), (expected_field, start)) in found.into_iter().zip(expected) {
        assert!(field == *expected_field && detail.starts_with(start), "{field}: {detail}");
    }
}

#[test]
fn names_follow_their_rule() {
    check(json!({"name": "a.b-c", "namespace": "n"}), &[]);
    check(json!({"name": "A", "namespace": "n"}), &[("metadata.name", "a lowercase RFC 1123 subdomain")]);
    check(json!({"namespace": "n"}), &[("metadata.name", "name or generateName is required")]);
    check(json!({"name": "a"}), &[("metadata.namespace", "")]);
    check(json!({"name": "a", "namespace": "n.o"}), &[("metadata.namespace", "a lowercase RFC 1123 label")]);
    check(json!({"name": "a-x1", "generateName": "a-", "namespace": "n"}), &[]);
}

#[test]
fn labels_and_annotations_have_shapes() {
    let odd = json!({"name": "a", "namespace": "n", "labels": {"a/b/c": "x", "k": "-"}, "annotations": {"A b": "x"}});
    check(
        odd,
        &[
            ("metadata.labels", "a valid label key must consist"),
            ("metadata.labels", "a valid label must be an empty string"),
            ("metadata.annotations", "name part must consist"),
        ],
    );
    let large = json!({"name": "a", "namespace": "n", "annotations": {"k": "x".repeat(300_000)}});
    check(large, &[("metadata.annotations", "may not be more than 262144 bytes")]);
}

#[test]
fn an_owner_is_named_in_full_and_only_one_controls() {
    let owner = json!({"apiVersion": "v1", "kind": "K", "name": "a", "uid": "u", "controller": true});
    let second = json!({"apiVersion": "g/v1", "kind": "K", "name": "b", "uid": "v", "controller": true});
    check(
        json!({"name": "a", "namespace": "n", "ownerReferences": [owner, second]}),
        &[(
            "metadata.ownerReferences",
            "Only one reference can have Controller set to true. Found \"true\" in references for K/a and K/b",
        )],
    );
    check(
        json!({"name": "a", "namespace": "n", "ownerReferences": [{"kind": "K", "name": "a", "apiVersion": "v1"}]}),
        &[("metadata.ownerReferences.uid", "must not be empty")],
    );
}

#[test]
fn identity_does_not_change_and_a_deleted_object_gets_no_finalizers() {
    let old = json!({"metadata": {"name": "a", "uid": "1", "resourceVersion": "5", "finalizers": ["a/b"],
        "deletionTimestamp": "2026-01-01T00:00:00Z"}});
    let mut new = old.clone();
    assert_eq!(validate_change(&new, &old), FieldErrors::default());
    new["metadata"]["uid"] = "2".into();
    new["metadata"]["finalizers"] = json!(["a/b", "c/d"]);
    let errors = validate_change(&new, &old);
    let expected =
        r#"no new finalizers can be added if the object is being deleted, found new finalizers []string{"c/d"}"#;
    assert_eq!(fields(&errors), [("metadata.finalizers", expected), ("metadata.uid", "field is immutable")]);
}
