//! What a manager has applied, read back from the object.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use serde_json::{Map, Value};

use super::applied::{Key, has_fields, members, owned_by};
use super::is_by;

/// The `spec` that the manager has applied to the object: the fields that it owns, with the values that they have.
///
/// Nothing if the manager never applied anything: then it is not known whose fields these are. An apply without a spec
/// is null.
pub fn applied_spec(observed: &Value, managed_fields: &[ManagedFieldsEntry], manager: &str) -> Option<Value> {
    let owned = owned_by(manager, Some(managed_fields))?;
    let is_other = |entry: &&ManagedFieldsEntry| !is_by(entry, manager, super::APPLY);
    let others = managed_fields.iter().filter(is_other).filter_map(|entry| entry.fields_v1.as_ref());
    let others: Vec<&Value> = others.filter_map(|fields| fields.0.get("f:spec")).collect();
    let (Some(spec), Some(owned)) = (observed.get("spec"), owned.get("f:spec")) else { return Some(Value::Null) };
    Some(owned_part(spec, owned, &others))
}

/// The part of a value that is owned. `others` is what other managers own of the same value.
fn owned_part(observed: &Value, owned: &Value, others: &[&Value]) -> Value {
    let none = Map::new();
    let inner = owned.as_object().unwrap_or(&none);
    let is_whole = members(inner).next().is_none();
    match observed {
        // An empty value that others have filled is still empty to its owner; any other leaf is owned whole.
        Value::Object(_) if is_whole && (inner.contains_key(".") || have_members(others)) => Value::Object(Map::new()),
        Value::Array(_) if is_whole && (inner.contains_key(".") || have_members(others)) => Value::Array(Vec::new()),
        _ if is_whole => observed.clone(),
        Value::Object(fields) => Value::Object(owned_fields(fields, inner, others)),
        Value::Array(items) => Value::Array(owned_items(items, inner, others)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => observed.clone(),
    }
}

fn have_members(others: &[&Value]) -> bool {
    others.iter().filter_map(|other| other.as_object()).any(|other| members(other).next().is_some())
}

fn owned_fields(fields: &Map<String, Value>, owned: &Map<String, Value>, others: &[&Value]) -> Map<String, Value> {
    let part = |(name, value): (&String, &Value)| {
        let key = format!("f:{name}");
        Some((name.clone(), owned_part(value, owned.get(&key)?, &beneath(others, &key))))
    };
    fields.iter().filter_map(part).collect()
}

fn owned_items(items: &[Value], owned: &Map<String, Value>, others: &[&Value]) -> Vec<Value> {
    let keys: Vec<(&String, &Value, Key)> =
        members(owned).filter_map(|(key, inner)| Some((key, inner, Key::parse(key)?))).collect();
    let part = |item: &Value| {
        keys.iter().find_map(|(text, inner, key)| match key {
            Key::Value(value) => (value == item).then(|| item.clone()),
            Key::Fields(fields) => has_fields(item, fields).then(|| owned_part(item, inner, &beneath(others, text))),
        })
    };
    items.iter().filter_map(part).collect()
}

fn beneath<'a>(others: &[&'a Value], key: &str) -> Vec<&'a Value> {
    others.iter().filter_map(|other| other.get(key)).collect()
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::FieldsV1;
    use serde_json::json;

    use super::*;

    fn entry(manager: &str, operation: &str, owned: Value) -> ManagedFieldsEntry {
        ManagedFieldsEntry {
            manager: Some(manager.to_owned()),
            operation: Some(operation.to_owned()),
            fields_v1: Some(FieldsV1(owned)),
            ..ManagedFieldsEntry::default()
        }
    }

    fn check(observed: Value, owned: Value, others: Value, expected: Value) {
        let entries =
            [entry("m", "Apply", json!({ "f:spec": owned })), entry("provider", "Update", json!({ "f:spec": others }))];
        let found = applied_spec(&json!({ "spec": observed }), &entries, "m");
        assert_eq!(found, Some(expected));
    }

    #[test]
    fn what_others_have_added_is_left_out() {
        check(
            json!({ "cpus": 2, "providerID": "x", "net": { "mtu": 9000, "ip": "10.0.0.1" }, "tags": ["a", "b"] }),
            json!({ "f:cpus": {}, "f:net": { "f:mtu": {} }, "f:tags": { "v:\"b\"": {} } }),
            json!({ "f:providerID": {}, "f:net": { "f:ip": {} }, "f:tags": { "v:\"a\"": {} } }),
            json!({ "cpus": 2, "net": { "mtu": 9000 }, "tags": ["b"] }),
        );
        let disks = json!([{ "name": "a", "size": 1, "path": "/dev/a" }, { "name": "b" }]);
        check(
            json!({ "disks": disks }),
            json!({ "f:disks": { "k:{\"name\":\"a\"}": { ".": {}, "f:name": {}, "f:size": {} } } }),
            json!({ "f:disks": { "k:{\"name\":\"a\"}": { "f:path": {} } } }),
            json!({ "disks": [{ "name": "a", "size": 1 }] }),
        );
    }

    #[test]
    fn a_value_that_is_owned_whole_is_taken_whole_and_an_empty_one_stays_empty() {
        check(json!({ "list": [{ "x": 1 }] }), json!({ "f:list": {} }), json!({}), json!({ "list": [{ "x": 1 }] }));
        check(json!({ "map": { "x": 1 } }), json!({ "f:map": {} }), json!({}), json!({ "map": { "x": 1 } }));
        check(
            json!({ "map": { "x": 1 } }),
            json!({ "f:map": {} }),
            json!({ "f:map": { "f:x": {} } }),
            json!({ "map": {} }),
        );
        check(json!({ "map": { "x": 1 } }), json!({ "f:map": { ".": {} } }), json!({}), json!({ "map": {} }));
    }

    #[test]
    fn without_an_apply_nothing_is_known_and_one_without_a_spec_has_none() {
        let (object, update) = (json!({ "spec": { "cpus": 2 } }), entry("m", "Update", json!({ "f:spec": {} })));
        assert_eq!(applied_spec(&object, &[update], "m"), None);
        let apply = entry("m", "Apply", json!({ "f:metadata": {} }));
        assert_eq!(applied_spec(&object, &[apply], "m"), Some(Value::Null));
    }
}
