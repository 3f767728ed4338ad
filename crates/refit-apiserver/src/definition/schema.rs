//! What is wrong with the schemas of a definition.

use serde_json::{Value, json};

use super::structural::{self, Level};
use super::versions::distinct;
use super::{defaults, list, quoted, text, version_path, words};
use crate::field_error::FieldError;
use crate::schema::{Definitions, RuleError, Rules, parse};

/// Each step is only taken where the one before found nothing: what a later one says of a broken schema is noise. What
/// was accepted once and did not change is not judged again.
pub(super) fn errors(new: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let versions = list(&new["spec"]["versions"]);
    let before = old.map_or(&[][..], |old| list(&old["spec"]["versions"]));
    let mut errors = Vec::new();
    for (index, version) in distinct(versions, "schema") {
        let known = before.iter().find(|known| known["name"] == version["name"]);
        if known.is_some_and(|known| known["schema"] == version["schema"]) {
            continue;
        }
        errors.extend(version_errors(versions, index, version));
    }
    errors
}

fn version_errors(versions: &[Value], index: usize, version: &Value) -> Vec<FieldError> {
    let schema = &version["schema"]["openAPIV3Schema"];
    if !schema.is_object() {
        let field = format!("spec.versions[{index}].schema.openAPIV3Schema");
        return vec![FieldError::required(field, "")];
    }
    let path = format!("{}.openAPIV3Schema", version_path(versions, index, "schema", "validation"));
    let steps: [fn(&Value, &str) -> Vec<FieldError>; 4] = [wording, shape, defaults::errors, rules];
    steps.iter().map(|step| step(schema, &path)).find(|errors| !errors.is_empty()).unwrap_or_default()
}

fn wording(schema: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if schema["nullable"] == true {
        errors.push(FieldError::forbidden(format!("{path}.nullable"), "nullable cannot be true at the root"));
    }
    words::errors(schema, path, &mut errors);
    errors
}

fn shape(schema: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    structural::shape_errors(schema, Level::Root, path, &mut errors);
    errors
}

/// Rules that cannot be compiled.
fn rules(schema: &Value, path: &str) -> Vec<FieldError> {
    let (_, errors) = Rules::compile(&parse(schema, &Definitions::new()));
    let of = |RuleError { path: below, message, .. }: RuleError| {
        let rule = below.rsplit_once('.').map(|(rule, _)| shown(schema, rule)).unwrap_or_default();
        quoted(format!("{path}.{below}"), &rule, &message.replace("\n|", "\n |"))
    };
    errors.into_iter().map(of).collect()
}

/// A rule as messages quote it. `path` is as in `properties[spec].x-kubernetes-validations[0]`.
fn shown(schema: &Value, path: &str) -> String {
    let mut rule = schema;
    for part in path.split(['.', '[']).map(|part| part.trim_end_matches(']')) {
        rule = part.parse::<usize>().map_or_else(|_| &rule[part], |index| &rule[index]);
    }
    format!(
        r#"{{"Rule":{},"Message":{},"MessageExpression":{},"Reason":{},"FieldPath":{},"OptionalOldSelf":{}}}"#,
        json!(text(&rule["rule"])),
        json!(text(&rule["message"])),
        json!(text(&rule["messageExpression"])),
        rule["reason"],
        json!(text(&rule["fieldPath"])),
        rule["optionalOldSelf"],
    )
}
