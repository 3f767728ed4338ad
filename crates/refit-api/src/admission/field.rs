//! Paths to fields, and what can be wrong with one, in the words of the Kubernetes API.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

/// The path to a field, as in `spec.template.spec.taints[0].key` or `metadata.annotations[refit.dev/in-place]`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldPath(String);

impl FieldPath {
    pub fn new(path: impl Into<String>) -> Self {
        Self(path.into())
    }

    /// A field of this object. `name` may itself be a path with dots.
    pub fn child(&self, name: &str) -> Self {
        Self(format!("{}.{name}", self.0))
    }

    /// An item of this list.
    pub fn index(&self, index: usize) -> Self {
        Self(format!("{}[{index}]", self.0))
    }

    /// An entry of this map.
    pub fn key(&self, key: &str) -> Self {
        Self(format!("{}[{key}]", self.0))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The field has a value that it must not have; `detail` says what would be right.
    pub fn invalid(&self, value: impl Serialize, detail: impl Into<String>) -> FieldError {
        let value = serde_json::to_value(value).unwrap_or(Value::Null);
        FieldError { field: self.clone(), problem: Problem::Invalid { value, detail: detail.into() } }
    }

    /// The field must have a value and has none.
    pub fn required(&self, detail: impl Into<String>) -> FieldError {
        FieldError { field: self.clone(), problem: Problem::Required { detail: detail.into() } }
    }

    /// The field must not be set, or not be changed, here.
    pub fn forbidden(&self, detail: impl Into<String>) -> FieldError {
        FieldError { field: self.clone(), problem: Problem::Forbidden { detail: detail.into() } }
    }

    /// The same value stands in the list before.
    pub fn duplicate(&self, value: impl Serialize) -> FieldError {
        let value = serde_json::to_value(value).unwrap_or(Value::Null);
        FieldError { field: self.clone(), problem: Problem::Duplicate { value } }
    }

    /// The value is none of those that the field can have.
    pub fn not_supported(&self, value: &str, supported: &[&str]) -> FieldError {
        let supported = supported.iter().map(|&s| s.to_owned()).collect();
        FieldError { field: self.clone(), problem: Problem::NotSupported { value: value.to_owned(), supported } }
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One thing that is wrong with one field.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct FieldError {
    pub field: FieldPath,
    pub problem: Problem,
}

/// What is wrong with a field. Displayed in the words of the Kubernetes API, so that clients can tell them apart.
#[derive(Debug, Clone, PartialEq)]
pub enum Problem {
    Invalid { value: Value, detail: String },
    Required { detail: String },
    Forbidden { detail: String },
    Duplicate { value: Value },
    NotSupported { value: String, supported: Vec<String> },
}

impl Problem {
    /// The reason of the cause in an API `Status`.
    pub fn cause(&self) -> &'static str {
        match self {
            Self::Invalid { .. } => "FieldValueInvalid",
            Self::Required { .. } => "FieldValueRequired",
            Self::Forbidden { .. } => "FieldValueForbidden",
            Self::Duplicate { .. } => "FieldValueDuplicate",
            Self::NotSupported { .. } => "FieldValueNotSupported",
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let with_detail = |f: &mut fmt::Formatter<'_>, what: &str, detail: &str| match detail {
            "" => f.write_str(what),
            detail => write!(f, "{what}: {detail}"),
        };
        match self {
            Self::Invalid { value, detail } => with_detail(f, &format!("Invalid value: {value}"), detail),
            Self::Required { detail } => with_detail(f, "Required value", detail),
            Self::Forbidden { detail } => with_detail(f, "Forbidden", detail),
            Self::Duplicate { value } => write!(f, "Duplicate value: {value}"),
            Self::NotSupported { value, supported } => {
                let supported: Vec<String> = supported.iter().map(|s| format!("{s:?}")).collect();
                write!(f, "Unsupported value: {value:?}: supported values: {}", supported.join(", "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_read_as_kubernetes_writes_them() {
        let path = FieldPath::new("spec").child("taints").index(0).child("key");
        assert_eq!(path.to_string(), "spec.taints[0].key");
        let path = FieldPath::new("metadata").child("annotations").key("refit.dev/in-place");
        assert_eq!(path.to_string(), "metadata.annotations[refit.dev/in-place]");
    }

    #[test]
    fn problems_read_as_kubernetes_writes_them() {
        let path = FieldPath::new("spec.x");
        let check = |error: FieldError, expected: &str| assert_eq!(error.to_string(), expected);
        check(path.invalid("a", "must be b"), r#"spec.x: Invalid value: "a": must be b"#);
        check(path.invalid(3, ""), "spec.x: Invalid value: 3");
        check(path.required("say so"), "spec.x: Required value: say so");
        check(path.forbidden("is immutable"), "spec.x: Forbidden: is immutable");
        check(path.duplicate("a"), r#"spec.x: Duplicate value: "a""#);
        check(path.not_supported("c", &["a", "b"]), r#"spec.x: Unsupported value: "c": supported values: "a", "b""#);
    }
}
