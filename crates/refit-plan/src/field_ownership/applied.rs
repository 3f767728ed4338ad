//! Whether an apply would change anything.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use serde_json::{Map, Value};

use super::{APPLY, is_by};

/// What names an object rather than belonging to anybody.
const IDENTITY: [&str; 3] = ["name", "namespace", "uid"];

/// Whether applying `intent` as `manager` would change neither a value nor an owner of `observed`.
///
/// `managed_fields` are those of `observed`. Without an entry of the manager, the answer is no.
pub fn is_applied(
    intent: &Value,
    observed: &Value,
    managed_fields: Option<&[ManagedFieldsEntry]>,
    manager: &str,
) -> bool {
    let entry = managed_fields.unwrap_or_default().iter().find(|entry| is_by(entry, manager, APPLY));
    let owned = entry.and_then(|entry| entry.fields_v1.as_ref()).map(|fields| &fields.0);
    owned.is_some_and(|owned| is_owned(&fields_of(intent), Some(observed), owned))
}

/// The intent without what names the object: nobody owns that.
fn fields_of(intent: &Value) -> Value {
    let mut fields = intent.clone();
    if let Some(object) = fields.as_object_mut() {
        object.retain(|name, _| name != "apiVersion" && name != "kind");
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.retain(|name, _| !IDENTITY.contains(&name.as_str()));
        }
        object.retain(|name, value| name != "metadata" || value.as_object().is_some_and(|fields| !fields.is_empty()));
    }
    fields
}

/// Whether exactly the fields of `intent` are owned, and observed with these values.
fn is_owned(intent: &Value, observed: Option<&Value>, owned: &Value) -> bool {
    let (Some(observed), Some(owned)) = (observed, owned.as_object()) else { return false };
    match intent {
        Value::Object(fields) if fields.is_empty() => observed.is_object() && members(owned).next().is_none(),
        _ if owned.is_empty() => intent == observed,
        Value::Object(fields) => are_fields_owned(fields, observed, owned),
        Value::Array(items) => are_items_owned(items, observed, owned),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn are_fields_owned(fields: &Map<String, Value>, observed: &Value, owned: &Map<String, Value>) -> bool {
    let is_field_owned = |(name, value): (&String, &Value)| {
        owned.get(&format!("f:{name}")).is_some_and(|owned| is_owned(value, observed.get(name), owned))
    };
    fields.len() == members(owned).count() && fields.iter().all(is_field_owned)
}

/// Items of a list are known by some of their fields (`k:`) or by their value (`v:`).
fn are_items_owned(items: &[Value], observed: &Value, owned: &Map<String, Value>) -> bool {
    let Some(observed) = observed.as_array() else { return false };
    let is_item_owned = |item: &Value| {
        members(owned).any(|(key, owned)| match Key::parse(key) {
            Some(Key::Value(value)) => value == *item && observed.contains(item),
            Some(Key::Fields(fields)) => {
                let found = observed.iter().find(|candidate| has_fields(candidate, &fields));
                has_fields(item, &fields) && is_owned(item, found, owned)
            }
            None => false,
        })
    };
    items.len() == members(owned).count() && items.iter().all(is_item_owned)
}

/// How the item of a list is known.
enum Key {
    Fields(Map<String, Value>),
    Value(Value),
}

impl Key {
    fn parse(text: &str) -> Option<Self> {
        match text.split_once(':')? {
            ("k", fields) => serde_json::from_str(fields).ok().map(Self::Fields),
            ("v", value) => serde_json::from_str(value).ok().map(Self::Value),
            _ => None,
        }
    }
}

fn has_fields(item: &Value, fields: &Map<String, Value>) -> bool {
    fields.iter().all(|(name, value)| item.get(name) == Some(value))
}

/// What is inside; the dot stands for the thing itself.
fn members(owned: &Map<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
    owned.iter().filter(|(key, _)| *key != ".")
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::FieldsV1;
    use serde_json::json;

    use super::*;

    fn intent() -> Value {
        json!({
            "apiVersion": "v1",
            "kind": "Thing",
            "metadata": {
                "name": "a", "uid": "1",
                "labels": { "l": "1" },
                "finalizers": ["f"],
                "ownerReferences": [{ "uid": "o", "name": "owner" }],
            },
            "spec": { "size": 1, "selector": { "x": "y" }, "empty": {}, "list": ["p", "q"], "gates": [{ "type": "g", "on": true }] },
        })
    }

    fn owned() -> Value {
        json!({
            "f:metadata": {
                "f:labels": { ".": {}, "f:l": {} },
                "f:finalizers": { ".": {}, "v:\"f\"": {} },
                "f:ownerReferences": { ".": {}, "k:{\"uid\":\"o\"}": {} },
            },
            "f:spec": { "f:size": {}, "f:selector": {}, "f:empty": {}, "f:list": {},
                "f:gates": { "k:{\"type\":\"g\"}": { ".": {}, "f:type": {}, "f:on": {} } } },
        })
    }

    fn check(observed: &Value, owned: Value, manager: &str, expected: bool) {
        let entry = ManagedFieldsEntry {
            manager: Some("m".to_owned()),
            operation: Some(APPLY.to_owned()),
            fields_v1: Some(FieldsV1(owned.clone())),
            ..ManagedFieldsEntry::default()
        };
        let found = is_applied(&intent(), observed, Some(&[entry]), manager);
        assert_eq!(found, expected, "observed {observed}, owned {owned}");
    }

    fn with(mut value: Value, pointer: &str, new: Value) -> Value {
        let (parent, name) = pointer.rsplit_once('/').expect("a pointer must have a slash");
        value.pointer_mut(parent).expect("the parent must exist")[name.replace("~1", "/")] = new;
        value
    }

    #[test]
    fn what_is_there_and_owned_is_applied_whatever_others_added() {
        check(&intent(), owned(), "m", true);
        let others = with(intent(), "/metadata/labels/other", json!("x"));
        let others = with(others, "/metadata/finalizers", json!(["theirs", "f"]));
        check(&with(others, "/spec/empty/other", json!(1)), owned(), "m", true);
    }

    #[test]
    fn another_value_is_not_applied() {
        let changes = [
            ("/spec/size", json!(2)),
            ("/spec/list", json!(["q", "p"])),
            ("/spec/selector", json!({ "x": "y", "more": "z" })),
            ("/spec/gates", json!([{ "type": "g", "on": false }])),
            ("/spec/gates", json!([{ "type": "other", "on": true }])),
            ("/metadata/labels/l", json!("2")),
            ("/metadata/finalizers", json!([])),
            ("/metadata/ownerReferences", json!([{ "uid": "o", "name": "owner", "controller": true }])),
            ("/metadata/ownerReferences", json!("nonsense")),
        ];
        for (pointer, value) in changes {
            check(&with(intent(), pointer, value), owned(), "m", false);
        }
    }

    #[test]
    fn another_owner_is_not_applied() {
        check(&intent(), owned(), "somebody", false);
        check(&intent(), json!({}), "m", false);
        check(&intent(), with(owned(), "/f:metadata/f:labels", json!({ ".": {} })), "m", false);
        check(&intent(), with(owned(), "/f:spec/f:size", json!({ "f:deep": {} })), "m", false);
        assert!(!is_applied(&intent(), &intent(), None, "m"));
    }

    #[test]
    fn a_field_that_is_owned_and_no_longer_intended_is_not_applied() {
        check(&intent(), with(owned(), "/f:metadata/f:labels/f:gone", json!({})), "m", false);
        check(&intent(), with(owned(), "/f:metadata/f:finalizers/v:\"gone\"", json!({})), "m", false);
        check(&intent(), with(owned(), "/f:spec/f:empty/f:gone", json!({})), "m", false);
    }
}
