//! What makes a schema structural: every field has one type, said once, and what validates only is told apart from it.

use serde_json::{Value, json};

use super::{list, text};
use crate::field_error::{FieldError, FieldErrors};
use crate::schema::pattern;

/// Where in a schema a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    Root,
    Items,
    Field,
}

/// What only the one description of a field may say, and no further condition on it.
const STRUCTURE_ONLY: [(&str, &str); 10] = [
    ("type", "must be empty to be structural"),
    ("default", "must be undefined to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    ("x-kubernetes-preserve-unknown-fields", "must be false to be structural"),
    ("x-kubernetes-embedded-resource", "must be false to be structural"),
    ("x-kubernetes-int-or-string", "must be false to be structural"),
    ("x-kubernetes-list-type", "must be undefined to be structural"),
    ("x-kubernetes-map-type", "must be undefined to be structural"),
];

/// Fields without a type, and further conditions that say more than conditions may.
pub(super) fn shape_errors(schema: &Value, level: Level, path: &str, errors: &mut FieldErrors) {
    if errors.is_closed() {
        return;
    }
    let at = |name: &str| format!("{path}.{name}");
    let kind = text(&schema["type"]);
    if kind == "array" && !schema["items"].is_object() {
        errors.push(FieldError::required(at("items"), "must be specified"));
    }
    if level == Level::Root && schema.get("additionalProperties").is_some() {
        errors.push(FieldError::forbidden(at("additionalProperties"), "must not be used at the root"));
    }
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        shape_errors(member, Level::Field, &at(&format!("properties[{name}]")), errors);
    }
    for (name, level) in [("items", Level::Items), ("additionalProperties", Level::Field)] {
        if schema[name].is_object() {
            shape_errors(&schema[name], level, &at(name), errors);
        }
    }
    type_errors(schema, level, path, errors);
    extension_errors(schema, path, errors);
    let alternatives = json!([{"type": "integer"}, {"type": "string"}]);
    let is_int_or_string = schema["x-kubernetes-int-or-string"] == true;
    let skips_any = is_int_or_string && schema["anyOf"] == alternatives;
    let skips_first = is_int_or_string && schema["allOf"][0]["anyOf"] == alternatives;
    condition_errors(schema, (skips_any, skips_first), path, errors);
    if level == Level::Root || schema["x-kubernetes-embedded-resource"] == true {
        metadata_errors(schema, level, path, errors);
    }
}

fn type_errors(schema: &Value, level: Level, path: &str, errors: &mut FieldErrors) {
    let field = format!("{path}.type");
    let kind = text(&schema["type"]);
    let is_open =
        ["x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields"].iter().any(|word| schema[word] == true);
    if schema["x-kubernetes-embedded-resource"] == true {
        if kind != "object" {
            errors.push(wrong_type(schema, path, "must be object if x-kubernetes-embedded-resource is true"));
        }
    } else if kind.is_empty() && !is_open {
        let detail = match level {
            Level::Root => "must not be empty at the root",
            Level::Items => "must not be empty for specified array items",
            Level::Field => "must not be empty for specified object fields",
        };
        errors.push(FieldError::required(field, detail));
        return;
    }
    if level == Level::Root && !kind.is_empty() && kind != "object" {
        errors.push(FieldError::invalid(field, kind, "must be object at the root"));
    }
}

fn extension_errors(schema: &Value, path: &str, errors: &mut FieldErrors) {
    const EMBEDDED: &str = "x-kubernetes-embedded-resource";
    const OPEN: &str = "x-kubernetes-preserve-unknown-fields";
    let at = |name: &str| format!("{path}.{name}");
    if schema["x-kubernetes-int-or-string"] == true {
        for word in [OPEN, EMBEDDED].into_iter().filter(|word| schema[word] == true) {
            let detail = "must be false if x-kubernetes-int-or-string is true";
            errors.push(FieldError::invalid(at(word), true, detail));
        }
    }
    if schema[EMBEDDED] == true {
        if schema.get("additionalProperties").is_some() {
            let detail = "must not be used if x-kubernetes-embedded-resource is set";
            errors.push(FieldError::forbidden(at("additionalProperties"), detail));
        }
        if schema[OPEN] != true && schema["properties"].as_object().is_none_or(serde_json::Map::is_empty) {
            let detail = "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields";
            errors.push(FieldError::required(at("properties"), detail));
        }
    }
}

/// Further conditions on a field. `skips`: the alternatives that say "integer or string" are allowed, here and in the
/// first of several conditions.
fn condition_errors(schema: &Value, skips: (bool, bool), path: &str, errors: &mut FieldErrors) {
    let (skips_any, skips_first) = skips;
    for name in ["anyOf", "allOf", "oneOf"] {
        if name == "anyOf" && skips_any {
            continue;
        }
        for (index, nested) in list(&schema[name]).iter().enumerate() {
            let skips_any = name == "allOf" && index == 0 && skips_first;
            nested_errors(nested, skips_any, name == "allOf", &format!("{path}.{name}[{index}]"), errors);
        }
    }
    if schema["not"].is_object() {
        nested_errors(&schema["not"], false, false, &format!("{path}.not"), errors);
    }
    if let Some(pattern) = schema["pattern"].as_str()
        && let Some(reason) = pattern::error(pattern)
    {
        let detail =
            format!("must be a valid regular expression, but isn't: error parsing regexp: {reason}: `{pattern}`");
        errors.push(FieldError::invalid(format!("{path}.pattern"), pattern, detail));
    }
}

fn nested_errors(nested: &Value, skips_any: bool, allows_rules: bool, path: &str, errors: &mut FieldErrors) {
    if errors.is_closed() {
        return;
    }
    let at = |name: &str| format!("{path}.{name}");
    condition_errors(nested, (skips_any, false), path, errors);
    for (name, member) in nested["properties"].as_object().into_iter().flatten() {
        nested_errors(member, false, allows_rules, &at(&format!("properties[{name}]")), errors);
    }
    for name in ["items", "additionalProperties"] {
        if nested[name].is_object() {
            nested_errors(&nested[name], false, allows_rules, &at(name), errors);
        }
    }
    let is_said =
        |word: &str| nested.get(word).is_some_and(|value| !value.is_null() && *value != false && *value != "");
    for (word, detail) in STRUCTURE_ONLY.into_iter().filter(|(word, _)| is_said(word)) {
        errors.push(FieldError::forbidden(at(word), detail));
    }
    for word in ["x-kubernetes-list-map-keys", "x-kubernetes-validations"] {
        let is_allowed = word == "x-kubernetes-validations" && allows_rules;
        if !list(&nested[word]).is_empty() && !is_allowed {
            errors.push(FieldError::forbidden(at(word), "must be empty to be structural"));
        }
    }
    if nested["properties"].get("metadata").is_some() {
        let detail = "must not be specified in a nested context";
        errors.push(FieldError::forbidden(at("properties[metadata]"), detail));
    }
}

/// What every object has is known already; a schema may only narrow its name.
fn metadata_errors(schema: &Value, level: Level, path: &str, errors: &mut FieldErrors) {
    let members = &schema["properties"];
    for name in ["kind", "apiVersion"] {
        if let Some(member) = members.get(name).filter(|member| member["type"] != "string") {
            let field = format!("{path}.properties[{name}].type");
            errors.push(FieldError::invalid(field, text(&member["type"]), "must be string"));
        }
    }
    let Some(metadata) = members.get("metadata") else { return };
    let field = format!("{path}.properties[metadata]");
    if metadata["type"] != "object" {
        errors.push(FieldError::invalid(format!("{field}.type"), text(&metadata["type"]), "must be object"));
    }
    let is_narrow = |(name, value): (&String, &Value)| match name.as_str() {
        "type" | "default" | "description" => name != "description" || text(value).is_empty(),
        "properties" => value
            .as_object()
            .is_some_and(|members| members.keys().all(|name| matches!(name.as_str(), "name" | "generateName"))),
        _ => false,
    };
    if level == Level::Root && !metadata.as_object().is_some_and(|words| words.iter().all(is_narrow)) {
        let detail = "must not specify anything other than name and generateName, but metadata is implicitly specified";
        errors.push(FieldError::forbidden(field, detail));
    }
}

/// A type that does not go with another word.
pub(super) fn wrong_type(schema: &Value, path: &str, detail: &str) -> FieldError {
    let field = format!("{path}.type");
    match text(&schema["type"]) {
        "" => FieldError::required(field, detail),
        kind => FieldError::invalid(field, kind, detail),
    }
}
