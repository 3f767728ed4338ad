//! Nulls and defaults: what happens to an object before anything judges it.

use serde_json::Value;

use super::{Additional, Schema};
use crate::budget::{Budget, weigh};

/// Drops every null where the schema allows none. One that has a default stays for [`set_defaults`] to replace.
pub fn drop_nulls(schema: &Schema, value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|name, member| !schema.member(name).is_some_and(|schema| is_stray_null(schema, member)));
            for (name, member) in members {
                if let Some(schema) = schema.member(name) {
                    drop_nulls(schema, member);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = &schema.items {
                items.iter_mut().for_each(|item| drop_nulls(schema, item));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn is_stray_null(schema: &Schema, value: &Value) -> bool {
    value.is_null() && !schema.nullable && schema.default.is_none()
}

/// Fills in the defaults of what is absent, and of nulls that the schema does not allow.
///
/// What a default takes up is charged before it is filled in; beyond the budget, nothing more is.
pub fn set_defaults(schema: &Schema, value: &mut Value, budget: &Budget) {
    if budget.take_steps(1 + schema.properties.len()).is_err() {
        return;
    }
    match value {
        Value::Object(members) => {
            for (name, schema) in &schema.properties {
                let is_missing = members.get(name).is_none_or(|member| member.is_null() && !schema.nullable);
                let default = schema.default.as_ref().filter(|_| is_missing);
                if let Some(default) = default.and_then(|default| charged(default, budget)) {
                    members.insert(name.clone(), default);
                }
            }
            for (name, member) in members {
                match (schema.properties.get(name), &schema.additional) {
                    (Some(schema), _) => set_defaults(schema, member, budget),
                    (None, Additional::Values(values)) => replace_or_descend(values, member, budget),
                    (None, Additional::Unspecified | Additional::Forbidden | Additional::Anything) => {}
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = &schema.items {
                items.iter_mut().for_each(|item| replace_or_descend(schema, item, budget));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn replace_or_descend(schema: &Schema, value: &mut Value, budget: &Budget) {
    if value.is_null()
        && !schema.nullable
        && let Some(default) = schema.default.as_ref().and_then(|default| charged(default, budget))
    {
        *value = default;
    }
    set_defaults(schema, value, budget);
}

fn charged(default: &Value, budget: &Budget) -> Option<Value> {
    let weight = weigh(default, budget).ok()?;
    budget.take_bytes(weight.bytes).ok()?;
    Some(default.clone())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::schema::{Definitions, parse};

    fn check(value: Value, expected: &Value) {
        let schema = json!({"type": "object", "properties": {
            "plain": {"type": "string"},
            "nullable": {"type": "string", "nullable": true, "default": "x"},
            "given": {"type": "string", "default": "x"},
            "deep": {"type": "object", "properties": {"a": {"type": "integer", "default": 1}}},
            "made": {"type": "object", "default": {}, "properties": {"a": {"type": "integer", "default": 1}}},
            "map": {"type": "object", "additionalProperties": {"type": "integer", "default": 7}},
            "list": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "integer", "default": 1}}}},
        }});
        let schema = parse(&schema, &Definitions::new());
        let mut value = value;
        drop_nulls(&schema, &mut value);
        set_defaults(&schema, &mut value, &Budget::default());
        assert_eq!(&value, expected);
    }

    #[test]
    fn what_is_absent_gets_its_default() {
        check(json!({}), &json!({"nullable": "x", "given": "x", "made": {"a": 1}}));
        let given = json!({"nullable": "y", "given": "y", "made": {"a": 2}, "deep": {}, "list": [{}, {"a": 2}]});
        check(
            given,
            &json!({"nullable": "y", "given": "y", "made": {"a": 2}, "deep": {"a": 1}, "list": [{"a": 1}, {"a": 2}]}),
        );
    }

    #[test]
    fn a_null_is_dropped_defaulted_or_kept_as_the_schema_says() {
        let nulls =
            json!({"plain": null, "nullable": null, "given": null, "made": {}, "map": {"k": null}, "unknown": null});
        let filled = json!({"nullable": null, "given": "x", "made": {"a": 1}, "map": {"k": 7}, "unknown": null});
        check(nulls, &filled);
    }
}
