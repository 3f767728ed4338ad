//! Objects inside objects have a type of their own.

use serde_json::Value;

use crate::field_error::{FieldError, FieldErrors};
use crate::metadata::names::NameRule;
use crate::schema::{Additional, Schema};

/// What is wrong with the types of embedded objects.
pub(super) fn errors(schema: &Schema, object: &Value) -> FieldErrors {
    let mut errors = FieldErrors::default();
    node(schema, object, "", &mut errors);
    errors
}

fn node(schema: &Schema, value: &Value, path: &str, errors: &mut FieldErrors) {
    if errors.is_closed() {
        return;
    }
    match value {
        Value::Object(members) => {
            if schema.embedded_resource {
                errors.merge(type_errors(value, path));
            }
            for (name, member) in members {
                match (schema.properties.get(name), &schema.additional) {
                    (Some(schema), _) if path.is_empty() => node(schema, member, name, errors),
                    (Some(schema), _) => node(schema, member, &format!("{path}.{name}"), errors),
                    (None, Additional::Values(schema)) => node(schema, member, &format!("{path}[{name}]"), errors),
                    (None, Additional::Unspecified | Additional::Forbidden | Additional::Anything) => {}
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                if let Some(schema) = &schema.items {
                    node(schema, item, &format!("{path}[{index}]"), errors);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn type_errors(value: &Value, path: &str) -> FieldErrors {
    ["apiVersion", "kind"]
        .into_iter()
        .filter_map(|name| type_error(name, value.get(name), format!("{path}.{name}")))
        .collect()
}

fn type_error(name: &str, value: Option<&Value>, field: String) -> Option<FieldError> {
    let Some(value) = value else { return Some(FieldError::required(field, "")) };
    let Some(text) = value.as_str() else {
        return Some(FieldError::invalid(field, value, "must be a string"));
    };
    if text.is_empty() {
        return Some(FieldError::invalid(field, "", "must not be empty"));
    }
    if name == "apiVersion" {
        let detail = format!("unexpected GroupVersion string: {text}");
        return (text.matches('/').count() > 1).then(|| FieldError::invalid(field, text, detail));
    }
    let problem = NameRule::Label1035.problems(&text.to_lowercase()).next();
    let detail = |problem| format!("may have mixed case, but should otherwise match: {problem}");
    problem.map(|problem| FieldError::invalid(field, text, detail(problem)))
}
