//! JSON as YAML, within a bound.
//!
//! Indentation can make a text many times longer. What would become too long is written as JSON, which is YAML as well.

use std::fmt;

use serde_json::Value;

use crate::budget::shown_bytes;

/// How an item of a list begins, below the name of the list.
const ITEM: &str = "- ";

/// A value as YAML.
pub fn whole(value: &Value) -> Vec<u8> {
    let json = value.to_string();
    bounded(value, json.len()).unwrap_or_else(|| json + "\n").into_bytes()
}

/// An item of a list, as it stands below the name of the list. It comes as JSON.
pub fn item(list: &str, json: &[u8]) -> Vec<u8> {
    let list_of_one = || {
        let value: Value = serde_json::from_slice(json).ok()?;
        let text = bounded(&Value::Object([(list.to_owned(), vec![value].into())].into_iter().collect()), json.len())?;
        text.split_once('\n').map(|(_, item)| item.as_bytes().to_vec())
    };
    list_of_one().unwrap_or_else(|| [ITEM.as_bytes(), json, b"\n"].concat())
}

/// The YAML of a value whose JSON is so long, unless that would be too long.
fn bounded(value: &Value, json_bytes: usize) -> Option<String> {
    let mut out = Bounded { text: String::new(), bound: shown_bytes(json_bytes) };
    let options = serde_saphyr::ser_options! { prefer_block_scalars: false };
    serde_saphyr::to_fmt_writer_with_options(&mut out, value, options).ok()?;
    Some(out.text)
}

/// A text that refuses to become longer than its bound.
struct Bounded {
    text: String,
    bound: usize,
}

impl fmt::Write for Bounded {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        if self.text.len() + more.len() > self.bound {
            return Err(fmt::Error);
        }
        self.text.push_str(more);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_indentation_would_blow_up_is_written_as_json() {
        let deep = (0..50).fold(json!(vec![1; 20_000]), |inner, _| json!([inner]));
        let json = deep.to_string();
        assert!(whole(&deep).len() <= json.len() + 1);
        let list = [b"items:\n".to_vec(), item("items", json.as_bytes()), item("items", b"{\"a\":\"b\"}")].concat();
        let list: Value = serde_saphyr::from_slice(&list).expect("it must be YAML");
        assert_eq!(list, json!({"items": [deep, {"a": "b"}]}));
    }
}
