//! Defaults must be what they would be judged to be.

use serde_json::Value;

use crate::budget::{Budget, weigh};
use crate::field_error::{FieldError, FieldErrors};
use crate::schema::{Definitions, Rules, parse, prune, validate};

/// What is wrong with the defaults in a schema.
pub(super) fn errors(schema: &Value, path: &str, budget: &Budget) -> FieldErrors {
    let mut errors = FieldErrors::default();
    node(schema, path, &mut errors, budget);
    errors
}

fn node(schema: &Value, path: &str, errors: &mut FieldErrors, budget: &Budget) {
    if let Some(default) = schema.get("default").filter(|default| !default.is_null()) {
        errors.merge(default_errors(schema, default, &format!("{path}.default"), budget));
    }
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        // The metadata of objects has rules of its own.
        if name != "metadata" && !errors.is_closed() {
            node(member, &format!("{path}.properties[{name}]"), errors, budget);
        }
    }
    for name in ["items", "additionalProperties"] {
        if schema[name].is_object() {
            node(&schema[name], &format!("{path}.{name}"), errors, budget);
        }
    }
}

fn default_errors(json: &Value, default: &Value, path: &str, budget: &Budget) -> FieldErrors {
    // The schema is read anew for every default in it.
    if weigh(json, budget).is_err() {
        return FieldErrors::default();
    }
    let mut schema = parse(json, &Definitions::new());
    schema.default = None;
    if !prune(&schema, &mut default.clone()).is_empty() {
        return FieldError::invalid(path, default, "must not have unknown fields").into();
    }
    let mut errors = validate(&schema, default, None, path, budget);
    if errors.is_empty() {
        let broken = Rules::compile(&schema, budget).0.validate(&schema, default, None, budget);
        errors.merge(broken.below(path));
    }
    errors
}
