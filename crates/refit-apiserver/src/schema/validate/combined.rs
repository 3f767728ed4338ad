//! `allOf`, `anyOf`, `oneOf` and `not`.

use serde_json::Value;

use super::{Findings, Old, Validator};
use crate::schema::Schema;

impl Validator<'_> {
    pub(super) fn combined(&self, schema: &Schema, value: &Value, path: &str) -> Findings {
        let mut findings = Findings { passed: 2, ..Findings::default() };
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
        let (valid, closest) = self.tried(schemas, value, path);
        let mut findings = Findings::default();
        if !schemas.is_empty() && valid == 0 {
            findings.errors.push(self.unplaced(format!("{path:?} must validate at least one schema (anyOf)")));
            findings.merge(closest);
        }
        findings
    }

    fn one_of(&self, schemas: &[Schema], value: &Value, path: &str) -> Findings {
        let (valid, closest) = self.tried(schemas, value, path);
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
            findings.merge(closest);
        }
        findings
    }

    fn all_of(&self, schemas: &[Schema], value: &Value, path: &str) -> Findings {
        let mut valid = 0;
        let mut findings = Findings::default();
        for schema in schemas {
            let result = self.alternative(schema, value, path);
            valid += usize::from(result.errors.is_empty());
            findings.merge(result);
        }
        if valid != schemas.len() {
            let none = if valid == 0 { ". None validated" } else { "" };
            findings.errors.push(self.unplaced(format!("{path:?} must validate all the schemas (allOf){none}")));
        }
        findings
    }

    /// How many schemas fit, and what the one found that comes closest: with most checks passed, the first of equals.
    fn tried(&self, schemas: &[Schema], value: &Value, path: &str) -> (usize, Findings) {
        let mut valid = 0;
        let mut closest: Option<Findings> = None;
        for schema in schemas {
            let result = self.alternative(schema, value, path);
            valid += usize::from(result.errors.is_empty());
            if closest.as_ref().is_none_or(|closest| result.passed > closest.passed) {
                closest = Some(result);
            }
        }
        (valid, closest.unwrap_or_default())
    }

    fn alternative(&self, schema: &Schema, value: &Value, path: &str) -> Findings {
        self.checks(schema, value, Old::NONE, path)
    }
}
