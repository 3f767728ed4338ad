//! How large a value is.

use serde_json::Value;

/// The size of a value, roughly as text, and how deeply it is nested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extent {
    pub bytes: usize,
    /// Lists and objects around the innermost scalar.
    pub depth: usize,
}

impl Extent {
    pub fn of(value: &Value) -> Self {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => Self { bytes: 8, depth: 0 },
            Value::String(text) => Self { bytes: text.len() + 8, depth: 0 },
            Value::Array(items) => Self::around(items.iter().map(Self::of)),
            Value::Object(fields) => Self::around(fields.iter().map(|(name, field)| Self::of(field).with(name.len()))),
        }
    }

    fn around(parts: impl Iterator<Item = Self>) -> Self {
        let (bytes, depth) =
            parts.fold((8, 0), |(bytes, depth), part| (part.bytes.saturating_add(bytes), part.depth.max(depth)));
        Self { bytes, depth: depth + 1 }
    }

    fn with(self, bytes: usize) -> Self {
        Self { bytes: self.bytes.saturating_add(bytes), ..self }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn depth_counts_what_is_around_a_scalar() {
        let check = |value: Value, depth: usize| assert_eq!(Extent::of(&value).depth, depth, "{value}");
        check(json!(1), 0);
        check(json!([]), 1);
        check(json!({ "a": [1], "b": 2 }), 2);
    }

    #[test]
    fn no_value_has_fewer_bytes_than_its_text() {
        for value in [json!("text"), json!([1, "a", null]), json!({ "name": { "a": true } })] {
            assert!(Extent::of(&value).bytes >= value.to_string().len(), "{value}");
        }
    }
}
