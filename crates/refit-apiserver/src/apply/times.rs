//! Times of owners that do not tell anything new.

use serde_json::{Map, Value};

const TIME: &str = "time";

/// Puts the times of owners back where nothing else changed, so that the write changes nothing at all.
///
/// To be called last, when admission has run and what the endpoint cannot change was put back.
pub fn keep_times(live: &Value, new: &mut Value) {
    let (Some(old), Some(entries)) = (entries(live), entries(new)) else { return };
    let is_same = old.len() == entries.len()
        && old.iter().zip(entries).all(|(old, new)| same_but(TIME, old, new))
        && same_objects(live, new);
    if !is_same {
        return;
    }
    let old = old.clone();
    if let Some(entries) = new.pointer_mut("/metadata/managedFields") {
        *entries = Value::Array(old);
    }
}

fn entries(object: &Value) -> Option<&Vec<Value>> {
    object.pointer("/metadata/managedFields")?.as_array()
}

fn same_objects(live: &Value, new: &Value) -> bool {
    let empty = Value::Object(Map::new());
    let metadata = |object: &'_ Value| object.get("metadata").cloned().unwrap_or(empty.clone());
    same_but("metadata", live, new) && same_but("managedFields", &metadata(live), &metadata(new))
}

/// Whether two maps are equal, one member aside.
fn same_but(name: &str, left: &Value, right: &Value) -> bool {
    let (Some(left), Some(right)) = (left.as_object(), right.as_object()) else { return left == right };
    let others = |map: &'_ Map<String, Value>| map.len() - usize::from(map.contains_key(name));
    others(left) == others(right)
        && left.iter().filter(|(other, _)| *other != name).all(|(name, value)| right.get(name) == Some(value))
}
