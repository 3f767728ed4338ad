//! Whether an apply would change anything.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use refit_api::vocabulary::labels::{MACHINE_TEMPLATE_HASH, SET_NAME};
use serde_json::{Map, Value, json};

use super::{APPLY, is_by};

/// What names an object rather than belonging to anybody.
const IDENTITY: [&str; 3] = ["name", "namespace", "uid"];

/// What a machine that changes its MachineSet gets in one patch with the marks of that, besides its new owner. None of it is
/// ever taken away by leaving it out, so that who owns it makes no difference.
const HANDED_LABELS: [&str; 2] = [SET_NAME, MACHINE_TEMPLATE_HASH];
const HANDED_SPEC: [&str; 2] = ["version", "failureDomain"];

/// Whether applying `intent` as `manager` would change neither a value nor an owner of `observed`.
///
/// `managed_fields` are those of `observed`. Without an entry of the manager, the answer is no.
pub fn is_applied(
    intent: &Value,
    observed: &Value,
    managed_fields: Option<&[ManagedFieldsEntry]>,
    manager: &str,
) -> bool {
    let owned = owned_by(manager, managed_fields);
    owned.is_some_and(|owned| is_owned(&fields_of(intent), Some(observed), owned))
}

/// As [`is_applied`], for what a MachineSet applies to its machines and their objects: what they got when they were handed
/// over may be anybody's. To own that, too, would cost a write for each machine and gain nothing.
pub fn is_applied_or_handed_over(
    intent: &Value,
    observed: &Value,
    managed_fields: Option<&[ManagedFieldsEntry]>,
    manager: &str,
) -> bool {
    let Some(owned) = owned_by(manager, managed_fields) else { return false };
    let mut fields = fields_of(intent);
    let (metadata, spec) = (&owned["f:metadata"], &owned["f:spec"]);
    if let Some(fields) = fields.get_mut("spec") {
        leave_out(fields, &observed["spec"], spec, &HANDED_SPEC);
    }
    if let Some(fields) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
        let observed = &observed["metadata"];
        if let Some(labels) = fields.get_mut("labels") {
            leave_out(labels, &observed["labels"], &metadata["f:labels"], &HANDED_LABELS);
        }
        if let Some(owners) = fields.get_mut("ownerReferences") {
            leave_out_owners(owners, &observed["ownerReferences"], &metadata["f:ownerReferences"]);
        }
        fields.retain(|name, value| !is_empty(value) || metadata.get(format!("f:{name}")).is_some());
    }
    is_owned(&fields, Some(observed), owned)
}

/// Leaves out those of the named fields that are as intended and belong to others.
fn leave_out(intent: &mut Value, observed: &Value, owned: &Value, names: &[&str]) {
    let is_due = |name: &str, value: &Value| {
        observed.get(name) != Some(value) || owned.get(format!("f:{name}")).is_some() || !names.contains(&name)
    };
    intent.as_object_mut().into_iter().for_each(|fields| fields.retain(|name, value| is_due(name, value)));
}

/// Leaves out the owners that are as intended and were put there by others.
fn leave_out_owners(intent: &mut Value, observed: &Value, owned: &Value) {
    let is_observed = |item: &Value| observed.as_array().is_some_and(|items| items.contains(item));
    let is_owned = |item: &Value| owned.get(format!("k:{}", json!({ "uid": item["uid"] }))).is_some();
    intent.as_array_mut().into_iter().for_each(|items| items.retain(|item| !is_observed(item) || is_owned(item)));
}

fn is_empty(value: &Value) -> bool {
    value.as_object().is_some_and(Map::is_empty) || value.as_array().is_some_and(Vec::is_empty)
}

/// Whether applying the `spec` of `intent` as `manager` would change neither a value nor an owner of that of `observed`.
pub fn is_spec_applied(
    intent: &Value,
    observed: &Value,
    managed_fields: Option<&[ManagedFieldsEntry]>,
    manager: &str,
) -> bool {
    let Some(owned) = owned_by(manager, managed_fields) else { return false };
    match (intent.get("spec"), owned.get("f:spec")) {
        (None, None) => true,
        (Some(spec), Some(owned)) => is_owned(spec, observed.get("spec"), owned),
        (Some(_), None) | (None, Some(_)) => false,
    }
}

/// What belongs to the manager by its applies.
pub(super) fn owned_by<'a>(manager: &str, managed_fields: Option<&'a [ManagedFieldsEntry]>) -> Option<&'a Value> {
    let entry = managed_fields.unwrap_or_default().iter().find(|entry| is_by(entry, manager, APPLY));
    entry.and_then(|entry| entry.fields_v1.as_ref()).map(|fields| &fields.0)
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
pub(super) enum Key {
    Fields(Map<String, Value>),
    Value(Value),
}

impl Key {
    pub fn parse(text: &str) -> Option<Self> {
        match text.split_once(':')? {
            ("k", fields) => serde_json::from_str(fields).ok().map(Self::Fields),
            ("v", value) => serde_json::from_str(value).ok().map(Self::Value),
            _ => None,
        }
    }
}

pub(super) fn has_fields(item: &Value, fields: &Map<String, Value>) -> bool {
    fields.iter().all(|(name, value)| item.get(name) == Some(value))
}

/// What is inside; the dot stands for the thing itself.
pub(super) fn members(owned: &Map<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
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
    fn what_was_handed_over_may_be_anybodys() {
        let mut intent = intent();
        intent["metadata"]["labels"] = json!({ SET_NAME: "ms", "l": "1" });
        intent["spec"]["version"] = json!("v1");
        let check = |observed: &Value, owned: Value, expected: bool| {
            let fields_v1 = Some(FieldsV1(owned.clone()));
            let (manager, operation) = (Some("m".to_owned()), Some(APPLY.to_owned()));
            let entry = ManagedFieldsEntry { manager, operation, fields_v1, ..ManagedFieldsEntry::default() };
            let found = is_applied_or_handed_over(&intent, observed, Some(&[entry]), "m");
            assert_eq!(found, expected, "observed {observed}, owned {owned}");
        };
        let without_owner = with(owned(), "/f:metadata/f:ownerReferences", json!({ ".": {} }));
        check(&intent, owned(), true);
        check(&intent, without_owner.clone(), true);
        check(&with(intent.clone(), "/spec/version", json!("v2")), without_owner.clone(), false);
        check(
            &with(intent.clone(), &format!("/metadata/labels/{}", SET_NAME.replace('/', "~1")), json!("x")),
            owned(),
            false,
        );
        check(&with(intent.clone(), "/metadata/ownerReferences", json!([])), without_owner.clone(), false);
        check(&intent, with(without_owner, "/f:metadata/f:labels", json!({ ".": {} })), false);
    }

    #[test]
    fn only_the_spec_may_be_asked_about() {
        let is_applied = |intent: &Value, owned: Value| {
            let fields_v1 = Some(FieldsV1(owned));
            let (manager, operation) = (Some("m".to_owned()), Some(APPLY.to_owned()));
            let entry = ManagedFieldsEntry { manager, operation, fields_v1, ..ManagedFieldsEntry::default() };
            is_spec_applied(intent, &self::intent(), Some(&[entry]), "m")
        };
        let of_spec = || json!({ "f:spec": owned()["f:spec"] });
        assert!(is_applied(&intent(), of_spec()));
        assert!(!is_applied(&with(intent(), "/spec/size", json!(2)), of_spec()));
        assert!(!is_applied(&intent(), json!({ "f:metadata": {} })));
        assert!(!is_applied(&json!({}), of_spec()));
        assert!(is_applied(&json!({}), json!({ "f:metadata": {} })));
    }

    #[test]
    fn a_field_that_is_owned_and_no_longer_intended_is_not_applied() {
        check(&intent(), with(owned(), "/f:metadata/f:labels/f:gone", json!({})), "m", false);
        check(&intent(), with(owned(), "/f:metadata/f:finalizers/v:\"gone\"", json!({})), "m", false);
        check(&intent(), with(owned(), "/f:spec/f:empty/f:gone", json!({})), "m", false);
    }
}
