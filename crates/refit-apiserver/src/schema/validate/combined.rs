//! `allOf`, `anyOf`, `oneOf` and `not`.

use serde_json::Value;

use super::{Findings, Old, Validator};
use crate::schema::Schema;

impl Validator<'_> {
    pub(super) fn combined(&self, schema: &Schema, value: &Value, path: &str) -> Findings {
        let mut findings = Findings { errors: Vec::new(), passed: 2 };
        findings.merge(self.any_of(&schema.combined.any_of, value, path));
        findings.merge(self.one_of(&schema.combined.one_of, value, path));
        findings.merge(self.all_of(&schema.combined.all_of, value, path));
        if let Some(not) = &schema.combined.not
            && self.alternative(not, value, path).errors.is_empty()
        {
            findings.errors.push(self.unplaced(format!("{path:?} must not validate the schema (not)")));
        }
        findings
    }

    fn any_of(&self, schemas: &[Schema], value: &Value, path: &str) -> Findings {
        let results: Vec<Findings> = schemas.iter().map(|schema| self.alternative(schema, value, path)).collect();
        let has_valid = results.iter().any(|result| result.errors.is_empty());
        let mut findings = Findings::default();
        if !schemas.is_empty() && !has_valid {
            findings.errors.push(self.unplaced(format!("{path:?} must validate at least one schema (anyOf)")));
            findings.merge(closest(results));
        }
        findings
    }

    fn one_of(&self, schemas: &[Schema], value: &Value, path: &str) -> Findings {
        let results: Vec<Findings> = schemas.iter().map(|schema| self.alternative(schema, value, path)).collect();
        let valid = results.iter().filter(|result| result.errors.is_empty()).count();
        let mut findings = Findings::default();
        if schemas.is_empty() || valid == 1 {
            return findings;
        }
        let found = match valid {
            0 => "Found none valid".to_owned(),
            several => format!("Found {several} valid alternatives"),
        };
        let error = format!("{path:?} must validate one and only one schema (oneOf). {found}");
        findings.errors.push(self.unplaced(error));
        if valid == 0 {
            findings.merge(closest(results));
        }
        findings
    }

    fn all_of(&self, schemas: &[Schema], value: &Value, path: &str) -> Findings {
        let results: Vec<Findings> = schemas.iter().map(|schema| self.alternative(schema, value, path)).collect();
        let valid = results.iter().filter(|result| result.errors.is_empty()).count();
        let mut findings = Findings::default();
        results.into_iter().for_each(|result| findings.merge(result));
        if valid != schemas.len() {
            let none = if valid == 0 { ". None validated" } else { "" };
            findings.errors.push(self.unplaced(format!("{path:?} must validate all the schemas (allOf){none}")));
        }
        findings
    }

    fn alternative(&self, schema: &Schema, value: &Value, path: &str) -> Findings {
        self.checks(schema, value, Old::NONE, path)
    }
}

/// The failed alternative with most checks passed, the first of equals.
fn closest(results: Vec<Findings>) -> Findings {
    results.into_iter().reduce(|best, next| if next.passed > best.passed { next } else { best }).unwrap_or_default()
}
