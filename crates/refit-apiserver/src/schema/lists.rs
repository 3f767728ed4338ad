//! Sets have no item twice, and list maps no key.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{Additional, ListType, Schema};
use crate::budget::{Budget, VALUE_BYTES};
use crate::field_error::{FieldError, FieldErrors};

/// The second appearance of every item or key that is there more than once.
///
/// Beyond the budget nothing more is looked at; whoever asked must see that the budget is not used up.
pub fn validate_lists(schema: &Schema, value: &Value, budget: &Budget) -> FieldErrors {
    let mut lists = Lists { budget, errors: FieldErrors::default() };
    lists.node(schema, value, String::new());
    lists.errors
}

struct Lists<'a> {
    budget: &'a Budget,
    errors: FieldErrors,
}

impl Lists<'_> {
    fn node(&mut self, schema: &Schema, value: &Value, path: String) {
        if self.errors.is_closed() || self.budget.refusal().is_err() {
            return;
        }
        match value {
            Value::Object(members) => {
                for (name, member) in members {
                    match (schema.properties.get(name), &schema.additional) {
                        (Some(schema), _) => self.node(schema, member, child(&path, name)),
                        (None, Additional::Values(values)) => self.node(values, member, format!("{path}[{name}]")),
                        (None, Additional::Unspecified | Additional::Forbidden | Additional::Anything) => {}
                    }
                }
            }
            Value::Array(items) => {
                match &schema.list {
                    ListType::Atomic => {}
                    ListType::Set => self.duplicates(items.iter().cloned(), &path),
                    ListType::Map { keys } => self.list_map(keys, items, &path),
                }
                for (index, item) in items.iter().enumerate() {
                    if let Some(schema) = &schema.items {
                        self.node(schema, item, format!("{path}[{index}]"));
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn list_map(&mut self, keys: &[String], items: &[Value], path: &str) {
        if let Some((index, odd)) = items.iter().enumerate().find(|(_, item)| !item.is_object() && !item.is_null()) {
            let detail = "must be an object for an array of list-type map";
            self.errors.push(FieldError::invalid(format!("{path}[{index}]"), odd, detail));
            return;
        }
        let key = |item: &Value| -> Map<String, Value> {
            keys.iter().filter_map(|key| Some((key.clone(), item.get(key)?.clone()))).collect()
        };
        self.duplicates(items.iter().map(|item| Value::Object(key(item))), path);
    }

    fn duplicates(&mut self, items: impl Iterator<Item = Value>, path: &str) {
        let mut seen = BTreeMap::new();
        for (index, item) in items.enumerate() {
            let text = item.to_string();
            if self.budget.take_bytes(2 * VALUE_BYTES + text.len()).is_err() {
                return;
            }
            let times = seen.entry(text).or_insert(0);
            *times += 1;
            if *times == 2 {
                self.errors.push(FieldError::duplicate(format!("{path}[{index}]"), item));
            }
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
        let found = validate_lists(&parse(&schema, &Definitions::new()), value, &Budget::unlimited());
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
