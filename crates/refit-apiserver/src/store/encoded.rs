//! An object as JSON with a gap for its version: everything but the version is known before the write has its turn,
//! so that encoding and compressing happen in the caller and not in the one thread that writes.

use bytes::Bytes;
use serde_json::{Map, Value};

/// The deepest nesting that can be read back: the JSON parser refuses 128 levels.
pub(super) const MAX_DEPTH: usize = 127;

/// JSON text without `metadata.resourceVersion`, and where its digits go.
pub(super) struct Encoded {
    pub(super) text: Vec<u8>,
    /// `None` for a value without a `metadata` object; it then shows no version.
    pub(super) gap: Option<u32>,
}

impl Encoded {
    /// Encodes a value; a version in it is left out.
    pub(super) fn new(value: &Value) -> Self {
        let mut encoded = Self { text: Vec::with_capacity(1024), gap: None };
        match value {
            Value::Object(members) => encoded.object(members),
            other => encoded.json(other),
        }
        encoded
    }

    /// The whole JSON text at a version.
    pub(super) fn at(&self, revision: super::Revision) -> Bytes {
        fill(&self.text, self.gap, revision)
    }

    fn object(&mut self, members: &Map<String, Value>) {
        self.text.push(b'{');
        for (position, (name, value)) in members.iter().enumerate() {
            self.name(position, name);
            match value {
                Value::Object(metadata) if name == "metadata" => self.metadata(metadata),
                other => self.json(other),
            }
        }
        self.text.push(b'}');
    }

    fn metadata(&mut self, members: &Map<String, Value>) {
        self.text.push(b'{');
        let others = members.iter().filter(|(name, _)| *name != "resourceVersion");
        let mut count = 0;
        for (name, value) in others {
            self.name(count, name);
            self.json(value);
            count += 1;
        }
        self.name(count, "resourceVersion");
        self.text.push(b'"');
        self.gap = u32::try_from(self.text.len()).ok();
        self.text.extend_from_slice(b"\"}");
    }

    fn name(&mut self, position: usize, name: &str) {
        if position > 0 {
            self.text.push(b',');
        }
        self.json(&name);
        self.text.push(b':');
    }

    fn json(&mut self, value: &(impl serde::Serialize + ?Sized)) {
        serde_json::to_writer(&mut self.text, value).expect("a JSON value must encode");
    }
}

/// Puts a version's digits into the gap.
pub(super) fn fill(text: &[u8], gap: Option<u32>, revision: super::Revision) -> Bytes {
    let Some(gap) = gap else { return Bytes::copy_from_slice(text) };
    let (before, after) = text.split_at(gap as usize);
    let digits = revision.to_string();
    [before, digits.as_bytes(), after].concat().into()
}

/// Sets the version of a decoded value, as [`Encoded::at`] does with text.
pub(super) fn set_version(value: &mut Value, revision: super::Revision) {
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("resourceVersion".to_owned(), revision.to_string().into());
    }
}

/// Whether the value nests more than `levels` deep. Looks no deeper than that.
pub(super) fn deeper_than(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(items) => levels == 0 || items.iter().any(|item| deeper_than(item, levels - 1)),
        Value::Object(members) => levels == 0 || members.values().any(|item| deeper_than(item, levels - 1)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::store::Revision;

    fn check(value: &Value, expected: &Value) {
        let text = Encoded::new(value).at(Revision(42));
        assert_eq!(&serde_json::from_slice::<Value>(&text).unwrap(), expected);
        let mut decoded = value.clone();
        set_version(&mut decoded, Revision(42));
        assert_eq!(&decoded, expected);
    }

    #[test]
    fn the_version_is_filled_in_whatever_was_there() {
        check(&json!({"metadata": {}}), &json!({"metadata": {"resourceVersion": "42"}}));
        check(
            &json!({"a": [1, {}], "metadata": {"name": "\"x", "resourceVersion": "7", "uid": "u"}, "z": null}),
            &json!({"a": [1, {}], "metadata": {"name": "\"x", "resourceVersion": "42", "uid": "u"}, "z": null}),
        );
    }

    #[test]
    fn values_without_metadata_stay_as_they_are() {
        for value in [json!({}), json!({"metadata": 1}), json!([{"metadata": {}}]), json!("x")] {
            check(&value, &value);
        }
    }

    #[test]
    fn what_is_not_too_deep_can_be_decoded() {
        let nested = |levels| (0..levels).fold(json!(1), |inner, _| json!([inner]));
        assert!(!deeper_than(&nested(MAX_DEPTH), MAX_DEPTH));
        assert!(deeper_than(&nested(MAX_DEPTH + 1), MAX_DEPTH));
        let decode = |levels| serde_json::from_slice::<Value>(&Encoded::new(&nested(levels)).text);
        assert!(decode(MAX_DEPTH).is_ok());
        assert!(decode(MAX_DEPTH + 1).is_err());
    }
}
