use serde_json::{Value, json};

use super::validate;
use crate::budget::Budget;
use crate::schema::{Definitions, Schema, parse};

fn schema() -> Schema {
    let json = json!({"type": "object", "properties": {"spec": {"type": "object", "required": ["size"],
    "minProperties": 1,
    "properties": {
        "size": {"type": "integer", "format": "int32", "minimum": 1, "maximum": 9},
        "ratio": {"type": "number"},
        "code": {"type": "string", "minLength": 2, "maxLength": 4, "pattern": "^a"},
        "mode": {"type": "string", "enum": ["On", "Off"]},
        "when": {"type": "string", "format": "date-time"},
        "port": {"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]},
        "tags": {"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "string"}},
        "closed": {"type": "object", "additionalProperties": false},
        "one": {"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
        "params": {"type": "object", "additionalProperties": {"type": "string"}},
    }}}});
    parse(&json, &Definitions::new())
}

fn check(spec: Value, expected: &[&str]) {
    let mut spec = spec;
    if let Some(spec) = spec.as_object_mut() {
        spec.entry("size").or_insert(1.into());
    }
    let errors = validate(&schema(), &json!({"spec": spec}), None, "", &Budget::default());
    assert_eq!(errors.iter().map(ToString::to_string).collect::<Vec<_>>(), expected, "{spec}");
}

#[test]
fn a_wrong_type_quotes_the_type_that_was_found() {
    check(
        json!({"size": "1"}),
        &[r#"spec.size: Invalid value: "string": spec.size in body must be of type integer: "string""#],
    );
    check(json!({"size": true}), &[r#"spec.size: Invalid value: "": spec.size in body must be of type int32: """#]);
    check(
        json!({"code": null}),
        &[r#"spec.code: Invalid value: "null": spec.code in body must be of type string: "null""#],
    );
    check(json!(7), &[r#"spec: Invalid value: "integer": spec in body must be of type object: "integer""#]);
    check(json!({"size": 2.0}), &[]);
}

#[test]
fn bounds_quote_the_value() {
    check(json!({"size": 0}), &["spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1"]);
    check(json!({"size": 10}), &["spec.size: Invalid value: 10: spec.size in body should be less than or equal to 9"]);
    check(
        json!({"code": "a"}),
        &[r#"spec.code: Invalid value: "a": spec.code in body should be at least 2 chars long"#],
    );
    check(json!({"code": "aaaaa"}), &["spec.code: Too long: may not be more than 4 bytes"]);
    check(json!({"code": "bb"}), &[r#"spec.code: Invalid value: "bb": spec.code in body should match '^a'"#]);
    check(json!({"mode": "x"}), &[r#"spec.mode: Unsupported value: "x": supported values: "On", "Off""#]);
}

#[test]
fn counts_quote_the_count() {
    check(json!({"tags": []}), &["spec.tags: Invalid value: 0: spec.tags in body should have at least 1 items"]);
    check(json!({"tags": ["a", "b", "c"]}), &["spec.tags: Too many: 3: must have at most 2 items"]);
}

#[test]
fn what_has_no_field_says_so() {
    check(
        json!({"size": 3_000_000_000_i64}),
        &[
            "<nil>: Invalid value: \"\": Checked value must be of type integer with format int32 in spec.size",
            "spec.size: Invalid value: 3000000000: spec.size in body should be less than or equal to 9",
        ],
    );
    let any_of = r#"<nil>: Invalid value: "": "spec.port" must validate at least one schema (anyOf)"#;
    let found = validate(&schema(), &json!({"spec": {"size": 1, "port": true}}), None, "", &Budget::default());
    let found: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(
        found[0],
        r#"spec.port: Invalid value: "boolean": spec.port in body must be of type integer,string: "boolean""#
    );
    assert!(found.contains(&any_of.to_owned()), "{found:?}");
}

#[test]
fn alternatives_and_closed_objects_are_checked() {
    let one_of = r#"<nil>: Invalid value: "": "spec.one" must validate one and only one schema (oneOf)."#;
    check(json!({"one": {"a": 1, "b": 1}}), &[&format!("{one_of} Found 2 valid alternatives")]);
    check(json!({"one": {}}), &[&format!("{one_of} Found none valid"), "spec.one.a: Required value"]);
    check(
        json!({"closed": {"x": 1}}),
        &[r#"spec.closed: Invalid value: "x": spec.closed.x in body is a forbidden property"#],
    );
}

#[test]
fn a_missing_field_is_required() {
    let errors = validate(&schema(), &json!({"spec": {"mode": "On"}}), None, "", &Budget::default());
    assert_eq!(errors[0].to_string(), "spec.size: Required value");
}

#[test]
fn what_was_wrong_before_and_did_not_change_is_not_reported() {
    let old = json!({"spec": {"size": 99, "code": "zz"}});
    let new = json!({"spec": {"size": 99, "code": "zzz"}});
    let errors = validate(&schema(), &new, Some(&old), "", &Budget::default());
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0].field, "spec.code");
}

#[test]
fn through_a_subresource_the_sentence_has_no_prefix() {
    let status = schema().properties.remove("spec").expect("there must be a spec");
    let errors = validate(&status, &json!({"size": 0}), None, "status", &Budget::default());
    assert_eq!(
        errors[0].to_string(),
        "status.size: Invalid value: 0: size in body should be greater than or equal to 1"
    );
}
