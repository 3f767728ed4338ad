//! JSON merge patches, made from what an object is and what it should be.
//!
//! Both states are known here in full, so that their difference is all there is to write: whatever is in the first and
//! not in the second goes. It is the way to write fields of one writer. Fields that several share are applied, and
//! whether that is due is asked of the managed fields.
//!
//! The first write of a plan to an object of ours carries the version that was seen, so that a decision about an
//! outdated object does nothing. The status goes before the object itself: it nearly always changes. A patch of the
//! object that replaces a list (owners, finalizers) needs the version, too, and so goes in a round without status. A status
//! alone needs no version where its conditions can be replaced one by one: what it says is told anew when it is outdated.

use refit_api::resource::CustomKind;
use serde_json::{Map, Value, json};

use crate::effect::{Part, Patch, Target};
use crate::status_patch::operations;

/// The patches that make one object of ours into another.
pub(crate) struct OwnWrites {
    pub status: Option<Patch>,
    /// Labels, annotations, owners, finalizers and spec.
    pub object: Option<Patch>,
}

impl OwnWrites {
    pub fn of<K: CustomKind>(before: &K, after: &K) -> Self {
        let encode = |object: &K| serde_json::to_value(object).expect("an object of ours must encode");
        let (was, is) = (Parts::of(encode(before)), Parts::of(encode(after)));
        let patch = |before_part: &Value, after_part: &Value| {
            let merge = difference(before_part, after_part)?;
            let resource_version = before.meta().resource_version.clone();
            Some(Patch { resource_version, ..Patch::object(Target::of(before), merge) })
        };
        let mut status = patch(&was.status, &is.status).map(|patch| Patch { part: Part::Status, ..patch });
        let mut object = patch(&was.object, &is.object);
        if let Some(patch) = status.as_mut().filter(|_| object.is_none()) {
            patch.operations = operations(&patch.target, &was.status["status"], &is.status["status"]);
            patch.resource_version.take_if(|_| patch.operations.is_some());
        }
        if let Some(patch) = object.as_mut().filter(|patch| status.is_some() && !replaces_a_list(&patch.merge)) {
            patch.resource_version = None;
        }
        Self { status, object }
    }

    /// Whether both are due and only one can be made: the first write makes the version of the second outdated.
    pub fn collide(&self) -> bool {
        self.status.is_some() && self.object.as_ref().is_some_and(|patch| patch.resource_version.is_some())
    }

    /// The patches in their order: the status first. Where they collide, the other one is left to the next round.
    pub fn in_order(self) -> impl Iterator<Item = Patch> {
        let object = if self.collide() { None } else { self.object };
        self.status.into_iter().chain(object)
    }
}

/// What is written of an object, in the shape of patches.
struct Parts {
    status: Value,
    object: Value,
}

impl Parts {
    fn of(mut object: Value) -> Self {
        let mut take = |pointer: &str, empty: Value| object.pointer_mut(pointer).map_or(empty, Value::take);
        let status = json!({ "status": take("/status", json!({})) });
        let object = json!({
            "metadata": {
                "labels": take("/metadata/labels", json!({})),
                "annotations": take("/metadata/annotations", json!({})),
                "ownerReferences": take("/metadata/ownerReferences", json!([])),
                "finalizers": take("/metadata/finalizers", json!([])),
            },
            "spec": take("/spec", Value::Null),
        });
        Self { status, object }
    }
}

/// The merge patch that makes `after` from `before`. Nothing when they are the same.
pub(crate) fn difference(before: &Value, after: &Value) -> Option<Value> {
    match (before, after) {
        _ if before == after => None,
        (Value::Object(before), Value::Object(after)) => Some(Value::Object(changed_fields(before, after))),
        _ => Some(after.clone()),
    }
}

/// Whether the patch replaces a list. Others may have added to it, so such a patch needs the version it was made for.
fn replaces_a_list(patch: &Value) -> bool {
    match patch {
        Value::Array(_) => true,
        Value::Object(fields) => fields.values().any(replaces_a_list),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn changed_fields(before: &Map<String, Value>, after: &Map<String, Value>) -> Map<String, Value> {
    let gone = before.keys().filter(|name| !after.contains_key(*name)).map(|name| (name.clone(), Value::Null));
    let changed = after.iter().filter_map(|(name, value)| {
        let change = match before.get(name) {
            Some(before) => difference(before, value)?,
            None => value.clone(),
        };
        Some((name.clone(), change))
    });
    gone.chain(changed).collect()
}

/// What a server makes of a merge patch.
#[cfg(test)]
pub(crate) fn apply(object: &mut Value, patch: &Value) {
    let Value::Object(fields) = patch else {
        *object = patch.clone();
        return;
    };
    if !object.is_object() {
        *object = Value::Object(Map::new());
    }
    let target = object.as_object_mut().expect("it was made an object");
    for (name, change) in fields {
        if change.is_null() {
            target.remove(name);
        } else {
            apply(target.entry(name).or_insert(Value::Null), change);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_what_changed_is_in_the_patch() {
        let before = json!({ "labels": { "a": "1", "b": "2" }, "list": [1], "same": {} });
        let after = json!({ "labels": { "a": "1", "c": "3" }, "list": [2], "same": {} });
        let patch = difference(&before, &after).unwrap();
        assert_eq!(patch, json!({ "labels": { "b": null, "c": "3" }, "list": [2] }));
        assert!(replaces_a_list(&patch));
        assert_eq!(difference(&after, &after), None);
    }

    #[test]
    fn a_patch_of_single_values_replaces_no_list() {
        assert!(!replaces_a_list(&json!({ "metadata": { "annotations": { "a": null } } })));
    }

    fn json_without_null() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![any::<bool>().prop_map(Value::from), "[ab]{0,2}".prop_map(Value::from)];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::btree_map("[abc]", inner, 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn applying_the_difference_gives_the_object(before in json_without_null(), after in json_without_null()) {
            let mut object = before.clone();
            if let Some(patch) = difference(&before, &after) {
                apply(&mut object, &patch);
            }
            prop_assert_eq!(object, after);
        }
    }
}
