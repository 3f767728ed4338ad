//! Paths of fields as `managedFields` write them: what server-side apply tells apart.

use std::collections::BTreeSet;

use serde_json::{Value, json};

pub type Path = Vec<String>;

/// Lists whose items are known by some of their fields, and maps that are one value.
fn keys_of(list: &str) -> Option<&'static [&'static str]> {
    match list {
        "ownerReferences" => Some(&["uid"]),
        "taints" => Some(&["key", "effect"]),
        "readinessGates" => Some(&["conditionType"]),
        _ => None,
    }
}

/// The paths of all fields that can have owners.
pub fn paths(value: &Value) -> BTreeSet<Path> {
    let mut found = BTreeSet::new();
    collect(value, "", &mut Vec::new(), &mut found);
    found
}

fn collect(value: &Value, name: &str, path: &mut Path, found: &mut BTreeSet<Path>) {
    for (segment, child_name, child) in children(value, name) {
        path.push(segment);
        collect(child, child_name, path, found);
        path.pop();
    }
    if children(value, name).is_empty() {
        found.insert(path.clone());
    }
}

/// What is inside a value, with its segment of the path and its name. Nothing inside: the value is a leaf.
fn children<'a>(value: &'a Value, name: &'a str) -> Vec<(String, &'a str, &'a Value)> {
    match value {
        Value::Object(fields) if name != "selector" => {
            fields.iter().map(|(field, value)| (format!("f:{field}"), field.as_str(), value)).collect()
        }
        Value::Array(items) if name == "finalizers" => {
            items.iter().map(|item| (format!("v:{item}"), "", item)).collect()
        }
        Value::Array(items) => keys_of(name).map_or_else(Vec::new, |keys| {
            // The API server looks into some of them; here an item is one value.
            items.iter().map(|item| (key(item, keys), "selector", item)).collect()
        }),
        _ => Vec::new(),
    }
}

fn key(item: &Value, keys: &[&str]) -> String {
    let fields: serde_json::Map<String, Value> =
        keys.iter().map(|name| ((*name).to_owned(), item[*name].clone())).collect();
    format!("k:{}", Value::Object(fields))
}

/// The value at a path, if it is there.
pub fn get<'a>(value: &'a Value, path: &[String]) -> Option<&'a Value> {
    let [first, rest @ ..] = path else { return Some(value) };
    get(value_at(value, first)?, rest)
}

fn value_at<'a>(value: &'a Value, segment: &str) -> Option<&'a Value> {
    match segment.split_once(':')? {
        ("f", name) => value.get(name),
        _ => value.as_array()?.iter().find(|item| is_item(item, segment)),
    }
}

/// Whether a list's item is the one that the segment is about.
fn is_item(item: &Value, segment: &str) -> bool {
    match segment.split_once(':') {
        Some(("k", fields)) => {
            let fields: serde_json::Map<String, Value> = serde_json::from_str(fields).expect("a key must be JSON");
            fields.iter().all(|(name, value)| item.get(name) == Some(value))
        }
        Some(("v", value)) => serde_json::from_str::<Value>(value).ok().as_ref() == Some(item),
        _ => false,
    }
}

/// Puts a value at a path, with what is missing on the way.
pub fn put(value: &mut Value, path: &[String], new: &Value) {
    let [first, rest @ ..] = path else {
        *value = new.clone();
        return;
    };
    let (sort, name) = first.split_once(':').expect("a segment must have a sort");
    if sort == "f" {
        put(&mut value[name], rest, new);
        return;
    }
    if !value.is_array() {
        *value = json!([]);
    }
    let items = value.as_array_mut().expect("it must be a list now");
    let position = items.iter().position(|item| is_item(item, first)).unwrap_or_else(|| {
        items.push(serde_json::from_str(name).expect("a key must be JSON"));
        items.len() - 1
    });
    put(&mut items[position], rest, new);
}

/// Takes the value at a path away, and what is empty then.
pub fn remove(value: &mut Value, path: &[String]) {
    let [first, rest @ ..] = path else { return };
    let (sort, name) = first.split_once(':').expect("a segment must have a sort");
    if sort == "f" {
        if !rest.is_empty()
            && let Some(child) = value.get_mut(name)
        {
            remove(child, rest);
            if !is_empty(child) {
                return;
            }
        }
        if let Some(fields) = value.as_object_mut() {
            fields.remove(name);
        }
        return;
    }
    let Some(items) = value.as_array_mut() else { return };
    items.iter_mut().filter(|item| is_item(item, first)).for_each(|item| remove(item, rest));
    items.retain(|item| !is_item(item, first) || !(rest.is_empty() || is_empty(item)));
}

fn is_empty(value: &Value) -> bool {
    value.as_object().is_some_and(serde_json::Map::is_empty) || value.as_array().is_some_and(Vec::is_empty)
}

/// The paths as `fieldsV1` has them.
pub fn to_fields_v1(paths: &BTreeSet<Path>) -> Value {
    let mut fields = json!({});
    for path in paths {
        let mut place = &mut fields;
        for segment in path {
            place = place.as_object_mut().expect("it must be an object").entry(segment).or_insert_with(|| json!({}));
        }
    }
    fields
}

/// The paths that `fieldsV1` has.
pub fn from_fields_v1(fields: &Value) -> BTreeSet<Path> {
    fn walk(value: &Value, path: &mut Path, found: &mut BTreeSet<Path>) {
        let inside = value.as_object().into_iter().flatten().filter(|(key, _)| *key != ".");
        let mut is_leaf = true;
        for (key, child) in inside {
            is_leaf = false;
            path.push(key.clone());
            walk(child, path, found);
            path.pop();
        }
        if is_leaf {
            found.insert(path.clone());
        }
    }
    let mut found = BTreeSet::new();
    walk(fields, &mut Vec::new(), &mut found);
    found
}
