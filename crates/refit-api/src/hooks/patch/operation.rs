//! The operations of a JSON patch, RFC 6902, and the paths they work on.

use std::fmt;
use std::str::FromStr;

use serde_json::{Value, json};

/// One operation of a JSON patch. Each has what it needs, so that none can be refused for its form.
#[derive(Debug, Clone, PartialEq)]
pub enum PatchOperation {
    /// Sets a field, or inserts an item. The parent must be there.
    Add { path: JsonPointer, value: Value },
    /// Removes what is there.
    Remove { path: JsonPointer },
    /// Sets what is there to another value.
    Replace { path: JsonPointer, value: Value },
    /// Removes what is at `from` and adds it at `path`.
    Move { from: JsonPointer, path: JsonPointer },
    /// Adds what is at `from` also at `path`.
    Copy { from: JsonPointer, path: JsonPointer },
    /// Fails the whole patch unless the value is there.
    Test { path: JsonPointer, value: Value },
}

impl PatchOperation {
    pub(super) fn to_value(&self) -> Value {
        match self {
            Self::Add { path, value } => json!({ "op": "add", "path": path.as_str(), "value": value }),
            Self::Remove { path } => json!({ "op": "remove", "path": path.as_str() }),
            Self::Replace { path, value } => json!({ "op": "replace", "path": path.as_str(), "value": value }),
            Self::Move { from, path } => json!({ "op": "move", "from": from.as_str(), "path": path.as_str() }),
            Self::Copy { from, path } => json!({ "op": "copy", "from": from.as_str(), "path": path.as_str() }),
            Self::Test { path, value } => json!({ "op": "test", "path": path.as_str(), "value": value }),
        }
    }
}

/// A path into a JSON document, RFC 6901, as in `/spec/files/0/content`.
///
/// It starts with a slash or is empty. Without the slash, Go drops the first segment and patches something else.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JsonPointer(String);

impl JsonPointer {
    /// The path through these keys and indices. A key can have any characters.
    pub fn new<S: AsRef<str>>(segments: impl IntoIterator<Item = S>) -> Self {
        Self(segments.into_iter().map(|segment| format!("/{}", escape(segment.as_ref()))).collect())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for JsonPointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for JsonPointer {
    type Err = JsonPointerError;

    fn from_str(text: &str) -> Result<Self, JsonPointerError> {
        if !text.is_empty() && !text.starts_with('/') {
            return Err(JsonPointerError::NoSlash(text.to_owned()));
        }
        let is_escape = |rest: &str| rest.starts_with('0') || rest.starts_with('1');
        match text.split('~').skip(1).all(is_escape) {
            true => Ok(Self(text.to_owned())),
            false => Err(JsonPointerError::Escape(text.to_owned())),
        }
    }
}

/// Why a text is no JSON pointer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonPointerError {
    #[error("JSON pointer {0:?} must be empty or start with '/'")]
    NoSlash(String),
    #[error("JSON pointer {0:?} has a '~' that is followed neither by '0' nor by '1'")]
    Escape(String),
}

fn escape(segment: &str) -> String {
    segment.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_escaped() {
        let check = |segments: &[&str], expected: &str| {
            let pointer = JsonPointer::new(segments);
            assert_eq!(pointer.as_str(), expected);
            assert_eq!(expected.parse(), Ok(pointer));
        };
        check(&[], "");
        check(&["spec", "files", "0"], "/spec/files/0");
        check(&["metadata", "labels", "a.io/b~c"], "/metadata/labels/a.io~1b~0c");
        check(&[""], "/");
    }

    #[test]
    fn a_pointer_starts_with_a_slash() {
        let parse = |text: &str| text.parse::<JsonPointer>();
        assert_eq!(parse("spec/version"), Err(JsonPointerError::NoSlash("spec/version".to_owned())));
        for wrong in ["/a~", "/a~2", "/~~0"] {
            assert_eq!(parse(wrong), Err(JsonPointerError::Escape(wrong.to_owned())));
        }
    }

    #[test]
    fn operations_have_the_members_that_the_rfc_asks_for() {
        let pointer = |name: &str| JsonPointer::new([name]);
        let check = |operation: PatchOperation, expected: Value| assert_eq!(operation.to_value(), expected);
        check(
            PatchOperation::Add { path: pointer("a"), value: Value::Null },
            json!({ "op": "add", "path": "/a", "value": null }),
        );
        check(PatchOperation::Remove { path: pointer("a") }, json!({ "op": "remove", "path": "/a" }));
        check(
            PatchOperation::Replace { path: pointer("a"), value: json!(1) },
            json!({ "op": "replace", "path": "/a", "value": 1 }),
        );
        check(
            PatchOperation::Move { from: pointer("a"), path: pointer("b") },
            json!({ "op": "move", "from": "/a", "path": "/b" }),
        );
        check(
            PatchOperation::Copy { from: pointer("a"), path: pointer("b") },
            json!({ "op": "copy", "from": "/a", "path": "/b" }),
        );
        check(
            PatchOperation::Test { path: pointer("a"), value: json!({}) },
            json!({ "op": "test", "path": "/a", "value": {} }),
        );
    }
}
