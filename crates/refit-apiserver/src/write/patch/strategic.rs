//! Strategic merge patches, for built-in kinds: lists are merged by the keys that the schema names.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::LazyLock;

use serde_json::{Map, Value};

use crate::apply::go_text;
use crate::schema::Schema;
use crate::status::Status;
use crate::write::decode::json_type;

/// Says what is done with an object or a list: `merge`, `replace` or `delete`.
const PATCH: &str = "$patch";
/// Names the only members that are kept.
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_FROM: &str = "$deleteFromPrimitiveList/";
const SET_ORDER: &str = "$setElementOrder/";

static UNKNOWN: LazyLock<Schema> = LazyLock::new(Schema::default);

/// Merges a patch into an object.
pub(super) fn apply(schema: &Schema, patch: &Value, object: &Value) -> Result<Value, Status> {
    if patch.is_null() {
        return Ok(object.clone());
    }
    let Some(patch) = patch.as_object() else {
        let found = json_type(patch);
        let why = format!("json: cannot unmarshal {found} into Go value of type map[string]interface {{}}");
        return Err(Status::bad_request(why));
    };
    let mut merged = object.clone();
    merge_object(schema, patch, &mut merged)?;
    Ok(merged)
}

fn merge_object(schema: &Schema, patch: &Map<String, Value>, object: &mut Value) -> Result<(), Status> {
    match patch.get(PATCH).and_then(Value::as_str) {
        Some("replace") => {
            let rest = patch.iter().filter(|(name, _)| *name != PATCH);
            *object = Value::Object(rest.map(|(name, value)| (name.clone(), value.clone())).collect());
            return Ok(());
        }
        Some("delete") => {
            *object = Value::Object(Map::new());
            return Ok(());
        }
        Some("merge") | None => {}
        Some(other) => {
            let text = go_text(&Value::Object(patch.clone()));
            return Err(Status::internal(format!("unknown patch type: {other} in map: {text}")));
        }
    }
    if !object.is_object() {
        *object = Value::Object(Map::new());
    }
    let Some(members) = object.as_object_mut() else { return Ok(()) };
    retain_keys(patch, members);
    for (name, value) in patch.iter().filter(|(name, _)| !is_order(name)) {
        match name.strip_prefix(DELETE_FROM) {
            Some(list) => delete_from(members, list, value),
            None if name == PATCH || name == RETAIN_KEYS => {}
            None => merge_member(schema.member(name).unwrap_or(&UNKNOWN), name, value, members)?,
        }
    }
    for (name, order) in patch {
        if let Some(list) = name.strip_prefix(SET_ORDER) {
            let key = schema.member(list).and_then(|schema| schema.patch.merge_key.as_deref());
            set_order(key, order, members.get_mut(list));
        }
    }
    Ok(())
}

fn is_order(name: &str) -> bool {
    name.starts_with(SET_ORDER)
}

fn merge_member(schema: &Schema, name: &str, value: &Value, members: &mut Map<String, Value>) -> Result<(), Status> {
    match value {
        Value::Null => {
            members.remove(name);
        }
        // There is nothing to replace or to delete.
        Value::Object(patch) if patch.contains_key(PATCH) && !members.contains_key(name) => {}
        Value::Object(patch) => {
            let target = members.entry(name).or_insert_with(|| Value::Object(Map::new()));
            merge_object(schema, patch, target)?;
        }
        Value::Array(items) if schema.patch.merge => {
            let target = members.entry(name).or_insert_with(|| Value::Array(Vec::new()));
            merge_list(schema, items, target)?;
        }
        other => {
            members.insert(name.to_owned(), other.clone());
        }
    }
    Ok(())
}

fn merge_list(schema: &Schema, patch: &[Value], target: &mut Value) -> Result<(), Status> {
    if !target.is_array() {
        *target = Value::Array(Vec::new());
    }
    let Some(items) = target.as_array_mut() else { return Ok(()) };
    let key = schema.patch.merge_key.as_deref();
    let before = Places::new(key, items);
    match key {
        None => {
            let mut known: BTreeSet<String> = items.iter().map(Value::to_string).collect();
            items.extend(patch.iter().filter(|item| known.insert(item.to_string())).cloned());
        }
        Some(key) => {
            let replaces = |item: &Value| item.get(PATCH).is_some_and(|directive| directive == "replace");
            if patch.iter().any(replaces) {
                *items = patch.iter().filter(|item| !replaces(item)).cloned().collect();
                return Ok(());
            }
            merge_items(schema.items.as_deref().unwrap_or(&UNKNOWN), key, patch, items)?;
        }
    }
    interleave(key, patch, &before, items);
    Ok(())
}

/// Where the items of a list are, the first of those that cannot be told apart.
struct Places<'a> {
    key: Option<&'a str>,
    first: BTreeMap<String, usize>,
}

impl<'a> Places<'a> {
    fn new(key: Option<&'a str>, items: &[Value]) -> Self {
        let mut first = BTreeMap::new();
        for (place, item) in items.iter().enumerate() {
            first.entry(id(key, item)).or_insert(place);
        }
        Self { key, first }
    }

    fn of(&self, item: &Value) -> Option<usize> {
        self.first.get(&id(self.key, item)).copied()
    }
}

/// What tells an item from the others, as text: its key, or all of it.
fn id(key: Option<&str>, item: &Value) -> String {
    key.map_or_else(|| item.to_string(), |key| item[key].to_string())
}

/// Puts what a patch named into the order of the patch, and what it did not name before the first of those that it was
/// before; the rest comes behind.
fn interleave(key: Option<&str>, patch: &[Value], before: &Places<'_>, items: &mut Vec<Value>) {
    let patch = Places::new(key, patch);
    let (mut named, unnamed): (Vec<Value>, Vec<Value>) =
        std::mem::take(items).into_iter().partition(|item| patch.of(item).is_some());
    named.sort_by_cached_key(|item| patch.of(item));
    let mut unnamed = unnamed.into_iter().peekable();
    for item in named {
        if let Some(place) = before.of(&item) {
            while let Some(other) = unnamed.next_if(|other| before.of(other) < Some(place)) {
                items.push(other);
            }
        }
        items.push(item);
    }
    items.extend(unnamed);
}

fn merge_items(schema: &Schema, key: &str, patch: &[Value], items: &mut Vec<Value>) -> Result<(), Status> {
    let mut slots: Vec<Option<Value>> = std::mem::take(items).into_iter().map(Some).collect();
    let mut places: BTreeMap<String, VecDeque<usize>> = BTreeMap::new();
    for (place, item) in slots.iter().enumerate() {
        if let Some(id) = item.as_ref().and_then(|item| item.get(key)) {
            places.entry(id.to_string()).or_default().push_back(place);
        }
    }
    for item in patch {
        let (fields, id) = identified(key, item)?;
        let known = places.entry(id.to_string()).or_default();
        let is_deletion = fields.get(PATCH).is_some_and(|directive| directive == "delete");
        match (is_deletion, known.front().copied()) {
            (true, Some(place)) => {
                known.pop_front();
                slots[place] = None;
            }
            (true, None) => {}
            (false, Some(place)) => {
                if let Some(item) = &mut slots[place] {
                    merge_object(schema, fields, item)?;
                }
            }
            (false, None) => {
                let mut item = Value::Null;
                merge_object(schema, fields, &mut item)?;
                known.push_back(slots.len());
                slots.push(Some(item));
            }
        }
    }
    items.extend(slots.into_iter().flatten());
    Ok(())
}

fn identified<'a>(key: &str, patch: &'a Value) -> Result<(&'a Map<String, Value>, &'a Value), Status> {
    let Some(fields) = patch.as_object() else {
        return Err(Status::bad_request(format!("an item of a list that is merged by {key} must be an object")));
    };
    let id = fields.get(key).ok_or_else(|| {
        let text = go_text(patch);
        Status::internal(format!("map: {text} does not contain declared merge key: {key}"))
    })?;
    Ok((fields, id))
}

fn retain_keys(patch: &Map<String, Value>, members: &mut Map<String, Value>) {
    if let Some(kept) = patch.get(RETAIN_KEYS).and_then(Value::as_array) {
        let kept: BTreeSet<&str> = kept.iter().filter_map(Value::as_str).collect();
        members.retain(|name, _| kept.contains(name.as_str()));
    }
}

fn delete_from(members: &mut Map<String, Value>, list: &str, values: &Value) {
    let Some(values) = values.as_array() else { return };
    if let Some(items) = members.get_mut(list).and_then(Value::as_array_mut) {
        let values: BTreeSet<String> = values.iter().map(Value::to_string).collect();
        items.retain(|item| !values.contains(&item.to_string()));
    }
}

/// Puts the items that a client ordered into that order; items that it did not name come behind them.
fn set_order(key: Option<&str>, order: &Value, list: Option<&mut Value>) {
    let (Some(order), Some(items)) = (order.as_array(), list.and_then(Value::as_array_mut)) else { return };
    let places = Places::new(key, order);
    items.sort_by_cached_key(|item| places.of(item).unwrap_or(usize::MAX));
}
