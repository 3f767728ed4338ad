//! Defaults must be what they would be judged to be.

use serde_json::Value;

use crate::field_error::FieldError;
use crate::schema::{Definitions, Rules, parse, prune, validate};

/// What is wrong with the defaults in a schema.
pub(super) fn errors(schema: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    node(schema, path, &mut errors);
    errors
}

fn node(schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    if let Some(default) = schema.get("default").filter(|default| !default.is_null()) {
        errors.extend(default_errors(schema, default, &format!("{path}.default")));
    }
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        // The metadata of objects has rules of its own.
        if name != "metadata" {
            node(member, &format!("{path}.properties[{name}]"), errors);
        }
    }
    for name in ["items", "additionalProperties"] {
        if schema[name].is_object() {
            node(&schema[name], &format!("{path}.{name}"), errors);
        }
    }
}

fn default_errors(json: &Value, default: &Value, path: &str) -> Vec<FieldError> {
    let mut schema = parse(json, &Definitions::new());
    schema.default = None;
    if !prune(&schema, &mut default.clone()).is_empty() {
        return vec![FieldError::invalid(path, default.clone(), "must not have unknown fields")];
    }
    let mut errors = validate(&schema, default, None, path);
    if errors.is_empty() {
        let broken = Rules::compile(&schema).0.validate(&schema, default, None);
        errors.extend(broken.into_iter().map(|mut error| {
            error.field = if error.field.is_empty() { path.to_owned() } else { format!("{path}.{}", error.field) };
            error
        }));
    }
    errors
}
