//! Writes JSON values as YAML in blocks, in the order that a person reads.
//!
//! Text is written as it is wherever YAML allows that: cloud-init replaces `{{ ... }}` in bootstrap data before it reads it as YAML, and
//! an expression with escapes in it would be another one.

use serde_json::{Map, Value};

/// How far each level is indented.
const INDENT: usize = 2;
/// Words that YAML 1.1, which cloud-init reads, takes for something else than text.
const RESERVED: [&str; 12] = ["", "~", "null", "true", "false", "yes", "no", "on", "off", "y", "n", ".nan"];
/// What a plain text may consist of; it begins with a letter or a slash.
const PLAIN: &str = "-_./@+=,%";

/// A document: a value in block style, with a line break at its end.
pub fn write(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Object(fields) if !fields.is_empty() => object(&mut out, fields, 0),
        Value::Array(items) if !items.is_empty() => array(&mut out, items, 0),
        scalar => {
            inline(&mut out, scalar, 0);
        }
    }
    out
}

/// One field of a document, whose place among others the caller chooses.
pub fn write_field(name: &str, value: &Value) -> String {
    let mut out = String::new();
    field(&mut out, name, value, 0);
    out
}

fn object(out: &mut String, fields: &Map<String, Value>, depth: usize) {
    let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
    fields.sort_by_key(|(name, _)| rank(name));
    for (place, (name, value)) in fields.into_iter().enumerate() {
        // The first field of an item stands behind its dash.
        if place > 0 || out.is_empty() || out.ends_with('\n') {
            indent(out, depth);
        }
        field(out, name, value, depth);
    }
}

/// What says which thing it is comes first, long text last, and the rest in the order of the alphabet.
fn rank(name: &str) -> usize {
    let first = ["apiVersion", "kind", "path", "name"];
    let last = usize::from(name == "content");
    first.iter().position(|it| *it == name).unwrap_or(first.len() + last)
}

fn field(out: &mut String, name: &str, value: &Value, depth: usize) {
    out.push_str(&key(name));
    out.push(':');
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            out.push('\n');
            object(out, fields, depth + INDENT);
        }
        Value::Array(items) if !items.is_empty() => {
            out.push('\n');
            array(out, items, depth + INDENT);
        }
        scalar => {
            out.push(' ');
            inline(out, scalar, depth + INDENT);
        }
    }
}

fn array(out: &mut String, items: &[Value], depth: usize) {
    for item in items {
        indent(out, depth);
        out.push_str("- ");
        match item {
            Value::Object(fields) if !fields.is_empty() => object(out, fields, depth + INDENT),
            Value::Array(_) => {
                out.push_str(&flow(item));
                out.push('\n');
            }
            scalar => inline(out, scalar, depth + INDENT),
        }
    }
}

/// A value behind its key or dash, with a line break. `depth` is that of a block of text.
fn inline(out: &mut String, value: &Value, depth: usize) {
    match value {
        Value::String(text) if is_block(text) => block(out, text, depth),
        Value::String(text) => {
            out.push_str(&quoted(text));
            out.push('\n');
        }
        other => {
            out.push_str(&flow(other));
            out.push('\n');
        }
    }
}

/// JSON is YAML; text keeps the quotes of YAML.
fn flow(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Value::String(text) if text.contains([',', '[', ']', '{', '}']) && !text.contains('\n') => single(text),
        Value::String(text) => quoted(text),
        other => other.to_string(),
    }
}

/// Several lines, or one that quotes would change; and nothing in them that a block cannot hold.
fn is_block(text: &str) -> bool {
    let is_printable = |it: char| matches!(it, '\n' | '\t') || (!it.is_control() && !is_break(it));
    let is_changed = text.contains('\'') && text.contains(['"', '\\']);
    (text.contains('\n') || is_changed) && text.trim_start_matches('\n') == text && text.chars().all(is_printable)
}

/// Line breaks to YAML, beside the usual one, and the mark at the start of a file.
fn is_break(it: char) -> bool {
    matches!(it, '\u{85}' | '\u{2028}' | '\u{2029}' | '\u{feff}')
}

fn block(out: &mut String, text: &str, depth: usize) {
    out.push('|');
    if text.starts_with([' ', '\t']) {
        out.push_str(&INDENT.to_string());
    }
    let body = text.trim_end_matches('\n');
    let ends = text.len() - body.len();
    match ends {
        0 => out.push('-'),
        1 if !body.is_empty() => {}
        _ => out.push('+'),
    }
    out.push('\n');
    for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
        if !line.is_empty() {
            indent(out, depth);
        }
        out.push_str(line);
        out.push('\n');
    }
}

fn quoted(text: &str) -> String {
    if text.chars().any(|it| it.is_control() || is_break(it)) {
        // JSON leaves some of them as they are; YAML has the same escapes.
        let text = Value::from(text).to_string();
        return text.chars().map(escaped).collect();
    }
    match is_plain(text) {
        true => text.to_owned(),
        false => single(text),
    }
}

/// In quotes that leave the text as it is, if there are such.
fn single(text: &str) -> String {
    if text.contains('\'') && !text.contains(['"', '\\']) {
        return format!("\"{text}\"");
    }
    format!("'{}'", text.replace('\'', "''"))
}

fn escaped(it: char) -> String {
    match it {
        it if it.is_control() || is_break(it) => format!("\\u{:04x}", u32::from(it)),
        it => it.to_string(),
    }
}

fn is_plain(text: &str) -> bool {
    let is_word = |it: char| it.is_ascii_alphanumeric() || PLAIN.contains(it) || it == ' ' || it == ':';
    let starts_well = text.starts_with(|it: char| it.is_ascii_alphabetic() || it == '/');
    let is_reserved = RESERVED.iter().any(|word| word.eq_ignore_ascii_case(text));
    let is_key_like = text.contains(": ") || text.ends_with(':') || text.ends_with(' ');
    starts_well && text.chars().all(is_word) && !is_reserved && !is_key_like
}

fn key(name: &str) -> String {
    match is_plain(name) && !name.contains([':', ',', ' ']) {
        true => name.to_owned(),
        false if name.contains('\n') || name.chars().any(char::is_control) => quoted(name),
        false => single(name),
    }
}

fn indent(out: &mut String, depth: usize) {
    out.extend(std::iter::repeat_n(' ', depth));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_document_reads_as_a_person_would_write_it() {
        let value = json!({
            "a": { "b": [1, true, null], "empty": {}, "none": [] },
            "commands": ["echo hi && true", "kubeadm: x", "{{ ds.meta_data.hostname }}"],
            "files": [{ "content": "one\n  two\n", "mode": "0640", "path": "/a/b" }, { "content": " x\n\ny" }],
            "pairs": [["sda", "/mnt, x"], [50, "82"]],
            "text": "it's", "both": "say \"it's\"", "yes": "no", "number": "12",
        });
        let expected = "\
a:
  b:
    - 1
    - true
    - null
  empty: {}
  none: []
both: |-
  say \"it's\"
commands:
  - 'echo hi && true'
  - 'kubeadm: x'
  - '{{ ds.meta_data.hostname }}'
files:
  - path: /a/b
    mode: '0640'
    content: |
      one
        two
  - content: |2-
       x

      y
number: '12'
pairs:
  - [sda, '/mnt, x']
  - [50, '82']
text: \"it's\"
'yes': 'no'
";
        assert_eq!(write(&value), expected);
    }

    fn text() -> impl Strategy<Value = String> {
        prop_oneof![
            "[ -~]{0,12}",
            "[a-c:#'\"{}\\[\\],&*!|>%@`\\- \n\t]{0,12}",
            "(yes|no|null|~|1e3|0x1|012|1:20|.inf|2001-01-01|<<|=)",
            any::<String>(),
        ]
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            text().prop_map(Value::from),
            Just(Value::Null),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::btree_map("[a-z:' 0-9]{0,6}", inner, 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        /// Read by a YAML library that shares nothing with the writer.
        #[test]
        fn what_is_written_is_read_back(value in value()) {
            let written = write(&json!({ "value": value.clone() }));
            let read: Value = serde_saphyr::from_str(&written).map_err(|error| {
                TestCaseError::fail(format!("{error}\n{written}"))
            })?;
            prop_assert_eq!(&read["value"], &value, "{}", written);
        }
    }
}
