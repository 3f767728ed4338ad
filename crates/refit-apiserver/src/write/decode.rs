//! From the body of a request to an object of the right kind, without what the schema does not know.

mod clean;
mod kind;
mod shape;

use http::StatusCode;
use serde_json::Value;

use super::{FieldValidation, Scene};
use crate::body::{self, Parsed};
use crate::metadata::{metadata_mut, text};
use crate::resource::Resource;
use crate::status::Status;

pub(super) use clean::{clean, clean_metadata, settle};
pub(super) use kind::{inconvertible, unregistered};
pub(super) use shape::{json_type, shape_error};

/// An object as a client means it, and what it is warned of.
#[derive(Debug, Clone, PartialEq)]
pub struct Decoded {
    pub object: Value,
    pub warnings: Vec<String>,
}

/// Decodes the body of a create or an update.
pub fn decode(scene: &Scene<'_>) -> Result<Decoded, Status> {
    let encoding = body::encoding(scene.request)?;
    let text = &scene.request.body;
    let Parsed { value, duplicates, repeated } =
        body::parse(encoding, text, scene.budget).map_err(|error| kind::unparsed(scene, &error))?;
    let mut object = kind::typed(scene, value)?;
    if let Some(error) = shape_error(scene.resource, &object) {
        return Err(unhandled(scene.resource, &error));
    }
    let unknown = clean(scene, &mut object);
    let mut strict = strict_errors(&duplicates, &unknown);
    if scene.options.field_validation == FieldValidation::Strict {
        strict.splice(0..0, unmarshal_errors(&repeated));
    } else {
        strict.splice(0..0, repeated);
    }
    if !strict.is_empty() && scene.options.field_validation == FieldValidation::Strict {
        return Err(unhandled(scene.resource, &format!("strict decoding error: {}", strict.join(", "))));
    }
    let warnings = match scene.options.field_validation {
        FieldValidation::Ignore => Vec::new(),
        FieldValidation::Warn | FieldValidation::Strict => strict,
    };
    place(scene, &mut object).map_err(|status| status.with_warnings(&warnings))?;
    Ok(Decoded { object, warnings })
}

/// What is said of fields that YAML has twice, in one.
pub(super) fn unmarshal_errors(repeated: &[String]) -> Option<String> {
    (!repeated.is_empty()).then(|| format!("yaml: unmarshal errors:\n  {}", repeated.join("\n  ")))
}

/// The refusal of an object that cannot be one of the resource's kind.
pub(super) fn unhandled(resource: &Resource, error: &str) -> Status {
    let Resource { kind, version, .. } = resource;
    Status::bad_request(format!("{kind} in version \"{version}\" cannot be handled as a {kind}: {error}"))
}

/// Sentences about fields that are there twice, and about unknown ones.
pub(super) fn strict_errors(duplicates: &[String], unknown: &[String]) -> Vec<String> {
    let duplicates = duplicates.iter().map(|path| format!("duplicate field {path:?}"));
    duplicates.chain(unknown.iter().map(|path| format!("unknown field {path:?}"))).collect()
}

/// Puts the object into the namespace of the path, and checks that it does not say otherwise.
pub(super) fn place(scene: &Scene<'_>, object: &mut Value) -> Result<(), Status> {
    let expected = match (scene.resource.is_namespaced, &scene.path.namespace) {
        (true, Some(namespace)) => namespace.clone(),
        _ => String::new(),
    };
    let given = text(object, "namespace").to_owned();
    match (given.as_str(), expected.as_str()) {
        ("", _) => {
            if let Some(metadata) = metadata_mut(object).filter(|_| !expected.is_empty()) {
                metadata.insert("namespace".to_owned(), expected.into());
            }
            Ok(())
        }
        (given, expected) if given == expected => Ok(()),
        // The real server drops the namespace of what belongs to none.
        (_, "") if !scene.resource.is_namespaced => {
            if let Some(metadata) = metadata_mut(object) {
                metadata.remove("namespace");
            }
            Ok(())
        }
        _ => Err(Status::new(
            StatusCode::BAD_REQUEST,
            Some("BadRequest"),
            "the namespace of the provided object does not match the namespace sent on the request",
        )),
    }
}
