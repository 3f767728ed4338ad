//! JSON values as CEL sees them.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kube_cel::cel::objects::{Key, Map};
use kube_cel::cel::{self, Context, Program};
use serde_json::{Number, Value};

use crate::budget::Budget;
use crate::schema::Schema;

/// Names that mean something in CEL and are written `__name__` there.
const RESERVED: &[&str] = &[
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// What a value takes up in memory: a node of a hash map, or an item of a list, and its name.
const VALUE_BYTES: usize = 96;

/// Turns JSON into what rules see.
pub(super) struct Conversion<'a> {
    pub(super) functions: &'a Context<'static>,
    pub(super) budget: &'a Budget,
}

impl Conversion<'_> {
    /// A value by its schema: times, durations and bytes are what their format says, and the names of fields (not the
    /// keys of maps) are escaped. Beyond the budget everything is null, and whoever decides sees that.
    pub(super) fn to_cel(&self, schema: &Schema, value: &Value) -> cel::Value {
        let charged = self.budget.take_steps(2).and_then(|()| self.budget.take_bytes(VALUE_BYTES));
        if charged.is_err() {
            return cel::Value::Null;
        }
        match value {
            Value::Null => cel::Value::Null,
            Value::Bool(flag) => cel::Value::Bool(*flag),
            Value::Number(number) => to_number(number),
            Value::String(text) => self.to_text(schema.format.as_deref(), text),
            Value::Array(items) => {
                let of_items = schema.items.as_deref().unwrap_or(&UNKNOWN);
                cel::Value::List(Arc::new(items.iter().map(|item| self.to_cel(of_items, item)).collect()))
            }
            Value::Object(members) => {
                let mut converted: HashMap<Key, cel::Value> = HashMap::with_capacity(members.len());
                for (name, value) in members {
                    let key = if schema.is_map() { name.clone() } else { escape(name) };
                    let schema = schema.member(name).unwrap_or(&UNKNOWN);
                    converted.insert(Key::String(Arc::new(key)), self.to_cel(schema, value));
                }
                cel::Value::Map(Map { map: Arc::new(converted) })
            }
        }
    }

    fn to_text(&self, format: Option<&str>, text: &str) -> cel::Value {
        let _ = self.budget.take_bytes(text.len());
        let plain = || cel::Value::String(Arc::new(text.to_owned()));
        match format {
            Some("date-time") => self.call(&TIMESTAMP, text).unwrap_or_else(plain),
            Some("duration") => self.call(&DURATION, text).unwrap_or_else(plain),
            Some("byte") => STANDARD.decode(text).map_or_else(|_| plain(), |bytes| cel::Value::Bytes(Arc::new(bytes))),
            _ => plain(),
        }
    }

    fn call(&self, program: &Program, text: &str) -> Option<cel::Value> {
        let mut context = self.functions.new_inner_scope();
        context.add_variable_from_value("text", text.to_owned());
        program.execute(&context).ok()
    }
}

static UNKNOWN: LazyLock<Schema> = LazyLock::new(Schema::default);
static TIMESTAMP: LazyLock<Program> = LazyLock::new(|| Program::compile("timestamp(text)").expect("it must compile"));
static DURATION: LazyLock<Program> = LazyLock::new(|| Program::compile("duration(text)").expect("it must compile"));

fn to_number(number: &Number) -> cel::Value {
    match (number.as_i64(), number.as_u64()) {
        (Some(number), _) => cel::Value::Int(number),
        (None, Some(number)) => cel::Value::UInt(number),
        (None, None) => cel::Value::Float(number.as_f64().unwrap_or(f64::NAN)),
    }
}

pub(super) fn escape(name: &str) -> String {
    if RESERVED.contains(&name) {
        return format!("__{name}__");
    }
    let mut escaped = String::with_capacity(name.len());
    for character in name.chars() {
        match character {
            '_' if name.contains("__") => escaped.push_str("__underscores__"),
            '.' => escaped.push_str("__dot__"),
            '-' => escaped.push_str("__dash__"),
            '/' => escaped.push_str("__slash__"),
            other => escaped.push(other),
        }
    }
    escaped.replace("__underscores____underscores__", "__underscores__")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_cel_cannot_write_are_escaped() {
        for (name, expected) in [("a", "a"), ("a_b", "a_b"), ("x-y", "x__dash__y"), ("a.b/c", "a__dot__b__slash__c")] {
            assert_eq!(escape(name), expected);
        }
        assert_eq!(escape("namespace"), "__namespace__");
        assert_eq!(escape("a__b"), "a__underscores__b");
    }
}
