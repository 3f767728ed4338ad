//! What can be wrong with a field, in the words of the Kubernetes API.

mod collect;
mod quoted;

use std::fmt;

use refit_api::admission::{FieldError as Violation, Problem};
use serde_json::{Value, json};

pub(crate) use collect::MORE;
pub use collect::{FieldErrors, MAX_ERRORS, MAX_ERRORS_BYTES, REFUSAL_BYTES};
pub use quoted::Quoted;
pub(crate) use quoted::cut;

/// One thing that is wrong with one field. Its texts are cut where they are too long.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldError {
    /// As in `spec.taints[0].key`; `<nil>` where no field can be named.
    pub field: String,
    pub kind: ErrorKind,
    /// What the field holds, where the message quotes it.
    pub value: Option<Quoted>,
    /// What would be right; may be empty.
    pub detail: String,
}

/// The classes of field errors that Kubernetes tells apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    Required,
    Invalid,
    TypeInvalid,
    NotSupported,
    Forbidden,
    TooLong,
    TooMany,
    Duplicate,
    NotFound,
    Internal,
}

impl FieldError {
    pub fn new(kind: ErrorKind, field: impl Into<String>, value: Option<Quoted>, detail: impl Into<String>) -> Self {
        Self { field: cut(field.into()), kind, value, detail: cut(detail.into()) }
    }

    pub fn invalid(field: impl Into<String>, value: impl Into<Quoted>, detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, field, Some(value.into()), detail)
    }

    pub fn required(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::Required, field, None, detail)
    }

    pub fn forbidden(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::Forbidden, field, None, detail)
    }

    pub fn duplicate(field: impl Into<String>, value: impl Into<Quoted>) -> Self {
        Self::new(ErrorKind::Duplicate, field, Some(value.into()), "")
    }

    /// The value is none of `supported`.
    pub fn not_supported(field: impl Into<String>, value: impl Into<Quoted>, supported: &[impl AsRef<str>]) -> Self {
        let detail = format!("supported values: {}", quoted::joined(supported.iter().map(AsRef::as_ref)));
        Self::new(ErrorKind::NotSupported, field, Some(value.into()), detail)
    }

    pub fn too_long(field: impl Into<String>, max_bytes: u64) -> Self {
        Self::new(ErrorKind::TooLong, field, None, format!("may not be more than {max_bytes} bytes"))
    }

    pub fn too_many(field: impl Into<String>, count: usize, max_items: u64) -> Self {
        Self::new(ErrorKind::TooMany, field, Some(count.into()), format!("must have at most {max_items} items"))
    }

    /// What the error takes up in memory.
    pub(crate) fn bytes(&self) -> usize {
        let quoted = self.value.as_ref().map_or(0, |value| value.as_str().len());
        size_of_val(self) + self.field.len() + quoted + self.detail.len()
    }

    /// The error as a cause of a `Status`.
    pub fn cause(&self) -> Value {
        json!({ "reason": self.kind.reason(), "message": self.body(), "field": self.field })
    }

    /// The message without the field.
    fn body(&self) -> String {
        let mut body = self.kind.text().to_owned();
        if let Some(value) = &self.value {
            body = format!("{body}: {}", value.as_str());
        }
        if !self.detail.is_empty() {
            body = format!("{body}: {}", self.detail);
        }
        body
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.body())
    }
}

impl ErrorKind {
    /// The reason of the cause in a `Status`.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Required => "FieldValueRequired",
            Self::Invalid => "FieldValueInvalid",
            Self::TypeInvalid => "FieldValueTypeInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
            Self::Duplicate => "FieldValueDuplicate",
            Self::NotFound => "FieldValueNotFound",
            Self::Internal => "InternalError",
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::Required => "Required value",
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Forbidden => "Forbidden",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
            Self::Duplicate => "Duplicate value",
            Self::NotFound => "Not found",
            Self::Internal => "Internal error",
        }
    }
}

impl From<Violation> for FieldError {
    fn from(violation: Violation) -> Self {
        let field = violation.field.as_str().to_owned();
        match violation.problem {
            Problem::Invalid { value, detail } => Self::new(ErrorKind::Invalid, field, Some(value.into()), detail),
            Problem::Required { detail } => Self::required(field, detail),
            Problem::Forbidden { detail } => Self::forbidden(field, detail),
            Problem::Duplicate { value } => Self::duplicate(field, value),
            Problem::NotSupported { value, supported } => Self::not_supported(field, value, &supported),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_read_as_kubernetes_writes_them() {
        let check = |error: FieldError, expected: &str| assert_eq!(error.to_string(), expected);
        check(FieldError::invalid("spec.x", "a", "must be b"), r#"spec.x: Invalid value: "a": must be b"#);
        check(FieldError::required("spec.x", ""), "spec.x: Required value");
        check(FieldError::not_supported("x", "c", &["a"]), r#"x: Unsupported value: "c": supported values: "a""#);
        check(FieldError::too_long("spec.x", 256), "spec.x: Too long: may not be more than 256 bytes");
        check(FieldError::too_many("spec.x", 3, 2), "spec.x: Too many: 3: must have at most 2 items");
        check(FieldError::duplicate("spec.x[1]", json!({"a": 1})), r#"spec.x[1]: Duplicate value: {"a":1}"#);
    }

    #[test]
    fn a_cause_leaves_the_field_out_of_its_message() {
        let cause = FieldError::forbidden("spec.x", "is immutable").cause();
        assert_eq!(
            cause,
            json!({"reason": "FieldValueForbidden", "message": "Forbidden: is immutable", "field": "spec.x"})
        );
    }
}
