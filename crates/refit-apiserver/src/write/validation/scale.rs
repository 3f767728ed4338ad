//! The numbers that the scale subresource reads must be numbers.

use serde_json::Value;

use crate::field_error::{FieldError, FieldErrors};
use crate::resource::Resource;

/// What is wrong with the replicas that the scale subresource shows.
pub(super) fn errors(resource: &Resource, object: &Value) -> FieldErrors {
    let Some(scale) = &resource.scale else { return FieldErrors::default() };
    let mut errors: FieldErrors = replicas(object, &scale.spec_replicas).into_iter().collect();
    errors.merge(status_errors(resource, object));
    errors
}

/// The part of it that is in the status.
pub(super) fn status_errors(resource: &Resource, object: &Value) -> FieldErrors {
    let Some(scale) = &resource.scale else { return FieldErrors::default() };
    let selector = scale.label_selector.as_deref().and_then(|path| {
        let value = match lookup(object, path) {
            Ok(value) => value?,
            Err(detail) => return Some(FieldError::invalid(path, "", detail)),
        };
        let detail = format!("{path} accessor error: {value} is of the type {}, expected string", go_type(value));
        (!value.is_string()).then(|| FieldError::invalid(path, "", detail))
    });
    replicas(object, &scale.status_replicas).into_iter().chain(selector).collect()
}

fn replicas(object: &Value, path: &str) -> Option<FieldError> {
    let value = match lookup(object, path) {
        Ok(value) => value?,
        Err(detail) => return Some(FieldError::invalid(path, 0, detail)),
    };
    match value.as_i64() {
        None => {
            let detail =
                format!("{path} accessor error: {} is of the type {}, expected int64", go_value(value), go_type(value));
            Some(FieldError::invalid(path, 0, detail))
        }
        Some(count) if count < 0 => Some(FieldError::invalid(path, count, "should be a non-negative integer")),
        Some(count) if count > i64::from(i32::MAX) => {
            Some(FieldError::invalid(path, count, format!("should be less than or equal to {}", i32::MAX)))
        }
        Some(_) => None,
    }
}

/// The value at a path such as `.spec.replicas`. `Err` says what is in the way.
fn lookup<'a>(object: &'a Value, path: &str) -> Result<Option<&'a Value>, String> {
    let mut found = Some(object);
    for name in path.trim_start_matches('.').split('.') {
        found = match found {
            Some(Value::Object(members)) => members.get(name),
            None => None,
            Some(other) => {
                let (text, kind) = (go_value(other), go_type(other));
                let expected = "map[string]interface{}";
                return Err(format!("{path} accessor error: {text} is of the type {kind}, expected {expected}"));
            }
        };
    }
    Ok(found)
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

fn go_value(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
