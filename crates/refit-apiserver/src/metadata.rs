//! What every object has: names, labels, annotations, owners, finalizers; what is right in them, and what may change.

mod change;
pub mod names;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::field_error::{FieldError, FieldErrors};
use names::{NameRule, label_key_problems, label_value_problems};

pub use change::validate_change;

/// What all annotations of an object may take together, keys and values: 256 KiB.
const ANNOTATIONS_MAX_BYTES: usize = 256 * 1024;
/// The longest name of a field manager.
pub const FIELD_MANAGER_MAX_BYTES: u64 = 128;

/// Keeps a deleted object until those it owns let it go.
pub const ORPHAN_FINALIZER: &str = "orphan";
/// Keeps a deleted object until those it owns are gone.
pub const FOREGROUND_FINALIZER: &str = "foregroundDeletion";

/// A text in the metadata of an object; empty where there is none.
pub fn text<'a>(object: &'a Value, name: &str) -> &'a str {
    object["metadata"][name].as_str().unwrap_or_default()
}

/// The finalizers of an object.
pub fn finalizers(object: &Value) -> impl Iterator<Item = &str> {
    object["metadata"]["finalizers"].as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// Whether somebody has deleted the object and something still holds it.
pub fn is_being_deleted(object: &Value) -> bool {
    object["metadata"].get("deletionTimestamp").is_some_and(|time| !time.is_null())
}

/// The metadata of an object, made if there is none.
pub fn metadata_mut(object: &mut Value) -> Option<&mut Map<String, Value>> {
    let object = object.as_object_mut()?;
    let metadata = object.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    if metadata.is_null() {
        *metadata = Value::Object(Map::new());
    }
    metadata.as_object_mut()
}

/// What is wrong with the metadata of an object, whether it is new or changed.
pub fn validate(object: &Value, is_namespaced: bool, rule: NameRule) -> FieldErrors {
    let metadata = &object["metadata"];
    let mut errors = names_of(object, is_namespaced, rule);
    if metadata["generation"].as_i64().is_some_and(|generation| generation < 0) {
        let detail = "must be greater than or equal to 0";
        errors.push(FieldError::invalid("metadata.generation", &metadata["generation"], detail));
    }
    errors.merge(maps(object));
    errors.merge(owners(&metadata["ownerReferences"]));
    errors.merge(validate_finalizers(object));
    errors.merge(managed_fields(&metadata["managedFields"]));
    errors
}

fn names_of(object: &Value, is_namespaced: bool, rule: NameRule) -> FieldErrors {
    let mut errors = FieldErrors::default();
    let prefix = text(object, "generateName");
    if !prefix.is_empty() {
        let problems = rule.prefix_problems(prefix);
        errors.extend(problems.map(|problem| FieldError::invalid("metadata.generateName", prefix, problem)));
    }
    match text(object, "name") {
        "" => errors.push(FieldError::required("metadata.name", "name or generateName is required")),
        name => errors.extend(rule.problems(name).map(|problem| FieldError::invalid("metadata.name", name, problem))),
    }
    match (is_namespaced, text(object, "namespace")) {
        (true, "") => errors.push(FieldError::required("metadata.namespace", "")),
        (true, namespace) => {
            let problems = NameRule::Label.problems(namespace);
            errors.extend(problems.map(|problem| FieldError::invalid("metadata.namespace", namespace, problem)));
        }
        (false, "") => {}
        (false, _) => errors.push(FieldError::forbidden("metadata.namespace", "not allowed on this type")),
    }
    errors
}

/// Labels and annotations.
fn maps(object: &Value) -> FieldErrors {
    let mut errors = FieldErrors::default();
    for (key, value) in members(&object["metadata"]["labels"]) {
        let labels = "metadata.labels";
        errors.extend(label_key_problems(key).into_iter().map(|problem| FieldError::invalid(labels, key, problem)));
        errors
            .extend(label_value_problems(value).into_iter().map(|problem| FieldError::invalid(labels, value, problem)));
        if errors.is_closed() {
            return errors;
        }
    }
    let mut bytes = 0;
    for (key, value) in members(&object["metadata"]["annotations"]) {
        let problems = label_key_problems(&key.to_lowercase());
        errors.extend(problems.into_iter().map(|problem| FieldError::invalid("metadata.annotations", key, problem)));
        if errors.is_closed() {
            return errors;
        }
        bytes += key.len() + value.len();
    }
    if bytes > ANNOTATIONS_MAX_BYTES {
        errors.push(FieldError::too_long("metadata.annotations", ANNOTATIONS_MAX_BYTES as u64));
    }
    errors
}

fn members(map: &Value) -> impl Iterator<Item = (&str, &str)> {
    let members = map.as_object().into_iter().flatten();
    members.map(|(key, value)| (key.as_str(), value.as_str().unwrap_or_default()))
}

fn owners(owners: &Value) -> FieldErrors {
    const FIELD: &str = "metadata.ownerReferences";
    let mut errors = FieldErrors::default();
    let mut controller: Option<String> = None;
    for owner in owners.as_array().into_iter().flatten() {
        let text = |name: &str| owner[name].as_str().unwrap_or_default();
        let version = text("apiVersion").rsplit('/').next().unwrap_or_default();
        let missing =
            [("apiVersion", version, "version must not be empty"), ("kind", text("kind"), "must not be empty")];
        let missing = missing.into_iter().chain(["name", "uid"].map(|name| (name, text(name), "must not be empty")));
        for (name, value, detail) in missing {
            if value.is_empty() {
                errors.push(FieldError::invalid(format!("{FIELD}.{name}"), text(name), detail));
            }
        }
        if version == "v1" && !text("apiVersion").contains('/') && text("kind") == "Event" {
            let detail = "/v1, Kind=Event is disallowed from being an owner";
            errors.push(FieldError::invalid(FIELD, owner, detail));
        }
        if owner["controller"] == true {
            let this = format!("{}/{}", text("kind"), text("name"));
            match &controller {
                None => controller = Some(this),
                Some(first) => {
                    let detail = format!(
                        "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {this}"
                    );
                    errors.push(FieldError::invalid(FIELD, owners, detail));
                }
            }
        }
        if errors.is_closed() {
            break;
        }
    }
    errors
}

fn validate_finalizers(object: &Value) -> FieldErrors {
    const FIELD: &str = "metadata.finalizers";
    let all: BTreeSet<&str> = finalizers(object).collect();
    let mut errors: FieldErrors = finalizers(object)
        .flat_map(|name| {
            label_key_problems(name).into_iter().map(move |problem| FieldError::invalid(FIELD, name, problem))
        })
        .collect();
    if all.contains(ORPHAN_FINALIZER) && all.contains(FOREGROUND_FINALIZER) {
        let detail = format!("finalizer {ORPHAN_FINALIZER} and {FOREGROUND_FINALIZER} cannot be both set");
        errors.push(FieldError::invalid(FIELD, &object["metadata"]["finalizers"], detail));
    }
    errors
}

fn managed_fields(entries: &Value) -> FieldErrors {
    let mut errors = FieldErrors::default();
    for (index, entry) in entries.as_array().into_iter().flatten().enumerate() {
        let at = |name: &str| format!("metadata.managedFields[{index}].{name}");
        let text = |name: &str| entry[name].as_str().unwrap_or_default();
        if !matches!(text("operation"), "Apply" | "Update") {
            errors.push(FieldError::invalid(at("operation"), text("operation"), "must be `Apply` or `Update`"));
        }
        if !matches!(text("fieldsType"), "" | "FieldsV1") {
            errors.push(FieldError::invalid(at("fieldsType"), text("fieldsType"), "must be `FieldsV1`"));
        }
        errors.merge(validate_field_manager(&at("manager"), text("manager")));
        if errors.is_closed() {
            break;
        }
    }
    errors
}

/// What is wrong with the name of a field manager.
pub fn validate_field_manager(field: &str, manager: &str) -> FieldErrors {
    let mut errors = FieldErrors::default();
    if manager.len() as u64 > FIELD_MANAGER_MAX_BYTES {
        errors.push(FieldError::too_long(field, FIELD_MANAGER_MAX_BYTES));
    }
    for (position, character) in manager.char_indices().filter(|(_, character)| character.is_control()) {
        let detail = format!("invalid character U+{:04X} (at position {position})", u32::from(character));
        errors.push(FieldError::invalid(field, manager, detail));
    }
    errors
}
