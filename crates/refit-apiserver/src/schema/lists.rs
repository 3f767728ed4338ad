//! Sets have no item twice, and list maps no key.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{Additional, ListType, Schema};
use crate::field_error::FieldError;

/// The second appearance of every item or key that is there more than once.
pub fn validate_lists(schema: &Schema, value: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    node(schema, value, String::new(), &mut errors);
    errors
}

fn node(schema: &Schema, value: &Value, path: String, errors: &mut Vec<FieldError>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                match (schema.properties.get(name), &schema.additional) {
                    (Some(schema), _) => node(schema, member, child(&path, name), errors),
                    (None, Additional::Values(values)) => node(values, member, format!("{path}[{name}]"), errors),
                    (None, Additional::Unspecified | Additional::Forbidden | Additional::Anything) => {}
                }
            }
        }
        Value::Array(items) => {
            match &schema.list {
                ListType::Atomic => {}
                ListType::Set => duplicates(items.iter().cloned(), &path, errors),
                ListType::Map { keys } => list_map(keys, items, &path, errors),
            }
            for (index, item) in items.iter().enumerate() {
                if let Some(schema) = &schema.items {
                    node(schema, item, format!("{path}[{index}]"), errors);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn list_map(keys: &[String], items: &[Value], path: &str, errors: &mut Vec<FieldError>) {
    if let Some((index, odd)) = items.iter().enumerate().find(|(_, item)| !item.is_object() && !item.is_null()) {
        let detail = "must be an object for an array of list-type map";
        errors.push(FieldError::invalid(format!("{path}[{index}]"), odd.clone(), detail));
        return;
    }
    let key = |item: &Value| -> Map<String, Value> {
        keys.iter().filter_map(|key| Some((key.clone(), item.get(key)?.clone()))).collect()
    };
    duplicates(items.iter().map(|item| Value::Object(key(item))), path, errors);
}

fn duplicates(items: impl Iterator<Item = Value>, path: &str, errors: &mut Vec<FieldError>) {
    let mut seen = BTreeMap::new();
    for (index, item) in items.enumerate() {
        let times = seen.entry(item.to_string()).or_insert(0);
        *times += 1;
        if *times == 2 {
            errors.push(FieldError::duplicate(format!("{path}[{index}]"), item));
        }
    }
}

fn child(path: &str, name: &str) -> String {
    match path {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::schema::{Definitions, parse};

    fn check(value: &Value, expected: &[&str]) {
        let schema = json!({"type": "object", "properties": {
            "set": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
            "map": {"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["key", "effect"]},
        }});
        let found = validate_lists(&parse(&schema, &Definitions::new()), value);
        assert_eq!(found.iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn the_second_of_the_same_is_reported_and_further_ones_are_not() {
        check(&json!({"set": ["a", "b", "a", "a"]}), &[r#"set[2]: Duplicate value: "a""#]);
        let taints = json!({"map": [{"key": "a", "effect": "x"}, {"key": "a"}, {"key": "a", "effect": "x", "v": 1}]});
        check(&taints, &[r#"map[2]: Duplicate value: {"effect":"x","key":"a"}"#]);
        check(&json!({"map": [3]}), &["map[0]: Invalid value: 3: must be an object for an array of list-type map"]);
    }
}
