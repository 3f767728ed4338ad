use refit_api::crd;
use serde_json::{Value, json};

use super::Rules;
use crate::schema::{Definitions, Schema, parse};

fn rules(schema: &Value) -> (Schema, Rules) {
    let schema = parse(schema, &Definitions::new());
    let (rules, errors) = Rules::compile(&schema);
    assert_eq!(errors, []);
    (schema, rules)
}

fn check(schema: &Value, value: &Value, old: Option<&Value>, expected: &[&str]) {
    let (schema, rules) = rules(schema);
    let errors = rules.validate(&schema, value, old);
    assert_eq!(errors.iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
}

#[test]
fn a_broken_rule_says_its_message_and_quotes_scalars_only() {
    let schema = json!({"type": "object", "properties": {
        "name": {"type": "string", "x-kubernetes-validations": [{"rule": "self != 'b'", "message": "not b"}]},
        "args": {"type": "array", "items": {"type": "string"},
                 "x-kubernetes-validations": [{"rule": "self.all(x, self.exists_one(y, x == y))"}]},
    }});
    check(&schema, &json!({"name": "a", "args": ["x"]}), None, &[]);
    check(&schema, &json!({"name": "b"}), None, &[r#"name: Invalid value: "b": not b"#]);
    let failed = "args: Invalid value: failed rule: self.all(x, self.exists_one(y, x == y))";
    check(&schema, &json!({"args": ["x", "x"]}), None, &[failed]);
}

#[test]
fn transition_rules_run_when_there_is_an_old_value() {
    let schema = json!({"type": "object", "properties": {
        "fixed": {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "is immutable"}]},
    }});
    check(&schema, &json!({"fixed": "a"}), None, &[]);
    check(&schema, &json!({"fixed": "a"}), Some(&json!({})), &[]);
    check(&schema, &json!({"fixed": "a"}), Some(&json!({"fixed": "a"})), &[]);
    let changed = [r#"fixed: Invalid value: "b": is immutable"#];
    check(&schema, &json!({"fixed": "b"}), Some(&json!({"fixed": "a"})), &changed);
}

#[test]
fn reason_field_path_and_message_expression_are_followed() {
    let schema = json!({"type": "object", "properties": {"min": {"type": "integer"}, "max": {"type": "integer"}},
        "x-kubernetes-validations": [{"rule": "self.min <= self.max", "fieldPath": ".max", "reason": "FieldValueForbidden",
            "messageExpression": "'at least ' + string(self.min)"}]});
    check(&schema, &json!({"min": 3, "max": 2}), None, &["max: Forbidden: at least 3"]);
}

#[test]
fn what_was_broken_before_and_did_not_change_is_not_reported() {
    let schema = json!({"type": "object", "properties": {
        "a": {"type": "string", "x-kubernetes-validations": [{"rule": "self != 'x'"}]},
        "b": {"type": "string"},
    }});
    check(&schema, &json!({"a": "x", "b": "new"}), Some(&json!({"a": "x"})), &[]);
}

#[test]
fn a_rule_that_cannot_be_read_is_an_error_of_the_schema() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string",
        "x-kubernetes-validations": [{"rule": "self +"}]}}});
    let (_, errors) = Rules::compile(&parse(&schema, &Definitions::new()));
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0].path, "properties[a].x-kubernetes-validations[0].rule");
}

#[test]
fn every_rule_of_our_definitions_compiles() {
    let mut count = 0;
    for definition in crd::all() {
        for version in definition["spec"]["versions"].as_array().into_iter().flatten() {
            let (_, rules) = rules(&version["schema"]["openAPIV3Schema"]);
            count += usize::from(!rules.is_empty());
        }
    }
    assert!(count > 3, "{count}");
}
