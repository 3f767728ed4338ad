//! Values as Go writes them, where clients see that.

use std::fmt::Write;

use serde_json::{Number, Value};

/// From here on Go writes numbers with an exponent.
const EXPONENT_FROM: f64 = 1e21;
/// And below this.
const EXPONENT_BELOW: f64 = 1e-6;

/// Text in quotes as Go writes it in messages.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for char in text.chars() {
        match char {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            '\0'..='\u{7f}' if char.is_ascii_control() => push_escape(&mut out, 'x', 2, char),
            char if char.is_control() => push_escape(&mut out, 'u', 4, char),
            char => out.push(char),
        }
    }
    out.push('"');
    out
}

/// JSON as Go writes it: whole numbers without a fraction, and what would mean something in HTML escaped.
pub fn json(value: &Value) -> String {
    let mut out = String::new();
    write_json(value, &mut out);
    out
}

/// The name of a value's type.
pub fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// A value as Go prints the wrapper that apply keeps values in.
pub fn printed(value: &Value) -> String {
    format!("&{{{}}}", print(value))
}

/// A value as the source of that wrapper.
pub fn source(value: &Value) -> String {
    format!("&value.valueUnstructured{{Value:{}}}", literal(value))
}

fn write_json(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Number(number) => out.push_str(&digits(number)),
        Value::String(text) => write_string(text, out),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { "," });
                write_json(item, out);
            }
            out.push(']');
        }
        Value::Object(members) => {
            out.push('{');
            for (index, (name, value)) in members.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { "," });
                write_string(name, out);
                out.push(':');
                write_json(value, out);
            }
            out.push('}');
        }
    }
}

fn write_string(text: &str, out: &mut String) {
    let is_plain = |byte: u8| (b' '..=b'~').contains(&byte) && !matches!(byte, b'"' | b'\\' | b'<' | b'>' | b'&');
    if text.bytes().all(is_plain) {
        out.push('"');
        out.push_str(text);
        out.push('"');
        return;
    }
    for char in Value::from(text).to_string().chars() {
        match char {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => push_escape(out, 'u', 4, char),
            char => out.push(char),
        }
    }
}

fn digits(number: &Number) -> String {
    match number.as_f64() {
        Some(float) if number.is_f64() => {
            let size = float.abs();
            if size != 0.0 && !(EXPONENT_BELOW..EXPONENT_FROM).contains(&size) {
                let text = format!("{float:e}");
                return if text.contains("e-") { text } else { text.replace('e', "e+") };
            }
            float.to_string()
        }
        _ => number.to_string(),
    }
}

pub fn print(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => digits(number),
        Value::String(text) => text.clone(),
        Value::Array(items) => format!("[{}]", joined(items.iter().map(print), " ")),
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| format!("{name}:{}", print(value)));
            format!("map[{}]", joined(members, " "))
        }
    }
}

fn literal(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => digits(number),
        Value::String(text) => quoted(text),
        Value::Array(items) => format!("[]interface {{}}{{{}}}", joined(items.iter().map(literal), ", ")),
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| format!("{}:{}", quoted(name), literal(value)));
            format!("map[string]interface {{}}{{{}}}", joined(members, ", "))
        }
    }
}

fn joined(parts: impl Iterator<Item = String>, separator: &str) -> String {
    parts.collect::<Vec<_>>().join(separator)
}

fn push_escape(out: &mut String, letter: char, width: usize, char: char) {
    let written = write!(out, "\\{letter}{:0width$x}", u32::from(char));
    debug_assert!(written.is_ok(), "text must take text");
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Value, json as go_json, printed, quoted, source};

    #[test]
    fn json_is_written_as_go_writes_it() {
        let check = |value: Value, expected: &str| assert_eq!(go_json(&value), expected);
        check(json!({"b": [1, 2.0, 1.5, null, true], "a": {}}), r#"{"a":{},"b":[1,2,1.5,null,true]}"#);
        check(json!("<a & b>\n"), r#""\u003ca \u0026 b\u003e\n""#);
        check(json!(1e21), "1e+21");
        check(json!(1e-7), "1e-7");
        check(json!(0.0), "0");
        check(json!(-2.0), "-2");
    }

    #[test]
    fn wrong_values_are_quoted_as_go_quotes_them() {
        let value = json!({"a": [1, null, "x"]});
        assert_eq!(printed(&value), "&{map[a:[1 <nil> x]]}");
        let expected = r#"map[string]interface {}{"a":[]interface {}{1, interface {}(nil), "x"}}"#;
        assert_eq!(source(&value), format!("&value.valueUnstructured{{Value:{expected}}}"));
        assert_eq!(quoted("a\"\u{1}\n"), r#""a\"\x01\n""#);
    }
}
