//! Puts one JSON object into another.

use serde_json::Value;

/// The fields of `from` are in `into` afterwards; null takes one off.
pub fn merge(into: &mut Value, from: &Value) {
    let (Value::Object(fields), Value::Object(more)) = (&mut *into, from) else {
        *into = from.clone();
        return;
    };
    for (key, value) in more {
        if value.is_null() {
            fields.remove(key);
        } else {
            merge(fields.entry(key.clone()).or_insert(Value::Null), value);
        }
    }
}
