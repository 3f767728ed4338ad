//! Hashes of JSON by content: the same for the same content, whatever the order of its fields.

use std::fmt::{self, Write};
use std::str::FromStr;

use serde_json::Value;
use sha2::{Digest, Sha256};

/// The SHA-256 of some JSON in its canonical form, in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentHash(String);

/// The number of hexadecimal digits of a SHA-256.
const DIGITS: usize = 64;

impl ContentHash {
    /// The hash of this content.
    pub fn of(content: &Value) -> Self {
        let mut canonical = String::new();
        write_canonical(content, &mut canonical);
        let digest = Sha256::digest(canonical.as_bytes());
        Self(digest.iter().fold(String::with_capacity(DIGITS), |mut text, byte| {
            write!(text, "{byte:02x}").expect("a String must take text");
            text
        }))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for ContentHash {
    type Err = NotAHash;

    fn from_str(text: &str) -> Result<Self, NotAHash> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        let is_hash = text.len() == DIGITS && text.bytes().all(is_digit);
        if is_hash { Ok(Self(text.to_owned())) } else { Err(NotAHash) }
    }
}

/// A text that is no [`ContentHash`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a hash must have 64 hexadecimal digits in lowercase")]
pub struct NotAHash;

/// JSON without blanks, fields sorted by name. Not left to the map of serde_json: a feature of it changes its order.
fn write_canonical(value: &Value, out: &mut String) {
    match value {
        Value::Array(items) => {
            write_separated('[', items, ']', out, write_canonical);
        }
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_unstable_by_key(|(name, _)| *name);
            write_separated('{', fields, '}', out, |(name, field), out| {
                write_scalar(&Value::from(name.as_str()), out);
                out.push(':');
                write_canonical(field, out);
            });
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => write_scalar(value, out),
    }
}

fn write_scalar(scalar: &Value, out: &mut String) {
    write!(out, "{scalar}").expect("a String must take text");
}

fn write_separated<T>(
    open: char,
    parts: impl IntoIterator<Item = T>,
    close: char,
    out: &mut String,
    write_part: impl Fn(T, &mut String),
) {
    out.push(open);
    for (index, part) in parts.into_iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write_part(part, out);
    }
    out.push(close);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_hash_is_the_sha_256_of_the_canonical_form() {
        let mut canonical = String::new();
        let content = json!({ "b": [1, 1.5, null], "a": { "d": "x\n\"é", "c": false }, "": {} });
        write_canonical(&content, &mut canonical);
        assert_eq!(canonical, r#"{"":{},"a":{"c":false,"d":"x\n\"é"},"b":[1,1.5,null]}"#);
        // From `printf '{}' | sha256sum`.
        let expected = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";
        assert_eq!(ContentHash::of(&json!({})).as_str(), expected);
    }

    #[test]
    fn different_content_has_different_hashes() {
        let contents =
            [json!(1), json!(1.0), json!("1"), json!([1]), json!({ "a": 1 }), json!({ "a": null }), json!({})];
        let hashes: std::collections::BTreeSet<_> = contents.iter().map(ContentHash::of).collect();
        assert_eq!(hashes.len(), contents.len());
    }

    #[test]
    fn only_a_hash_parses_as_one() {
        let hash = ContentHash::of(&json!([]));
        assert_eq!(hash.as_str().parse(), Ok(hash.clone()));
        for wrong in ["", "abc", &hash.as_str().to_uppercase(), &"g".repeat(64), &"é".repeat(32)] {
            assert_eq!(wrong.parse::<ContentHash>(), Err(NotAHash), "{wrong}");
        }
    }
}
