//! What is wrong with the schemas of a definition.

use serde_json::{Value, json};

use super::structural::{self, Level};
use super::versions::distinct;
use super::{defaults, list, quoted, text, version_path, words};
use crate::budget::{Budget, Exceeded};
use crate::field_error::{FieldError, FieldErrors};
use crate::schema::{Definitions, RuleError, Rules, parse};

/// What compiling a regular expression takes, in steps: about 50 µs, and more for every byte.
const PATTERN_STEPS: usize = 2_000;
const PATTERN_STEPS_PER_BYTE: usize = 50;

/// Each step is only taken where the one before found nothing: what a later one says of a broken schema is noise. What
/// was accepted once and did not change is not judged again.
pub(super) fn errors(new: &Value, old: Option<&Value>, budget: &Budget) -> FieldErrors {
    let versions = list(&new["spec"]["versions"]);
    let before = old.map_or(&[][..], |old| list(&old["spec"]["versions"]));
    let mut errors = FieldErrors::default();
    for (index, version) in distinct(versions, "schema") {
        let known = before.iter().find(|known| known["name"] == version["name"]);
        if known.is_some_and(|known| known["schema"] == version["schema"]) {
            continue;
        }
        errors.merge(version_errors(versions, index, version, budget));
    }
    errors
}

/// What is wrong with a schema, which stands at this path.
type Check = fn(&Value, &str, &Budget) -> FieldErrors;

fn version_errors(versions: &[Value], index: usize, version: &Value, budget: &Budget) -> FieldErrors {
    let schema = &version["schema"]["openAPIV3Schema"];
    if !schema.is_object() {
        let field = format!("spec.versions[{index}].schema.openAPIV3Schema");
        return FieldError::required(field, "").into();
    }
    let path = format!("{}.openAPIV3Schema", version_path(versions, index, "schema", "validation"));
    let steps: [Check; 4] = [wording, shape, defaults::errors, rules];
    steps.iter().map(|step| step(schema, &path, budget)).find(|errors| !errors.is_empty()).unwrap_or_default()
}

fn wording(schema: &Value, path: &str, _: &Budget) -> FieldErrors {
    let mut errors = FieldErrors::default();
    if schema["nullable"] == true {
        errors.push(FieldError::forbidden(format!("{path}.nullable"), "nullable cannot be true at the root"));
    }
    words::errors(schema, path, &mut errors);
    errors
}

fn shape(schema: &Value, path: &str, budget: &Budget) -> FieldErrors {
    let mut errors = FieldErrors::default();
    if charge_patterns(schema, budget).is_err() {
        return errors;
    }
    structural::shape_errors(schema, Level::Root, path, &mut errors);
    errors
}

/// Charges for the regular expressions in a schema, which are compiled to see what is wrong with them.
fn charge_patterns(json: &Value, budget: &Budget) -> Result<(), Exceeded> {
    budget.take_steps(1)?;
    match json {
        Value::Object(members) => {
            for (name, member) in members {
                if let (true, Some(pattern)) = (name == "pattern", member.as_str()) {
                    budget.take_steps(PATTERN_STEPS + PATTERN_STEPS_PER_BYTE * pattern.len())?;
                }
                charge_patterns(member, budget)?;
            }
            Ok(())
        }
        Value::Array(items) => items.iter().try_for_each(|item| charge_patterns(item, budget)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

/// Rules that cannot be compiled.
fn rules(schema: &Value, path: &str, budget: &Budget) -> FieldErrors {
    let (_, errors) = Rules::compile(&parse(schema, &Definitions::new()), budget);
    let of = |RuleError { path: below, message, is_too_costly, .. }: RuleError| {
        if is_too_costly {
            let field = if below.is_empty() { path.to_owned() } else { format!("{path}.{below}") };
            return FieldError::forbidden(field, message);
        }
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
