//! Which part of an object was which part of the object before.

use serde_json::Value;

use super::{ListType, Schema};

/// A part of the old object that a part of the new one can be compared with.
#[derive(Clone, Copy)]
pub(super) struct Old<'a>(Option<&'a Value>);

impl<'a> Old<'a> {
    pub(super) const NONE: Self = Self(None);

    pub(super) fn new(value: Option<&'a Value>) -> Self {
        Self(value)
    }

    pub(super) fn value(self) -> Option<&'a Value> {
        self.0
    }

    pub(super) fn member(self, name: &str) -> Self {
        Self(self.0.and_then(|old| old.get(name)))
    }

    /// The item with the same keys. Items of other lists have no identity.
    pub(super) fn item(self, list: &Schema, item: &Value) -> Self {
        let ListType::Map { keys } = &list.list else { return Self::NONE };
        let is_same = |old: &&Value| keys.iter().all(|key| old.get(key) == item.get(key));
        Self(self.0.and_then(Value::as_array).and_then(|items| items.iter().find(is_same)))
    }

    /// Whether nothing changed here: then what is wrong was wrong before, and is not held against the change.
    pub(super) fn is_unchanged(self, value: &Value) -> bool {
        self.0 == Some(value)
    }
}
