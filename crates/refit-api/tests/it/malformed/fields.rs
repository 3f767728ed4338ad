//! The fields of an object, each with its schema.

use serde_json::Value;

/// A field that an object has, an item of a list and an entry of a map among them.
#[derive(Debug)]
pub struct Field<'a> {
    /// As decoding names it: `spec.taints[0].key`.
    pub path: String,
    /// As a JSON pointer: `/spec/taints/0/key`.
    pub pointer: String,
    pub schema: &'a Value,
}

/// All fields of the spec and the status, these two included. What is in free-form JSON is no field.
pub fn fields<'a>(root_schema: &'a Value, object: &Value) -> Vec<Field<'a>> {
    let mut found = Vec::new();
    for part in ["spec", "status"] {
        if let Some(value) = object.get(part) {
            let schema = &root_schema["properties"][part];
            add(Field { path: part.to_owned(), pointer: format!("/{part}"), schema }, value, &mut found);
        }
    }
    found
}

fn add<'a>(field: Field<'a>, value: &Value, found: &mut Vec<Field<'a>>) {
    if !has_type(field.schema) {
        return;
    }
    let child = |path: String, key: &str, schema: &'a Value| Field {
        path: format!("{}{path}", field.path),
        pointer: format!("{}/{key}", field.pointer),
        schema,
    };
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                if let Some(schema) = member_schema(field.schema, name) {
                    add(child(format!(".{name}"), name, schema), value, found);
                }
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                add(child(format!("[{index}]"), &index.to_string(), &field.schema["items"]), value, found);
            }
        }
        _ => {}
    }
    found.push(field);
}

/// Whether the schema says what its values are; free-form JSON is what it does not say that of.
fn has_type(schema: &Value) -> bool {
    schema.get("type").is_some() || schema["x-kubernetes-int-or-string"] == true
}

fn member_schema<'a>(schema: &'a Value, name: &str) -> Option<&'a Value> {
    schema["properties"].get(name).or_else(|| schema.get("additionalProperties"))
}
