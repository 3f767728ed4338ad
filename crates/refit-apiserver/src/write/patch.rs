//! Patches: JSON, merge, strategic merge and apply.

mod json;
mod strategic;
#[cfg(test)]
mod tests;

use http::StatusCode;
use serde_json::Value;

use super::decode::{
    clean, clean_metadata, inconvertible, json_type, place, settle, shape_error, strict_errors, unmarshal_errors,
};
use super::update::{check_name, replace};
use super::{Change, FieldValidation, Outcome, Scene, create, prepare};
use crate::apply::{self, Writer};
use crate::body::{self, Encoding, Parsed};
use crate::budget::{self, Budget};
use crate::definition;
use crate::field_error::FieldError;
use crate::metadata::text;
use crate::schema::{Schema, set_defaults};
use crate::status::{Qualified, Status};

/// What kind of patch a request brings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatchType {
    Json,
    Merge,
    Strategic,
    Apply,
}

impl PatchType {
    /// By the media type of the request.
    pub fn of(scene_is_custom: bool, media_type: &str) -> Result<Self, Status> {
        match media_type {
            "application/json-patch+json" => Ok(Self::Json),
            "application/merge-patch+json" => Ok(Self::Merge),
            "application/strategic-merge-patch+json" if !scene_is_custom => Ok(Self::Strategic),
            "application/apply-patch+yaml" => Ok(Self::Apply),
            _ if scene_is_custom => Err(body::unsupported_media_type(
                "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
            )),
            _ => Err(body::unsupported_media_type("415: Unsupported Media Type")),
        }
    }
}

/// Decides what is stored when a patch meets what is there.
pub fn patch(scene: &Scene<'_>, live: Option<&Value>, patch: PatchType) -> Result<Outcome, Status> {
    match (patch, live) {
        (PatchType::Apply, live) => applied(scene, live),
        (_, None) => {
            let name = scene.path.name.as_deref().unwrap_or_default();
            Err(Status::not_found(scene.resource.qualified_plural(), name))
        }
        (patch, Some(live)) => patched(scene, live, patch),
    }
}

fn patched(scene: &Scene<'_>, live: &Value, patch: PatchType) -> Result<Outcome, Status> {
    let said = if patch == PatchType::Strategic { "" } else { "error decoding patch: " };
    let Parsed { value, duplicates, .. } = body::parse(Encoding::Json, &scene.request.body, scene.budget)
        .map_err(|error| Status::bad_request(format!("{said}{error}")))?;
    let mut object = merged(&scene.resource.schema, patch, &value, live, scene.budget)?;
    let quoted = || match patch {
        PatchType::Strategic => apply::go_text(&value),
        PatchType::Json | PatchType::Merge | PatchType::Apply => object.to_string(),
    };
    if let Some(error) = unhandled(scene, &object) {
        return Err(invalid_patch(quoted(), &error));
    }
    // Only a strict refusal quotes it, and it is as it was before cleaning.
    let quoted = (scene.options.field_validation == FieldValidation::Strict).then(quoted);
    let unknown = clean(scene, &mut object);
    let strict: Vec<String> = match patch {
        PatchType::Json => {
            let odd = strict_errors(&duplicates, &json::unknown_fields(&value)).into_iter();
            odd.map(|error| format!("json patch {error}")).chain(strict_errors(&[], &unknown)).collect()
        }
        PatchType::Merge | PatchType::Strategic | PatchType::Apply => strict_errors(&duplicates, &unknown),
    };
    if let Some(quoted) = quoted.filter(|_| !strict.is_empty()) {
        return Err(invalid_patch(quoted, &format!("strict decoding error: {}", strict.join(", "))));
    }
    let warnings = match scene.options.field_validation {
        FieldValidation::Ignore => Vec::new(),
        FieldValidation::Warn | FieldValidation::Strict => strict,
    };
    let stored = |object| store(scene, live, object, warnings.clone());
    stored(object).map_err(|status| status.with_warnings(&warnings))
}

fn store(scene: &Scene<'_>, live: &Value, mut object: Value, warnings: Vec<String>) -> Result<Outcome, Status> {
    place(scene, &mut object)?;
    check_name(scene, &object)?;
    let writer = Writer { manager: scene.request.field_manager(), now: scene.now };
    apply::charge(scene.endpoint(), &object, scene.budget)?;
    apply::update(scene.endpoint(), Some(live), &mut object, &writer);
    replace(scene, live, object, warnings)
}

/// Why a patched object cannot be one of the resource's kind.
fn unhandled(scene: &Scene<'_>, object: &Value) -> Option<String> {
    let kind = object["kind"].as_str().unwrap_or_default();
    match scene.resource.is_custom() {
        true if kind.is_empty() => Some(format!("Object 'Kind' is missing in '{object}'")),
        false if !kind.is_empty() => {
            let version = object["apiVersion"].as_str().unwrap_or_default();
            inconvertible(scene.resource, version, kind).or_else(|| shape_error(scene.resource, object))
        }
        _ => shape_error(scene.resource, object),
    }
}

/// The refusal of a patch whose result cannot be read.
fn invalid_patch(quoted: String, detail: &str) -> Status {
    let error = FieldError::invalid("patch", quoted, detail);
    Status::invalid(Qualified { group: "", name: "" }, "", &[error])
}

/// The object with the patch in it.
pub(crate) fn merged(
    schema: &Schema,
    patch: PatchType,
    value: &Value,
    live: &Value,
    budget: &Budget,
) -> Result<Value, Status> {
    // The object is copied, and the copy changed.
    budget::check(live, budget)?;
    let object = merge(schema, patch, value, live, budget)?;
    budget::check(&object, budget)?;
    Ok(object)
}

fn merge(schema: &Schema, patch: PatchType, value: &Value, live: &Value, budget: &Budget) -> Result<Value, Status> {
    match patch {
        PatchType::Json => json::apply(value, live, budget),
        PatchType::Strategic => strategic::apply(schema, value, live),
        PatchType::Merge | PatchType::Apply => {
            if value.is_null() {
                return Err(Status::bad_request("Invalid JSON Patch"));
            }
            if !value.is_object() {
                let found = json_type(value);
                return Err(Status::bad_request(format!("error decoding patch: {}", no_map(found))));
            }
            let mut object = live.clone();
            json_patch::merge(&mut object, value);
            Ok(object)
        }
    }
}

fn applied(scene: &Scene<'_>, live: Option<&Value>) -> Result<Outcome, Status> {
    let name = scene.path.name.as_deref().unwrap_or_default();
    if live.is_none() && scene.path.subresource.is_some() {
        return Err(Status::not_found(scene.resource.qualified_plural(), name));
    }
    let Parsed { value: config, repeated, .. } = body::parse(Encoding::Yaml, &scene.request.body, scene.budget)
        .map_err(|error| Status::bad_request(format!("error decoding YAML: error converting YAML to JSON: {error}")))?;
    let warnings = match (scene.options.field_validation, unmarshal_errors(&repeated)) {
        (FieldValidation::Strict, Some(errors)) => {
            let message = format!("error strict decoding YAML: error converting YAML to JSON: {errors}");
            return Err(Status::bad_request(message));
        }
        (FieldValidation::Ignore, _) => Vec::new(),
        (FieldValidation::Warn | FieldValidation::Strict, _) => repeated,
    };
    configured(scene, live, &config, warnings.clone()).map_err(|status| status.with_warnings(&warnings))
}

fn configured(
    scene: &Scene<'_>,
    live: Option<&Value>,
    config: &Value,
    warnings: Vec<String>,
) -> Result<Outcome, Status> {
    let writer = Writer { manager: &scene.options.field_manager, now: scene.now };
    if !config.is_object() && !config.is_null() {
        let why = no_map(json_type(config));
        let message = format!("error decoding YAML: error unmarshaling JSON: while decoding JSON: {why}");
        return Err(Status::bad_request(message));
    }
    let schema = &scene.resource.schema;
    let default = |object: &mut Value| {
        if scene.resource.is_custom() {
            set_defaults(schema, object, scene.budget)
        } else if definition::is_definition(scene.resource) {
            definition::set_defaults(object);
        }
    };
    apply::charge(scene.endpoint(), config, scene.budget)?;
    let object = apply::apply(scene.endpoint(), live, config, &writer, scene.options.force, default);
    let mut object = object.map_err(|error| error.status())?;
    settle(scene.resource, &mut object);
    clean_metadata(&mut object, Vec::new());
    place(scene, &mut object)?;
    if live.is_none() {
        check_no_uid(scene, &object)?;
    }
    check_name(scene, &object)?;
    match live {
        Some(live) => replace(scene, live, object, warnings),
        None => created(scene, object, warnings),
    }
}

/// What names an object that there is must find it.
fn check_no_uid(scene: &Scene<'_>, object: &Value) -> Result<(), Status> {
    let uid = text(object, "uid");
    if uid.is_empty() {
        return Ok(());
    }
    let why = format!("uid mismatch: the provided object specified uid {uid}, and no existing object was found");
    let name = scene.path.name.as_deref().unwrap_or_default();
    Err(Status::conflict(scene.resource.qualified_plural(), name, why))
}

fn created(scene: &Scene<'_>, mut object: Value, mut warnings: Vec<String>) -> Result<Outcome, Status> {
    prepare::identify(scene, &mut object);
    create::finish(scene, &mut object, &mut warnings)?;
    Ok(Outcome { change: Change::Put(object), warnings })
}

/// What Go says of a value that must be a map.
fn no_map(found: &str) -> String {
    format!("json: cannot unmarshal {found} into Go value of type map[string]interface {{}}")
}

/// The refusal of a JSON patch that cannot be carried out. The real server does not say why.
fn inapplicable() -> Status {
    let message = "the server rejected our request due to an error in our request";
    Status::new(StatusCode::UNPROCESSABLE_ENTITY, Some("Invalid"), message).with_empty_details()
}
