//! Strategic merge patches, for built-in kinds: lists are merged by the keys that the schema names.

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
    let before = items.clone();
    let Some(key) = &schema.patch.merge_key else {
        for item in patch {
            if !items.contains(item) {
                items.push(item.clone());
            }
        }
        interleave(None, patch, &before, items);
        return Ok(());
    };
    let replaces = |item: &Value| item.get(PATCH).is_some_and(|directive| directive == "replace");
    if patch.iter().any(replaces) {
        *items = patch.iter().filter(|item| !replaces(item)).cloned().collect();
        return Ok(());
    }
    let of_items = schema.items.as_deref().unwrap_or(&UNKNOWN);
    patch.iter().try_for_each(|item| merge_item(of_items, key, item, items))?;
    interleave(Some(key), patch, &before, items);
    Ok(())
}

/// Puts what a patch named into the order of the patch, and what it did not name before the first of those that it was
/// before; the rest comes behind.
fn interleave(key: Option<&str>, patch: &[Value], before: &[Value], items: &mut Vec<Value>) {
    let id = |item: &Value| key.map_or_else(|| item.clone(), |key| item[key].clone());
    let place = |list: &[Value], item: &Value| list.iter().position(|known| id(known) == id(item));
    let (mut named, unnamed): (Vec<Value>, Vec<Value>) =
        std::mem::take(items).into_iter().partition(|item| place(patch, item).is_some());
    named.sort_by_key(|item| place(patch, item));
    let mut unnamed = unnamed.into_iter().peekable();
    for item in named {
        let comes_first = |other: &Value| place(before, other) < place(before, &item);
        while place(before, &item).is_some()
            && let Some(other) = unnamed.next_if(comes_first)
        {
            items.push(other);
        }
        items.push(item);
    }
    items.extend(unnamed);
}

fn merge_item(schema: &Schema, key: &str, patch: &Value, items: &mut Vec<Value>) -> Result<(), Status> {
    let Some(fields) = patch.as_object() else {
        return Err(Status::bad_request(format!("an item of a list that is merged by {key} must be an object")));
    };
    let Some(id) = fields.get(key) else {
        let text = go_text(patch);
        return Err(Status::internal(format!("map: {text} does not contain declared merge key: {key}")));
    };
    let position = items.iter().position(|item| item.get(key) == Some(id));
    let is_deletion = fields.get(PATCH).is_some_and(|directive| directive == "delete");
    match (is_deletion, position) {
        (true, Some(position)) => {
            items.remove(position);
        }
        (true, None) => {}
        (false, Some(position)) => merge_object(schema, fields, &mut items[position])?,
        (false, None) => {
            let mut item = Value::Null;
            merge_object(schema, fields, &mut item)?;
            items.push(item);
        }
    }
    Ok(())
}

fn retain_keys(patch: &Map<String, Value>, members: &mut Map<String, Value>) {
    if let Some(kept) = patch.get(RETAIN_KEYS).and_then(Value::as_array) {
        members.retain(|name, _| kept.iter().any(|kept| kept == name.as_str()));
    }
}

fn delete_from(members: &mut Map<String, Value>, list: &str, values: &Value) {
    let Some(values) = values.as_array() else { return };
    if let Some(items) = members.get_mut(list).and_then(Value::as_array_mut) {
        items.retain(|item| !values.contains(item));
    }
}

/// Puts the items that a client ordered into that order; items that it did not name come behind them.
fn set_order(key: Option<&str>, order: &Value, list: Option<&mut Value>) {
    let (Some(order), Some(items)) = (order.as_array(), list.and_then(Value::as_array_mut)) else { return };
    let id = |item: &Value| key.map_or_else(|| item.clone(), |key| item[key].clone());
    let ids: Vec<Value> = order.iter().map(id).collect();
    items.sort_by_key(|item| ids.iter().position(|named| *named == id(item)).unwrap_or(usize::MAX));
}
