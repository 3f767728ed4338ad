//! Conditions in the status of an object.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::write::time;

/// Writes a condition. Its time moves when it turns from true to false or back.
pub fn set_condition(object: &mut Value, kind: &str, is_true: bool, reason: &str, message: &str, now: Timestamp) {
    let status = if is_true { "True" } else { "False" };
    let conditions = &mut object["status"]["conditions"];
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    let Some(conditions) = conditions.as_array_mut() else { return };
    let known = conditions.iter().position(|condition| condition["type"] == kind);
    let since = known.map(|index| &conditions[index]).filter(|condition| condition["status"] == status);
    let since = since.map_or_else(|| time(now), |condition| condition["lastTransitionTime"].clone());
    let condition =
        json!({"type": kind, "status": status, "lastTransitionTime": since, "reason": reason, "message": message});
    match known {
        Some(index) => conditions[index] = condition,
        None => conditions.push(condition),
    }
}
/// Whether a condition is there and true.
pub fn is_true(object: &Value, kind: &str) -> bool {
    let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    conditions.into_iter().any(|condition| condition["type"] == kind && condition["status"] == "True")
}
