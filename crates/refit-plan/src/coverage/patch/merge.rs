//! Merge patches, RFC 7386, as upstream's library merges them.

use refit_api::decode;
use serde_json::{Map, Value};

use super::PatchProblem;

/// Merges the document into the object.
pub(super) fn apply(document: &[u8], object: &mut Value) -> Result<(), PatchProblem> {
    if document.is_empty() {
        return Ok(());
    }
    let patch: Value = decode::from_json(document).map_err(|error| PatchProblem::Document(error.into()))?;
    merge(object, patch);
    Ok(())
}

fn merge(target: &mut Value, patch: Value) {
    match (target, patch) {
        (Value::Object(fields), Value::Object(patch)) => merge_fields(fields, patch),
        // Not pruned: upstream takes what replaces an object as it is.
        (target @ Value::Object(_), patch) => *target = patch,
        (target, patch) => *target = without_nulls(patch),
    }
}

fn merge_fields(fields: &mut Map<String, Value>, patch: Map<String, Value>) {
    for (name, patch) in patch {
        if patch.is_null() {
            fields.remove(&name);
        } else {
            merge(fields.entry(name).or_insert(Value::Null), patch);
        }
    }
}

/// The value without the members of objects that are `null`. Items of lists that are `null` stay.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.into_iter().filter(|(_, field)| !field.is_null());
            Value::Object(kept.map(|(name, field)| (name, without_nulls(field))).collect())
        }
        Value::Array(items) => items.into_iter().map(without_nulls).collect(),
        scalar @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => scalar,
    }
}
