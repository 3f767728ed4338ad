//! Texts of errors, which end where they would become too long.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;

use crate::apply::go_quoted;

/// How long each text of an error may be: 8 KiB. The longest message that a rule in CEL may make has 5 KiB.
const MAX_TEXT_BYTES: usize = 8 * 1024;
/// What stands for the rest.
const REST: &str = "...";

/// A value as messages quote it: JSON, or a text as Go writes it.
#[derive(Debug, Clone, PartialEq)]
pub struct Quoted(String);

impl Quoted {
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// A text that is quoted in another form than its JSON.
    pub fn as_it_is(text: &str) -> Self {
        let rest = if text.len() > MAX_TEXT_BYTES { REST } else { "" };
        Self(format!("{}{rest}", &text[..end_of(text)]))
    }

    fn json(value: &(impl Serialize + ?Sized)) -> Self {
        let mut text = Bounded(Vec::new());
        let is_whole = serde_json::to_writer(&mut text, value).is_ok();
        let mut text = String::from_utf8_lossy(&text.0).into_owned();
        if !is_whole {
            text.push_str(REST);
        }
        Self(text)
    }
}

/// A text that is cut where it is too long.
pub(crate) fn cut(mut text: String) -> String {
    if text.len() > MAX_TEXT_BYTES {
        text.truncate(end_of(&text));
        text.push_str(REST);
        text.shrink_to_fit();
    }
    text
}

/// Joins texts with commas, as far as there is room.
pub(super) fn joined<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let mut joined = String::new();
    for text in texts {
        if joined.len() > MAX_TEXT_BYTES {
            break;
        }
        if !joined.is_empty() {
            joined.push_str(", ");
        }
        joined.push_str(&format!("{:?}", &text[..end_of(text)]));
    }
    joined
}

fn end_of(text: &str) -> usize {
    (0..=MAX_TEXT_BYTES.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default()
}

struct Bounded(Vec<u8>);

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = MAX_TEXT_BYTES.saturating_sub(self.0.len());
        if room == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        let taken = room.min(bytes.len());
        self.0.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl From<&str> for Quoted {
    fn from(text: &str) -> Self {
        let quoted = go_quoted(&text[..end_of(text)]);
        Self(if text.len() > MAX_TEXT_BYTES { format!("{quoted}{REST}") } else { quoted })
    }
}

impl From<&Value> for Quoted {
    fn from(value: &Value) -> Self {
        value.as_str().map_or_else(|| Self::json(value), Self::from)
    }
}

impl From<&[Value]> for Quoted {
    fn from(items: &[Value]) -> Self {
        Self::json(items)
    }
}

impl From<String> for Quoted {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

macro_rules! quoted_as_json {
    ($($of:ty),*) => {$(
        impl From<$of> for Quoted {
            fn from(value: $of) -> Self {
                Self::from(&Value::from(value))
            }
        }
    )*};
}

quoted_as_json!(Value, bool, i32, i64, u64, usize);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn short_values_are_quoted_whole_and_long_ones_are_cut() {
        let check = |value: Value, expected: &str| assert_eq!(Quoted::from(&value).as_str(), expected);
        check(json!({"a": [1, "b"]}), r#"{"a":[1,"b"]}"#);
        check(json!("a\"b"), r#""a\"b""#);
        check(json!(null), "null");
        check(json!("é".repeat(5_000)), &format!("\"{}\"...", "é".repeat(MAX_TEXT_BYTES / 2)));
        check(json!([["x".repeat(9_000)]]), &format!("[[\"{}...", "x".repeat(MAX_TEXT_BYTES - 3)));
        assert_eq!(cut("é".repeat(5_000)).len(), MAX_TEXT_BYTES + REST.len());
        assert!(joined(vec!["y".repeat(2_000).as_str(); 1_000]).len() < 2 * MAX_TEXT_BYTES);
    }
}
