//! The rules of built-in kinds that clients of Cluster API can meet. Those of pods, services and volumes are not here.

mod secret;

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::field_error::{ErrorKind, FieldError, FieldErrors};
use crate::metadata::{is_being_deleted, text};
use crate::resource::Resource;

/// What all data of a config map or a secret may take: 1 MiB.
const MAX_DATA_BYTES: usize = 1024 * 1024;
const MAX_KEY_BYTES: usize = 253;
const KEY: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
const TAINT_EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/// What the kind says of an object.
pub(super) fn errors(resource: &Resource, new: &Value, old: Option<&Value>) -> FieldErrors {
    match (resource.group.as_str(), resource.plural.as_str()) {
        ("", "configmaps") => config_map(new, old),
        ("", "secrets") => secret::errors(new, old),
        ("", "namespaces") => namespace(new, old),
        ("", "events") => event(new),
        ("", "nodes") => node(new, old),
        ("coordination.k8s.io", "leases") => lease(new),
        _ => FieldErrors::default(),
    }
}

fn config_map(new: &Value, old: Option<&Value>) -> FieldErrors {
    let mut errors = immutable(new, old, &["data", "binaryData"]);
    let binary: BTreeSet<&String> = members(&new["binaryData"]).map(|(key, _)| key).collect();
    for (key, _) in members(&new["data"]) {
        if errors.is_closed() {
            return errors;
        }
        errors.extend(key_errors("data", key));
        if binary.contains(key) {
            errors.push(FieldError::invalid(
                format!("data[{key}]"),
                key.as_str(),
                "duplicate of key present in binaryData",
            ));
        }
    }
    errors.extend(binary.iter().flat_map(|key| key_errors("binaryData", key)));
    let texts: usize = members(&new["data"]).map(|(_, value)| value.as_str().map_or(0, str::len)).sum();
    if texts + decoded_bytes(&new["binaryData"]) > MAX_DATA_BYTES {
        errors.push(FieldError::too_long("[]", MAX_DATA_BYTES as u64));
    }
    errors
}

/// How many bytes a map of texts in base64 stands for.
fn decoded_bytes(data: &Value) -> usize {
    let bytes = |text: &str| text.len() / 4 * 3 - text.bytes().rev().take_while(|byte| *byte == b'=').count();
    members(data).map(|(_, value)| value.as_str().map_or(0, bytes)).sum()
}

fn members(map: &Value) -> impl Iterator<Item = (&String, &Value)> {
    map.as_object().into_iter().flat_map(Map::iter)
}

fn key_errors(field: &str, key: &str) -> Vec<FieldError> {
    let mut problems = Vec::new();
    if key.len() > MAX_KEY_BYTES {
        problems.push(format!("must be no more than {MAX_KEY_BYTES} characters"));
    }
    if key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte)) {
        problems.push(KEY.to_owned());
    } else if key == "." || key == ".." {
        problems.push(format!("must not be '{key}'"));
    } else if key.starts_with("..") {
        problems.push("must not start with '..'".to_owned());
    }
    problems.into_iter().map(|problem| FieldError::invalid(format!("{field}[{key}]"), key, problem)).collect()
}

/// An object that says so stays as it is.
fn immutable(new: &Value, old: Option<&Value>, fields: &[&str]) -> FieldErrors {
    let Some(old) = old.filter(|old| old["immutable"] == true) else { return FieldErrors::default() };
    let detail = "field is immutable when `immutable` is set";
    let is_released = (new["immutable"] != true).then(|| FieldError::forbidden("immutable", detail));
    let changed = fields.iter().filter(|field| new[**field] != old[**field]);
    is_released.into_iter().chain(changed.map(|field| FieldError::forbidden(*field, detail))).collect()
}

fn namespace(new: &Value, old: Option<&Value>) -> FieldErrors {
    let phase = new["status"]["phase"].as_str().unwrap_or_default();
    let refuse = |detail: &str| FieldError::invalid("status.Phase", phase, detail).into();
    match (old, is_being_deleted(new), phase) {
        (Some(_), false, phase) if phase != "Active" => refuse("may only be 'Active' if `deletionTimestamp` is empty"),
        (Some(_), true, phase) if phase != "Terminating" => {
            refuse("may only be 'Terminating' if `deletionTimestamp` is not empty")
        }
        _ => FieldErrors::default(),
    }
}

/// An event is where the object is that it is about; what is nowhere has its events in the default namespace.
fn event(new: &Value) -> FieldErrors {
    let about = new["involvedObject"]["namespace"].as_str().unwrap_or_default();
    let is_right = if about.is_empty() { text(new, "namespace") == "default" } else { text(new, "namespace") == about };
    let detail = "does not match event.namespace";
    (!is_right).then(|| FieldError::invalid("involvedObject.namespace", about, detail)).into_iter().collect()
}

fn node(new: &Value, old: Option<&Value>) -> FieldErrors {
    let mut errors = taints(new);
    let Some(old) = old else { return errors };
    // The real server judges this twice, and says it twice.
    errors.merge(taints(new));
    let before = old["spec"]["providerID"].as_str().unwrap_or_default();
    if !before.is_empty() && new["spec"]["providerID"] != before {
        let detail = "node updates may not change providerID except from \"\" to valid";
        errors.push(FieldError::forbidden("spec.providerID", detail));
    }
    errors
}

fn taints(node: &Value) -> FieldErrors {
    let taints = node["spec"]["taints"].as_array().into_iter().flatten().enumerate();
    taints
        .filter_map(|(index, taint)| {
            let effect = taint["effect"].as_str().unwrap_or_default();
            let field = format!("metadata.taints[{index}].effect");
            (!TAINT_EFFECTS.contains(&effect)).then(|| FieldError::not_supported(field, effect, &TAINT_EFFECTS))
        })
        .collect()
}

fn lease(new: &Value) -> FieldErrors {
    let spec = &new["spec"];
    let bounds = [
        ("leaseDurationSeconds", 1, "must be greater than 0"),
        ("leaseTransitions", 0, "must be greater than or equal to 0"),
    ];
    let too_small = bounds.into_iter().filter_map(|(name, least, detail)| {
        let value = spec[name].as_i64().filter(|value| *value < least)?;
        Some(FieldError::new(ErrorKind::Invalid, format!("spec.{name}"), Some(value.into()), detail))
    });
    too_small.collect()
}
