//! Writes a status that has changed, and nothing else.

use kube::core::ObjectMeta;
use refit_api::resource::CustomKind;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::effect::{Effect, Part, Patch, Target};

/// The patch that makes the status of `object` into `new`. Nothing if it is that already.
///
/// A merge replaces conditions as a whole and others may have added some. So each condition is replaced by itself, if it is
/// still in its place; where that cannot be said, the patch is for the version that was read. A patch of counters alone
/// never conflicts.
pub fn status_patch<K: CustomKind, S: Serialize>(object: &K, old: &S, new: &S) -> Option<Effect> {
    let encode = |status: &S| serde_json::to_value(status).expect("a status must encode");
    let (old, new) = (encode(old), encode(new));
    let changes = changes(&old, &new);
    if changes.is_empty() {
        return None;
    }
    let target = Target::of(object);
    let operations = if changes.contains_key("conditions") { operations(&target, &old, &new) } else { None };
    let needs_version = changes.contains_key("conditions") && operations.is_none();
    let metadata: &ObjectMeta = object.meta();
    let resource_version = metadata.resource_version.clone().filter(|_| needs_version);
    let merge = json!({ "status": changes });
    Some(Effect::Patch(Patch { part: Part::Status, resource_version, operations, ..Patch::object(target, merge) }))
}

/// The operations that make a status into another, if every condition keeps its place.
pub(crate) fn operations(target: &Target, old: &Value, new: &Value) -> Option<Vec<Value>> {
    let conditions = |status: &'_ Value| status.get("conditions").and_then(Value::as_array).cloned();
    let (old_conditions, new_conditions) = (conditions(old)?, conditions(new)?);
    let is_kept = |(old, new): (&Value, &Value)| old["type"] == new["type"];
    if new_conditions.len() < old_conditions.len() || !old_conditions.iter().zip(&new_conditions).all(is_kept) {
        return None;
    }
    let mut operations = vec![json!({ "op": "test", "path": "/metadata/uid", "value": target.uid.as_ref()? })];
    for (place, condition) in new_conditions.iter().enumerate() {
        match old_conditions.get(place) {
            Some(old) if old == condition => {}
            Some(_) => operations.extend(replace(place, condition)),
            None => operations.push(json!({ "op": "add", "path": "/status/conditions/-", "value": condition })),
        }
    }
    let others = changes(old, new).into_iter().filter(|(name, _)| name != "conditions");
    operations.extend(others.map(|(name, value)| match value {
        Value::Null => json!({ "op": "remove", "path": format!("/status/{name}") }),
        value => json!({ "op": "add", "path": format!("/status/{name}"), "value": value }),
    }));
    Some(operations)
}

fn replace(place: usize, condition: &Value) -> [Value; 2] {
    let path = format!("/status/conditions/{place}");
    [
        json!({ "op": "test", "path": format!("{path}/type"), "value": condition["type"] }),
        json!({ "op": "replace", "path": path, "value": condition }),
    ]
}

/// The fields of a status that differ, with null for those that go.
fn changes(old: &Value, new: &Value) -> Map<String, Value> {
    let empty = Map::new();
    let (old, new) = (old.as_object().unwrap_or(&empty), new.as_object().unwrap_or(&empty));
    let changed = new.iter().filter(|(name, value)| old.get(*name) != Some(value));
    let gone = old.keys().filter(|name| !new.contains_key(*name)).map(|name| (name.clone(), Value::Null));
    changed.map(|(name, value)| (name.clone(), value.clone())).chain(gone).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{condition, machine_set};

    #[test]
    fn only_what_changed_is_written_and_only_conditions_pin_the_version() {
        let set = machine_set("ms", 1);
        let mut old = set.status.clone();
        old.replicas = Some(1);
        let mut new = old.clone();
        assert_eq!(status_patch(&set, &old, &new), None);
        new.replicas = None;
        new.ready_replicas = Some(0);
        let Some(Effect::Patch(patch)) = status_patch(&set, &old, &new) else { panic!("it must patch") };
        assert_eq!(patch.merge, json!({ "status": { "readyReplicas": 0, "replicas": null } }));
        assert_eq!((patch.part, patch.resource_version), (Part::Status, None));
        new.conditions.push(condition("Ready", "True"));
        let Some(Effect::Patch(patch)) = status_patch(&set, &old, &new) else { panic!("it must patch") };
        assert_eq!((patch.resource_version.as_deref(), patch.operations), (Some("1"), None), "there were none before");
    }

    #[test]
    fn conditions_that_keep_their_place_are_replaced_one_by_one() {
        let set = machine_set("ms", 1);
        let mut old = set.status.clone();
        old.replicas = Some(1);
        old.conditions = vec![condition("A", "True"), condition("B", "True")];
        let mut new = old.clone();
        (new.replicas, new.ready_replicas) = (None, Some(1));
        new.conditions[1] = condition("B", "False");
        new.conditions.push(condition("C", "True"));
        let Some(Effect::Patch(patch)) = status_patch(&set, &old, &new) else { panic!("it must patch") };
        let expected = json!([
            { "op": "test", "path": "/metadata/uid", "value": "uid-ms" },
            { "op": "test", "path": "/status/conditions/1/type", "value": "B" },
            { "op": "replace", "path": "/status/conditions/1", "value": new.conditions[1] },
            { "op": "add", "path": "/status/conditions/-", "value": new.conditions[2] },
            { "op": "add", "path": "/status/readyReplicas", "value": 1 },
            { "op": "remove", "path": "/status/replicas" },
        ]);
        assert_eq!(patch.operations.map(Value::from), Some(expected));
        assert_eq!(patch.resource_version, None);
        new.conditions.swap(0, 1);
        let Some(Effect::Patch(patch)) = status_patch(&set, &old, &new) else { panic!("it must patch") };
        assert_eq!((patch.resource_version.as_deref(), patch.operations), (Some("1"), None));
    }
}
