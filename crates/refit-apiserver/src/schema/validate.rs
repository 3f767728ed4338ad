//! Validation of a value, with Kubernetes' messages.

mod combined;
mod format;
mod limits;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

use super::correlate::Old;
use super::{Additional, Kind, Schema};
use crate::field_error::{ErrorKind, FieldError};

/// What is wrong with `value`. What was wrong in `old` already and did not change is not reported.
///
/// `base` is the field that `value` is: empty for a whole object, `status` for what is written through `/status`.
/// The fields of errors begin with it, the sentences do not: that is how the real server words them.
pub fn validate(schema: &Schema, value: &Value, old: Option<&Value>, base: &str) -> Vec<FieldError> {
    Validator { base }.node(schema, value, Old::new(old), "").errors
}

/// What a schema found in a value.
#[derive(Default)]
struct Findings {
    errors: Vec<FieldError>,
    /// How many checks passed. Of several alternatives that all fail, the one with most is reported.
    passed: usize,
}

impl Findings {
    fn merge(&mut self, other: Self) {
        self.errors.extend(other.errors);
        self.passed += other.passed;
    }
}

struct Validator<'a> {
    base: &'a str,
}

impl Validator<'_> {
    fn node(&self, schema: &Schema, value: &Value, old: Old<'_>, path: &str) -> Findings {
        let mut findings = self.checks(schema, value, old, path);
        if !findings.errors.is_empty() && old.is_unchanged(value) {
            findings.errors.clear();
        }
        findings
    }

    fn checks(&self, schema: &Schema, value: &Value, old: Old<'_>, path: &str) -> Findings {
        let mut findings = self.kind(schema, value, path);
        if !value.is_null() {
            findings.merge(self.combined(schema, value, path));
            findings.merge(self.limits(schema, value, path));
            match value {
                Value::Object(members) => findings.merge(self.object(schema, members, old, path)),
                Value::Array(items) => findings.merge(self.array(schema, items, old, path)),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
            }
        }
        findings.errors.extend(self.enumeration(schema, value, path));
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
        Findings { errors: vec![error], passed: 1 }
    }

    fn object(&self, schema: &Schema, members: &Map<String, Value>, old: Old<'_>, path: &str) -> Findings {
        let mut findings = Findings { errors: Vec::new(), passed: 1 };
        for (name, value) in members {
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
        let mut findings = Findings { errors: Vec::new(), passed: 2 };
        if let Some(of_items) = &schema.items {
            for (index, item) in items.iter().enumerate() {
                findings.merge(self.node(of_items, item, old.item(schema, item), &format!("{path}[{index}]")));
            }
        }
        findings
    }

    fn enumeration(&self, schema: &Schema, value: &Value, path: &str) -> Option<FieldError> {
        let allowed = &schema.limits.enumeration;
        if allowed.is_empty() || allowed.contains(value) {
            return None;
        }
        let named: Vec<String> =
            allowed.iter().map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned)).collect();
        Some(FieldError::not_supported(self.field(path), value.clone(), &named))
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
