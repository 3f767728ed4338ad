//! The bounds of single values: lengths, patterns, numbers, counts.

use std::collections::BTreeSet;

use serde_json::{Number, Value};

use super::{Findings, Validator, format};
use crate::field_error::{FieldError, FieldErrors};
use crate::schema::{Kind, Limits, Schema, pattern};

impl Validator<'_> {
    pub(super) fn limits(&self, schema: &Schema, value: &Value, path: &str) -> Findings {
        let errors = match value {
            Value::String(text) => self.text(schema, text, path),
            Value::Number(number) => self.number(schema, number, path),
            Value::Array(items) => self.items(&schema.limits, items, path),
            Value::Object(members) => self.members(&schema.limits, members.len(), path),
            Value::Null | Value::Bool(_) => FieldErrors::default(),
        };
        let passed = if errors.is_empty() { 2 } else { 1 };
        Findings { errors, passed }
    }

    /// Only the first of length, shortness and pattern is reported; the format beside it.
    fn text(&self, schema: &Schema, text: &str, path: &str) -> FieldErrors {
        let limits = &schema.limits;
        let length = text.chars().count() as u64;
        let invalid = |detail: String| FieldError::invalid(self.field(path), text, detail);
        let bounds = if let Some(max) = limits.max_length.filter(|&max| length > max) {
            Some(FieldError::too_long(self.field(path), max))
        } else if let Some(min) = limits.min_length.filter(|&min| length < min) {
            Some(invalid(format!("{path} in body should be at least {min} chars long")))
        } else {
            let broken = limits.pattern.as_deref().filter(|expression| !pattern::matches(expression, text));
            broken.map(|expression| invalid(format!("{path} in body should match '{expression}'")))
        };
        bounds.into_iter().chain(format::check(schema, text, &self.field(path), path)).collect()
    }

    fn number(&self, schema: &Schema, number: &Number, path: &str) -> FieldErrors {
        let limits = &schema.limits;
        let value = number.as_f64().unwrap_or(f64::NAN);
        let mut errors: FieldErrors = self.range(schema, number, path).into_iter().collect();
        let is_bounded = limits.minimum.is_some() || limits.maximum.is_some() || limits.multiple_of.is_some();
        if is_bounded && schema.kind == Some(Kind::Integer) && schema.format.is_none() && value.fract() != 0.0 {
            let detail = format!("Checked value must be of type integer (default format) in {path}");
            errors.push(self.unplaced(detail));
        }
        let mut say = |what: &str, bound: f64| {
            let detail = format!("{path} in body should be {what} {}", shown(number, bound));
            errors.push(FieldError::invalid(self.field(path), Value::Number(number.clone()), detail));
        };
        if let Some(factor) = limits.multiple_of.filter(|&factor| factor > 0.0 && (value / factor).fract() != 0.0) {
            say("a multiple of", factor);
        }
        if let Some(min) = limits.minimum {
            match limits.exclusive_minimum {
                true if value <= min => say("greater than", min),
                false if value < min => say("greater than or equal to", min),
                _ => {}
            }
        }
        if let Some(max) = limits.maximum {
            match limits.exclusive_maximum {
                true if value >= max => say("less than", max),
                false if value > max => say("less than or equal to", max),
                _ => {}
            }
        }
        errors
    }

    /// Whether the number fits the type that the format names.
    fn range(&self, schema: &Schema, number: &Number, path: &str) -> Option<FieldError> {
        let is_int32 = schema.kind == Some(Kind::Integer) && schema.format.as_deref() == Some("int32");
        let fits = number.as_i64().is_some_and(|number| i32::try_from(number).is_ok());
        let is_whole = !number.is_f64();
        (is_int32 && is_whole && !fits)
            .then(|| self.unplaced(format!("Checked value must be of type integer with format int32 in {path}")))
    }

    fn items(&self, limits: &Limits, items: &[Value], path: &str) -> FieldErrors {
        let count = items.len() as u64;
        let mut errors = FieldErrors::default();
        if let Some(min) = limits.min_items.filter(|&min| count < min) {
            let detail = format!("{path} in body should have at least {min} items");
            errors.push(FieldError::invalid(self.field(path), count, detail));
        }
        if let Some(max) = limits.max_items.filter(|&max| count > max) {
            errors.push(FieldError::too_many(self.field(path), items.len(), max));
        }
        let mut seen = BTreeSet::new();
        if limits.unique_items && !items.iter().all(|item| seen.insert(item.to_string())) {
            let detail = format!("{path} in body shouldn't contain duplicates");
            errors.push(FieldError::invalid(self.field(path), "", detail));
        }
        errors
    }

    fn members(&self, limits: &Limits, count: usize, path: &str) -> FieldErrors {
        let mut errors = FieldErrors::default();
        if let Some(min) = limits.min_properties.filter(|&min| (count as u64) < min) {
            let detail = format!("{path} in body should have at least {min} properties");
            errors.push(FieldError::invalid(self.field(path), count, detail));
        }
        if let Some(max) = limits.max_properties.filter(|&max| count as u64 > max) {
            errors.push(FieldError::too_many(self.field(path), count, max));
        }
        errors
    }
}

/// A bound as the real server prints it: whole for whole numbers.
fn shown(number: &Number, bound: f64) -> String {
    if number.is_f64() { format!("{bound}") } else { format!("{}", bound.trunc()) }
}
