//! What requests may cost: rules by estimate and when they run, copies in patches.

use serde_json::{Value, json};

use crate::conformance::definitions::{WIDGETS, definition, widget};
use crate::conformance::script::{Case, case};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All";
const JSON_PATCH: &str = "application/json-patch+json";

/// A definition whose spec has this schema.
fn with(spec: &Value) -> Value {
    let schema = json!({"type": "object", "properties": {"spec": spec}});
    let names = json!({"plural": "costs", "singular": "cost", "kind": "Cost", "listKind": "CostList"});
    let version = json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}});
    definition("Namespaced", &names, &json!([version]))
}

fn estimates(name: &'static str, specs: &[Value]) -> Case {
    specs.iter().fold(case(name), |case, spec| case.post(DEFINITIONS, with(spec)))
}

fn ruled(mut schema: Value, rules: &[&str]) -> Value {
    schema["x-kubernetes-validations"] = rules.iter().map(|rule| json!({"rule": rule})).collect();
    schema
}

fn fields(fields: &Value) -> Value {
    json!({"type": "object", "properties": fields})
}

pub fn cases() -> Vec<Case> {
    let text = json!({"type": "string"});
    let numbers = json!({"type": "array", "items": {"type": "integer"}});
    let bounded = json!({"type": "array", "maxItems": 1_000, "items": {"type": "integer"}});
    let map = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let copies: Vec<Value> =
        (0..30).map(|n| json!({"op": "copy", "from": "/spec/any", "path": format!("/spec/any/c{n}")})).collect();
    vec![
        estimates(
            "costs of rules over what has no bound",
            &[
                ruled(numbers.clone(), &["self.all(x, self.all(y, x == y))"]),
                ruled(numbers.clone(), &["self.all(x, x > 0)"]),
                ruled(
                    text.clone(),
                    &["self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')"],
                ),
                ruled(text.clone(), &["self.contains(self)"]),
                ruled(map.clone(), &["self.all(k, self[k].contains('x'))"]),
                ruled(map, &["self.all(k, self.exists(l, self[k] == self[l]))"]),
                ruled(fields(&json!({"a": numbers, "b": text})), &["self.a.all(x, self.b.contains(string(x)))"]),
            ],
        ),
        estimates(
            "costs of rules on items",
            &[
                json!({"type": "array", "items": ruled(text.clone(), &["self.contains('abc')"])}),
                json!({"type": "array", "maxItems": 10, "items": ruled(text.clone(), &["self.contains('abc')"])}),
                json!({"type": "array", "maxItems": 100, "items": ruled(text, &["self.contains('abc')"])}),
            ],
        ),
        estimates(
            "costs of rules together",
            &[
                ruled(bounded.clone(), &["self.all(x, self.all(y, x + y >= 0))"; 5]),
                ruled(bounded, &["self.all(x, self.all(y, x + y >= 0))"; 20]),
            ],
        ),
        case("a rule that costs too much when it runs")
            .post(WIDGETS, widget("few", json!({"grid": vec![1; 10]})))
            .post(WIDGETS, widget("many", json!({"grid": vec![1; 1_000]}))),
        case("copies that double the object")
            .post(WIDGETS, widget("a", json!({"any": {"t": "x".repeat(1_000)}})))
            .raw(http::Method::PATCH, &format!("{WIDGETS}/a"), JSON_PATCH, json!(copies[..5]).to_string())
            .raw(http::Method::PATCH, &format!("{WIDGETS}/a"), JSON_PATCH, json!(copies).to_string()),
    ]
}
