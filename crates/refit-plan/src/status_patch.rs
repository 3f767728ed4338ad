//! Writes a status that has changed, and nothing else.

use kube::core::ObjectMeta;
use refit_api::resource::CustomKind;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::effect::{Effect, Part, Patch, Target};

/// The patch that makes the status of `object` into `new`. Nothing if it is that already.
///
/// Conditions are replaced as a whole and others may have added some, so a patch of them is for the version that was
/// read. A patch of counters alone never conflicts.
pub fn status_patch<K: CustomKind, S: Serialize>(object: &K, old: &S, new: &S) -> Option<Effect> {
    let encode = |status: &S| serde_json::to_value(status).expect("a status must encode");
    let (old, new) = (encode(old), encode(new));
    let changes = changes(&old, &new);
    if changes.is_empty() {
        return None;
    }
    let metadata: &ObjectMeta = object.meta();
    let resource_version = metadata.resource_version.clone().filter(|_| changes.contains_key("conditions"));
    let merge = json!({ "status": changes });
    Some(Effect::Patch(Patch { part: Part::Status, resource_version, ..Patch::object(Target::of(object), merge) }))
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
        assert_eq!(patch.resource_version.as_deref(), Some("1"));
    }
}
