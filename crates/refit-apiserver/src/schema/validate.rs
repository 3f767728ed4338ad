//! Validation of a value, with Kubernetes' messages.

mod combined;
mod format;
mod limits;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::correlate::Old;
use super::{Additional, Kind, Schema};
use crate::budget::{BYTES_PER_STEP, Budget};
use crate::field_error::{ErrorKind, FieldError, FieldErrors};

/// What is wrong with `value`. What was wrong in `old` already and did not change is not reported.
///
/// `base` is the field that `value` is: empty for a whole object, `status` for what is written through `/status`.
/// The fields of errors begin with it, the sentences do not: that is how the real server words them.
///
/// Beyond the budget nothing more is looked at; whoever asked must see that the budget is not used up.
pub fn validate(schema: &Schema, value: &Value, old: Option<&Value>, base: &str, budget: &Budget) -> FieldErrors {
    Validator { base, budget }.node(schema, value, Old::new(old), "").errors
}

/// How many supported values a message names at most: more than have room in it.
const MAX_NAMED: usize = 4_096;

/// What a schema found in a value.
#[derive(Default)]
struct Findings {
    errors: FieldErrors,
    /// How many checks passed. Of several alternatives that all fail, the one with most is reported.
    passed: usize,
}

impl Findings {
    fn merge(&mut self, other: Self) {
        self.errors.merge(other.errors);
        self.passed += other.passed;
    }
}

struct Validator<'a> {
    base: &'a str,
    budget: &'a Budget,
}

impl Validator<'_> {
    fn node(&self, schema: &Schema, value: &Value, old: Old<'_>, path: &str) -> Findings {
        let mut findings = self.checks(schema, value, old, path);
        if !findings.errors.is_empty() && old.is_unchanged(value) {
            findings.errors = FieldErrors::default();
        }
        findings
    }

    fn checks(&self, schema: &Schema, value: &Value, old: Old<'_>, path: &str) -> Findings {
        let checks = 1 + schema.required.len() + schema.limits.enumeration.len() + path.len() / BYTES_PER_STEP;
        if self.budget.take_steps(checks).is_err() {
            return Findings::default();
        }
        let mut findings = self.charged(self.kind(schema, value, path));
        if !value.is_null() {
            findings.merge(self.combined(schema, value, path));
            findings.merge(self.charged(self.limits(schema, value, path)));
            match value {
                Value::Object(members) => findings.merge(self.object(schema, members, old, path)),
                Value::Array(items) => findings.merge(self.array(schema, items, old, path)),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
            }
        }
        let unsupported = Findings { errors: self.enumeration(schema, value, path).into_iter().collect(), passed: 0 };
        findings.merge(self.charged(unsupported));
        findings
    }

    /// Charges for what was found wrong with one value: every alternative of a schema is tried, also where another fits.
    fn charged(&self, findings: Findings) -> Findings {
        for error in findings.errors.iter() {
            let _ = self.budget.take_bytes(error.bytes());
        }
        findings
    }

    fn kind(&self, schema: &Schema, value: &Value, path: &str) -> Findings {
        let error = match kind_mismatch(schema, value) {
            None => return Findings { passed: 2, ..Findings::default() },
            Some((expected, found)) => {
                let detail = format!("{path} in body must be of type {expected}: {found:?}");
                FieldError::new(ErrorKind::TypeInvalid, self.field(path), Some(found.into()), detail)
            }
        };
        Findings { errors: error.into(), passed: 1 }
    }

    fn object(&self, schema: &Schema, members: &Map<String, Value>, old: Old<'_>, path: &str) -> Findings {
        let mut findings = Findings { passed: 1, ..Findings::default() };
        for (name, value) in members {
            if findings.errors.is_closed() {
                break;
            }
            let at = member_path(path, name);
            let old = if path.is_empty() && matches!(name.as_str(), "apiVersion" | "kind") {
                Old::NONE
            } else {
                old.member(name)
            };
            match (schema.properties.get(name), &schema.additional) {
                (Some(schema), _) => findings.merge(self.node(schema, value, old, &at)),
                // The real server does not leave out the dot before a member of the object itself.
                (None, Additional::Values(schema)) => {
                    findings.merge(self.node(schema, value, old, &format!("{path}.{name}")));
                }
                (None, Additional::Forbidden) => {
                    let detail = format!("{path}.{name} in body is a forbidden property");
                    findings.errors.push(FieldError::invalid(self.field(path), name.as_str(), detail));
                }
                (None, Additional::Unspecified | Additional::Anything) => {}
            }
        }
        let missing = schema.required.iter().filter(|name| !members.contains_key(*name));
        findings.errors.extend(missing.map(|name| FieldError::required(self.field(&member_path(path, name)), "")));
        findings
    }

    fn array(&self, schema: &Schema, items: &[Value], old: Old<'_>, path: &str) -> Findings {
        let mut findings = Findings { passed: 2, ..Findings::default() };
        if let Some(of_items) = &schema.items {
            let old_items = old.items(schema);
            for (index, item) in items.iter().enumerate() {
                if findings.errors.is_closed() {
                    break;
                }
                findings.merge(self.node(of_items, item, old_items.of(item), &format!("{path}[{index}]")));
            }
        }
        findings
    }

    fn enumeration(&self, schema: &Schema, value: &Value, path: &str) -> Option<FieldError> {
        let allowed = &schema.limits.enumeration;
        if allowed.is_empty() || allowed.contains(value) {
            return None;
        }
        // More than that is not named anyway.
        let named = allowed.iter().take(MAX_NAMED);
        let named: Vec<Cow<'_, str>> =
            named.map(|value| value.as_str().map_or_else(|| value.to_string().into(), Cow::from)).collect();
        Some(FieldError::not_supported(self.field(path), value, &named))
    }

    /// The field of an error at a path.
    fn field(&self, path: &str) -> String {
        match (self.base, path.trim_start_matches('.')) {
            ("", "") => "<nil>".to_owned(),
            (base, "") => base.to_owned(),
            ("", path) => path.to_owned(),
            (base, path) => format!("{base}.{path}"),
        }
    }

    /// An error that the real server does not tie to a field.
    fn unplaced(&self, detail: String) -> FieldError {
        FieldError::invalid(self.field(""), "", detail)
    }
}

/// The expected type and the one found, where they differ.
fn kind_mismatch(schema: &Schema, value: &Value) -> Option<(String, &'static str)> {
    let expected = match (schema.int_or_string, schema.kind) {
        (true, _) => "integer,string",
        (false, Some(kind)) => kind.name(),
        (false, None) => return None,
    };
    let (found, number_format) = describe(value);
    let fits = match value {
        Value::Null => schema.nullable,
        Value::Number(number) if expected.starts_with("integer") => is_integral(number),
        Value::Number(_) if expected == "number" => true,
        _ => expected.split(',').any(|kind| kind == found),
    };
    if fits {
        return None;
    }
    // Values that are neither text nor list are held to the format, where there is one.
    match schema.format.as_deref().filter(|format| is_number_format(schema, format)) {
        Some(format) if !matches!(value, Value::Null | Value::String(_) | Value::Array(_)) => {
            Some((format.to_owned(), number_format))
        }
        _ => Some((expected.to_owned(), found)),
    }
}

fn is_number_format(schema: &Schema, format: &str) -> bool {
    match schema.kind {
        Some(Kind::Integer) => matches!(format, "int32" | "int64"),
        Some(Kind::Number) => matches!(format, "float" | "double"),
        _ => false,
    }
}

/// The type of a value, and its format as a number.
fn describe(value: &Value) -> (&'static str, &'static str) {
    match value {
        Value::Null => ("null", ""),
        Value::Bool(_) => ("boolean", ""),
        Value::Number(number) if number.is_f64() => ("number", "float64"),
        Value::Number(_) => ("integer", "int64"),
        Value::String(_) => ("string", ""),
        Value::Array(_) => ("array", ""),
        Value::Object(_) => ("object", ""),
    }
}

fn is_integral(number: &serde_json::Number) -> bool {
    !number.is_f64() || number.as_f64().is_some_and(|float| float.fract() == 0.0)
}

fn member_path(path: &str, name: &str) -> String {
    match path {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    }
}

impl Kind {
    /// As OpenAPI writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Object => "object",
            Self::Array => "array",
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
        }
    }
}
