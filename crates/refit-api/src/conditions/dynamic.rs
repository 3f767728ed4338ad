//! Conditions of objects of any kind.

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::{NewCondition, Status};
use crate::admission::FieldPath;
use crate::vocabulary::reasons;

/// A condition that makes no sense. Becomes the message of a condition with the reason `InvalidConditionReported`.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("{path} must be an object")]
    NotAnObject { path: FieldPath },
    #[error("{path} must be a string")]
    NotAString { path: FieldPath },
    #[error("{path} must be set")]
    NotSet { path: FieldPath },
    #[error("{path} must be one of True, False, Unknown, and is {value:?}")]
    NotAStatus { path: FieldPath, value: String },
    #[error("{path} must be a time in RFC 3339, and is {value:?}")]
    NotATime { path: FieldPath, value: String, source: jiff::Error },
}

/// The conditions of an object: those of `status.v1beta2.conditions` if it has any, else those of `status.conditions`.
///
/// What v1beta1 left out is tolerated: a condition without a reason gets the reason `NoReasonReported`, one without
/// a time has none.
pub fn read_all(object: &Value) -> Result<Vec<NewCondition>, ReadError> {
    let status = &object["status"];
    let lists =
        [("status.v1beta2.conditions", &status["v1beta2"]["conditions"]), ("status.conditions", &status["conditions"])];
    let Some((path, items)) = lists.into_iter().find_map(|(path, list)| Some((path, list.as_array()?))) else {
        return Ok(Vec::new());
    };
    let path = FieldPath::new(path);
    items.iter().enumerate().map(|(index, item)| condition(item, &path.index(index))).collect()
}

/// One condition of an object. The others must make sense too.
pub fn read(object: &Value, type_: &str) -> Result<Option<NewCondition>, ReadError> {
    Ok(read_all(object)?.into_iter().find(|condition| condition.type_ == type_))
}

fn condition(item: &Value, path: &FieldPath) -> Result<NewCondition, ReadError> {
    let fields = item.as_object().ok_or_else(|| ReadError::NotAnObject { path: path.clone() })?;
    let type_ = required(fields, "type", path)?;
    let status = required(fields, "status", path)?;
    let status = Status::parse(status)
        .ok_or_else(|| ReadError::NotAStatus { path: path.child("status"), value: status.to_owned() })?;
    let reason = optional(fields, "reason", path)?.unwrap_or(reasons::NO_REASON_REPORTED);
    let message = optional(fields, "message", path)?.unwrap_or_default();
    let since = optional(fields, "lastTransitionTime", path)?.map(|value| time(value, path)).transpose()?;
    Ok(NewCondition::new(type_.to_owned(), status, reason.to_owned())
        .with_message(message.to_owned())
        .with_since(since))
}

fn required<'a>(fields: &'a Map<String, Value>, name: &str, path: &FieldPath) -> Result<&'a str, ReadError> {
    optional(fields, name, path)?.ok_or_else(|| ReadError::NotSet { path: path.child(name) })
}

/// A field that is a string. Null and the empty string are nothing.
fn optional<'a>(fields: &'a Map<String, Value>, name: &str, path: &FieldPath) -> Result<Option<&'a str>, ReadError> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str()).filter(|text| !text.is_empty())),
        Some(_) => Err(ReadError::NotAString { path: path.child(name) }),
    }
}

fn time(value: &str, path: &FieldPath) -> Result<Timestamp, ReadError> {
    let path = path.child("lastTransitionTime");
    value.parse().map_err(|source| ReadError::NotATime { path, value: value.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Reads, and gives the conditions, one per line, or the error.
    fn check(status: Value, expected: &str) {
        let found = match read_all(&json!({ "status": status })) {
            Ok(conditions) => conditions.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expected, "{status}");
    }

    #[test]
    fn the_newer_list_wins() {
        let old = json!([{ "type": "Ready", "status": "False", "reason": "Old" }]);
        let new = json!([{ "type": "Ready", "status": "True", "reason": "New", "message": "m" }]);
        check(json!({ "conditions": old, "v1beta2": { "conditions": new } }), "Ready=True New: m");
        check(json!({ "conditions": old, "v1beta2": {} }), "Ready=False Old");
        check(json!({ "conditions": old, "v1beta2": { "conditions": [] } }), "");
    }

    #[test]
    fn an_object_without_conditions_has_none() {
        for status in [json!(null), json!({}), json!({ "conditions": null }), json!({ "conditions": "all fine" })] {
            check(status, "");
        }
    }

    #[test]
    fn the_shape_of_v1beta1_is_tolerated() {
        let condition = json!({ "type": "Ready", "status": "True", "severity": "Info", "lastTransitionTime": null });
        check(json!({ "conditions": [condition] }), "Ready=True NoReasonReported");
    }

    #[test]
    fn the_time_of_the_transition_is_read() {
        let condition = json!({ "type": "Ready", "status": "True", "lastTransitionTime": "1970-01-01T00:00:07Z" });
        let object = json!({ "status": { "conditions": [condition] } });
        let since = read(&object, "Ready").expect("the condition is well-formed").and_then(|ready| ready.since);
        assert_eq!(since.map(Timestamp::as_second), Some(7));
        assert_eq!(read(&object, "Available").expect("the condition is well-formed"), None);
    }

    #[test]
    fn a_malformed_condition_is_an_error_that_says_where() {
        let good = json!({ "type": "Ready", "status": "True" });
        let check = |bad: Value, expected: &str| check(json!({ "conditions": [good, bad] }), expected);
        check(json!("Ready"), "status.conditions[1] must be an object");
        check(json!({ "status": "True" }), "status.conditions[1].type must be set");
        check(json!({ "type": "", "status": "True" }), "status.conditions[1].type must be set");
        check(json!({ "type": "A" }), "status.conditions[1].status must be set");
        check(json!({ "type": "A", "status": true }), "status.conditions[1].status must be a string");
        check(
            json!({ "type": "A", "status": "true" }),
            r#"status.conditions[1].status must be one of True, False, Unknown, and is "true""#,
        );
        check(
            json!({ "type": "A", "status": "True", "lastTransitionTime": "yesterday" }),
            r#"status.conditions[1].lastTransitionTime must be a time in RFC 3339, and is "yesterday""#,
        );
    }

    #[test]
    fn the_error_names_the_list_that_was_read() {
        check(json!({ "v1beta2": { "conditions": [{}] } }), "status.v1beta2.conditions[0].type must be set");
    }
}
