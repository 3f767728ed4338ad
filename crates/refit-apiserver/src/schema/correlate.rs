//! Which part of an object was which part of the object before.

use std::collections::BTreeMap;

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

    /// The items of a list by their keys. Items of other lists than list maps have no identity.
    pub(super) fn items<'s>(self, list: &'s Schema) -> OldItems<'a, 's> {
        let ListType::Map { keys } = &list.list else { return OldItems { keys: &[], first: BTreeMap::new() } };
        let mut first = BTreeMap::new();
        for item in self.0.and_then(Value::as_array).into_iter().flatten() {
            first.entry(identity(keys, item)).or_insert(item);
        }
        OldItems { keys, first }
    }

    /// Whether nothing changed here: then what is wrong was wrong before, and is not held against the change.
    pub(super) fn is_unchanged(self, value: &Value) -> bool {
        self.0 == Some(value)
    }
}

/// The items of an old list, the first of those with the same keys.
pub(super) struct OldItems<'a, 's> {
    keys: &'s [String],
    first: BTreeMap<String, &'a Value>,
}

impl<'a> OldItems<'a, '_> {
    /// The item with the same keys.
    pub(super) fn of(&self, item: &Value) -> Old<'a> {
        if self.first.is_empty() { Old::NONE } else { Old(self.first.get(&identity(self.keys, item)).copied()) }
    }
}

/// The keys of an item as one text, in which absent is not null.
fn identity(keys: &[String], item: &Value) -> String {
    let mut text = String::new();
    for key in keys {
        text.extend(item.get(key).map(Value::to_string));
        text.push('\u{0}');
    }
    text
}
