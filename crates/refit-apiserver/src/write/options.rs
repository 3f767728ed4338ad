//! The options of writes, which come as parameters of the query.

use crate::field_error::{FieldError, FieldErrors};
use crate::metadata::validate_field_manager;
use crate::request::{Query, Verb};
use crate::status::{Qualified, Status};

/// How a write is to be done.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options {
    /// Everything is judged and nothing is stored.
    pub is_dry_run: bool,
    /// Empty where none is named.
    pub field_manager: String,
    pub field_validation: FieldValidation,
    /// Apply takes fields over from other managers.
    pub force: bool,
}

/// What happens to fields that the schema does not know or that are there twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FieldValidation {
    Ignore,
    /// They are dropped with a warning.
    #[default]
    Warn,
    Strict,
}

impl Options {
    /// Reads the options of a write. `is_apply`: the request is a server-side apply.
    pub fn parse(query: &Query, verb: Verb, is_apply: bool) -> Result<Self, Status> {
        let mut errors = FieldErrors::default();
        let field_manager = query.get("fieldManager").unwrap_or_default().to_owned();
        if verb == Verb::Patch {
            errors.extend(patch_errors(query, is_apply, &field_manager));
        }
        errors.merge(validate_field_manager("fieldManager", &field_manager));
        errors.extend(dry_run_error(query));
        let field_validation = match query.get("fieldValidation").unwrap_or_default() {
            "" | "Warn" => FieldValidation::Warn,
            "Ignore" => FieldValidation::Ignore,
            "Strict" => FieldValidation::Strict,
            other => {
                errors.push(FieldError::not_supported("fieldValidation", other, &["", "Ignore", "Strict", "Warn"]));
                FieldValidation::Warn
            }
        };
        if !errors.is_empty() {
            return Err(invalid(verb, &errors));
        }
        let is_dry_run = query.all("dryRun").next().is_some();
        Ok(Self { is_dry_run, field_manager, field_validation, force: query.is_true("force") })
    }
}

fn patch_errors(query: &Query, is_apply: bool, manager: &str) -> Option<FieldError> {
    match is_apply {
        true if manager.is_empty() => Some(FieldError::required("fieldManager", "is required for apply patch")),
        false if query.get("force").is_some() => {
            Some(FieldError::forbidden("force", "may not be specified for non-apply patch"))
        }
        _ => None,
    }
}

/// What is wrong with `dryRun`; `All` is all that it can be.
pub fn dry_run_error(query: &Query) -> Option<FieldError> {
    let values: Vec<&str> = query.all("dryRun").collect();
    let is_wrong = values.iter().any(|value| *value != "All");
    is_wrong.then(|| FieldError::not_supported("dryRun", serde_json::json!(values), &["All"]))
}

/// The refusal of the options themselves.
pub fn invalid(verb: Verb, errors: &[FieldError]) -> Status {
    let name = match verb {
        Verb::Create => "CreateOptions",
        Verb::Update => "UpdateOptions",
        Verb::Patch => "PatchOptions",
        Verb::Delete | Verb::DeleteCollection => "DeleteOptions",
        Verb::Get => "GetOptions",
        Verb::List | Verb::Watch => "ListOptions",
    };
    Status::invalid(Qualified { group: "meta.k8s.io", name }, "", errors)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(query: &str, verb: Verb, is_apply: bool, expected: &str) {
        let message = Options::parse(&Query::parse(query), verb, is_apply)
            .map_or_else(|status| status.message, |_| String::new());
        assert_eq!(message, expected, "{query}");
    }

    #[test]
    fn wrong_options_are_refused_by_their_own_kind() {
        check("dryRun=All&fieldValidation=Strict&fieldManager=m", Verb::Create, false, "");
        check(
            "fieldValidation=x",
            Verb::Create,
            false,
            r#"CreateOptions.meta.k8s.io "" is invalid: fieldValidation: Unsupported value: "x": supported values: "", "Ignore", "Strict", "Warn""#,
        );
        check(
            "dryRun=",
            Verb::Update,
            false,
            r#"UpdateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: [""]: supported values: "All""#,
        );
        check(
            "",
            Verb::Patch,
            true,
            r#"PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch"#,
        );
        check(
            "force=true",
            Verb::Patch,
            false,
            r#"PatchOptions.meta.k8s.io "" is invalid: force: Forbidden: may not be specified for non-apply patch"#,
        );
    }
}
