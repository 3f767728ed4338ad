//! The words of a schema: which are known, and which go with each other.

use std::collections::BTreeSet;

use serde_json::Value;

use super::structural::wrong_type;
use super::{list, text};
use crate::field_error::{FieldError, FieldErrors};

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];
const SCALARS: [&str; 4] = ["boolean", "integer", "number", "string"];
/// Words of JSON schema that structural schemas do without.
const UNKNOWN_WORDS: [&str; 6] = ["id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"];
const REASONS: [&str; 4] = ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];

/// Words that are not supported, or not beside each other.
pub(super) fn errors(schema: &Value, path: &str, errors: &mut FieldErrors) {
    if errors.is_closed() {
        return;
    }
    let at = |name: &str| format!("{path}.{name}");
    for word in UNKNOWN_WORDS.into_iter().filter(|word| schema.get(word).is_some()) {
        errors.push(FieldError::forbidden(at(word), format!("{word} is not supported")));
    }
    if schema["uniqueItems"] == true {
        let detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        errors.push(FieldError::forbidden(at("uniqueItems"), detail));
    }
    if schema["items"].is_array() {
        errors.push(FieldError::forbidden(at("items"), "items must be a schema object and not an array"));
    }
    let has_members = schema["properties"].as_object().is_some_and(|members| !members.is_empty());
    if schema.get("additionalProperties").is_some() && schema["additionalProperties"] != false && has_members {
        let detail = "additionalProperties and properties are mutual exclusive";
        errors.push(FieldError::forbidden(at("additionalProperties"), detail));
    }
    match text(&schema["type"]) {
        "" => {}
        "null" => {
            let detail = "type cannot be set to null, use nullable as an alternative";
            errors.push(FieldError::forbidden(at("type"), detail));
        }
        kind if TYPES.contains(&kind) => {}
        kind => errors.push(FieldError::not_supported(at("type"), kind, &TYPES)),
    }
    if schema["x-kubernetes-preserve-unknown-fields"] == false {
        let field = at("x-kubernetes-preserve-unknown-fields");
        errors.push(FieldError::invalid(field, false, "must be true or undefined"));
    }
    map_type_errors(schema, path, errors);
    list_type_errors(schema, path, errors);
    rule_errors(schema, path, errors);
    for (name, child) in children(schema) {
        self::errors(child, &format!("{path}.{name}"), errors);
    }
}

/// The schemas inside a schema, with how a path names them.
fn children(schema: &Value) -> Vec<(String, &Value)> {
    let mut children: Vec<(String, &Value)> = Vec::new();
    let members = schema["properties"].as_object().into_iter().flatten();
    children.extend(members.map(|(name, child)| (format!("properties[{name}]"), child)));
    let single = ["items", "additionalProperties", "not"].into_iter().filter(|name| schema[name].is_object());
    children.extend(single.map(|name| (name.to_owned(), &schema[name])));
    for name in ["allOf", "anyOf", "oneOf"] {
        let several = list(&schema[name]).iter().enumerate();
        children.extend(several.map(|(index, child)| (format!("{name}[{index}]"), child)));
    }
    children
}

fn map_type_errors(schema: &Value, path: &str, errors: &mut FieldErrors) {
    const WORD: &str = "x-kubernetes-map-type";
    let Some(map_type) = schema.get(WORD) else { return };
    if schema["type"] != "object" {
        errors.push(wrong_type(schema, path, "must be object if x-kubernetes-map-type is specified"));
    }
    if !matches!(text(map_type), "atomic" | "granular") {
        let field = format!("{path}.{WORD}");
        errors.push(FieldError::not_supported(field, map_type, &["atomic", "granular"]));
    }
}

fn list_type_errors(schema: &Value, path: &str, errors: &mut FieldErrors) {
    const WORD: &str = "x-kubernetes-list-type";
    const KEYS: &str = "x-kubernetes-list-map-keys";
    let list_type = text(&schema[WORD]);
    let keys = list(&schema[KEYS]);
    let at = |name: &str| format!("{path}.{name}");
    if schema.get(WORD).is_some() && schema["type"] != "array" {
        errors.push(wrong_type(schema, path, "must be array if x-kubernetes-list-type is specified"));
    }
    if schema.get(WORD).is_some() && !matches!(list_type, "atomic" | "set" | "map") {
        errors.push(FieldError::not_supported(at(WORD), &schema[WORD], &["atomic", "set", "map"]));
    }
    if !keys.is_empty() && list_type != "map" {
        let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
        errors.push(match list_type {
            "" => FieldError::required(at(WORD), detail),
            other => FieldError::invalid(at(WORD), other, detail),
        });
    }
    match list_type {
        "set" => set_errors(&schema["items"], path, errors),
        "map" if keys.is_empty() => {
            let detail = "must not be empty if x-kubernetes-list-type is map";
            errors.push(FieldError::required(at(KEYS), detail));
        }
        "map" => key_errors(schema, path, keys, errors),
        _ => {}
    }
    if matches!(list_type, "set" | "map") && schema["items"]["nullable"] == true {
        let detail = format!("cannot be nullable when x-kubernetes-list-type is {list_type}");
        errors.push(FieldError::forbidden(at("items.nullable"), detail));
    }
}

/// The elements of a set are told apart as wholes.
fn set_errors(items: &Value, path: &str, errors: &mut FieldErrors) {
    let detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
    let word = match text(&items["type"]) {
        "array" if items["x-kubernetes-list-type"] != "atomic" && items.get("x-kubernetes-list-type").is_some() => {
            "x-kubernetes-list-type"
        }
        "object" if items["x-kubernetes-map-type"] != "atomic" => "x-kubernetes-map-type",
        _ => return,
    };
    errors.push(FieldError::invalid(format!("{path}.items.{word}"), &items[word], detail));
}

fn key_errors(schema: &Value, path: &str, keys: &[Value], errors: &mut FieldErrors) {
    const KEYS: &str = "x-kubernetes-list-map-keys";
    let items = &schema["items"];
    if !items.is_object() {
        let detail = "must have a schema if x-kubernetes-list-type is map";
        errors.push(FieldError::required(format!("{path}.items"), detail));
        return;
    }
    if items["type"] != "object" {
        let detail = "must be object if parent array's x-kubernetes-list-type is map";
        errors.push(FieldError::invalid(format!("{path}.items.type"), &items["type"], detail));
    }
    let mut seen = BTreeSet::new();
    for key in keys.iter().map(text) {
        let property = &items["properties"][key];
        let at = |name: &str| format!("{path}.items.properties[{key}].{name}");
        if !property.is_object() {
            let detail = "entries must all be names of item properties";
            errors.push(FieldError::invalid(format!("{path}.{KEYS}"), keys, detail));
        } else if !SCALARS.contains(&text(&property["type"])) {
            let detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
            errors.push(FieldError::invalid(at("type"), &property["type"], detail));
        } else {
            let of_key = "this property is in x-kubernetes-list-map-keys, so it";
            if property.get("default").is_none() && !list(&items["required"]).iter().any(|name| name == key) {
                let detail = format!("{of_key} must have a default or be a required property");
                errors.push(FieldError::required(at("default"), detail));
            }
            if property["nullable"] == true {
                errors.push(FieldError::forbidden(at("nullable"), format!("{of_key} cannot be nullable")));
            }
        }
        if !seen.insert(key) {
            let detail = "must not contain duplicate entries";
            errors.push(FieldError::invalid(format!("{path}.{KEYS}"), keys, detail));
        }
    }
}

fn rule_errors(schema: &Value, path: &str, errors: &mut FieldErrors) {
    for (index, rule) in list(&schema["x-kubernetes-validations"]).iter().enumerate() {
        let at = |name: &str| format!("{path}.x-kubernetes-validations[{index}].{name}");
        let has_lines = |name: &str| text(&rule[name]).trim().contains('\n');
        let is_blank = |name: &str| {
            rule.get(name).is_some() && text(&rule[name]).trim().is_empty() && !text(&rule[name]).is_empty()
        };
        if text(&rule["rule"]).trim().is_empty() {
            errors.push(FieldError::required(at("rule"), "rule is not specified"));
        } else if is_blank("message") {
            errors.push(FieldError::invalid(at("message"), &rule["message"], "must be non-empty if specified"));
        } else if has_lines("message") {
            errors.push(FieldError::invalid(at("message"), &rule["message"], "must not contain line breaks"));
        } else if has_lines("rule") && text(&rule["message"]).is_empty() {
            let detail = "message must be specified if rule contains line breaks";
            errors.push(FieldError::required(at("message"), detail));
        }
        if is_blank("messageExpression") {
            let detail = "messageExpression must be non-empty if specified";
            errors.push(FieldError::required(at("messageExpression"), detail));
        }
        if let Some(reason) = rule.get("reason").filter(|reason| !REASONS.contains(&text(reason))) {
            errors.push(FieldError::not_supported(at("reason"), reason, &REASONS));
        }
    }
}
