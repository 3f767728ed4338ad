//! Cluster API's own defaulting and validation, which upstream serves as webhooks.

use refit_api::admission::registry;
use serde_json::Value;

use super::Scene;
use crate::field_error::{FieldError, FieldErrors};
use crate::status::Status;

/// What admission may change; the rest of an object is not its business.
const PARTS: [&[&str]; 3] = [&["spec"], &["metadata", "labels"], &["metadata", "annotations"]];

/// Fills in what Cluster API's kinds default beyond their schemas. An object that does not decode is left to
/// validation, which names all that is wrong with it.
pub(super) fn set_defaults(scene: &Scene<'_>, object: &mut Value, old: Option<&Value>) {
    let Some(kind) = find(scene) else { return };
    let Ok(defaulted) = kind.set_defaults(object.clone(), old) else { return };
    for part in PARTS {
        copy(part, &defaulted, object);
    }
}

/// Judges the object as Cluster API does. Returns warnings.
pub(super) fn validate(scene: &Scene<'_>, object: &Value, old: Option<&Value>) -> Result<Vec<String>, Status> {
    let Some(kind) = find(scene) else { return Ok(Vec::new()) };
    let resource = scene.resource;
    let verdict = kind.validate(object, old).map_err(|error| Status::bad_request(error.to_string()))?;
    if verdict.is_accepted() {
        return Ok(verdict.warnings);
    }
    let errors: FieldErrors = verdict.errors.into_iter().map(FieldError::from).collect();
    Err(Status::invalid(resource.qualified_kind(), crate::metadata::text(object, "name"), &errors.said()))
}

fn find(scene: &Scene<'_>) -> Option<&'static registry::Registered> {
    let resource = scene.resource;
    let is_whole = scene.path.subresource.is_none();
    (scene.has_admission && is_whole && resource.is_custom())
        .then(|| registry::find(&resource.group, &resource.version, &resource.kind))
        .flatten()
}

fn copy(path: &[&str], from: &Value, to: &mut Value) {
    let Some(value) = path.iter().try_fold(from, |value, name| value.get(name)) else { return };
    let Some((last, parents)) = path.split_last() else { return };
    let parent = parents.iter().try_fold(to, |value, name| value.get_mut(name));
    if let Some(parent) = parent.and_then(Value::as_object_mut) {
        parent.insert((*last).to_owned(), value.clone());
    }
}
