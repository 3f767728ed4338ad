//! Validation of whole objects.

mod built_in;
mod embedded;
mod scale;

use serde_json::Value;

use super::Scene;
use super::decode::{shape_error, unhandled};
use crate::definition;
use crate::field_error::{ErrorKind, FieldError};
use crate::metadata::names::NameRule;
use crate::metadata::{self, text, validate_change};
use crate::resource::Resource;
use crate::schema::{validate, validate_lists};
use crate::status::{Qualified, Status};

/// Judges a new object.
pub(super) fn of_new(scene: &Scene<'_>, object: &Value) -> Result<(), Status> {
    let resource = scene.resource;
    check_shape(resource, object)?;
    let mut errors = type_errors(resource, object);
    if errors.is_empty() {
        errors = metadata::validate(object, resource.is_namespaced, name_rule(resource));
        errors.extend(finalizer_errors(resource, object));
        errors.extend(own_errors(resource, object, None, &errors));
    }
    refuse_if_any(resource, object, &errors)
}

/// Judges an object that replaces another.
pub(super) fn of_change(scene: &Scene<'_>, new: &Value, old: &Value) -> Result<(), Status> {
    let resource = scene.resource;
    check_shape(resource, new)?;
    let mut errors = metadata::validate(new, resource.is_namespaced, NameRule::PathSegment);
    errors.extend(validate_change(new, old));
    if resource.is("", "configmaps") || resource.is("", "secrets") {
        // The whole of these is judged again with every change, metadata included.
        errors.extend(metadata::validate(new, resource.is_namespaced, name_rule(resource)));
        errors.extend(finalizer_errors(resource, new));
    }
    let types = type_errors(resource, new);
    if types.is_empty() {
        // The real server's custom resources judge this a second time, and say it twice.
        errors.extend(validate_change(new, old));
        errors.extend(match scene.path.subresource.as_deref() {
            Some("status") if resource.is_custom() => status_errors(resource, new, old),
            _ => own_errors(resource, new, Some(old), &errors),
        });
    }
    errors.extend(types);
    refuse_if_any(resource, new, &errors)
}

fn refuse_if_any(resource: &Resource, object: &Value, errors: &[FieldError]) -> Result<(), Status> {
    match errors {
        [] => Ok(()),
        errors => {
            // Of a custom resource, the object says what it is.
            let said = |name: &str, otherwise: &str| object[name].as_str().unwrap_or(otherwise).to_owned();
            let (kind, version) = match resource.is_custom() {
                true => (said("kind", &resource.kind), said("apiVersion", "")),
                false => (resource.kind.clone(), resource.api_version()),
            };
            let about = Qualified { group: version.split_once('/').map_or("", |(group, _)| group), name: &kind };
            Err(Status::invalid(about, text(object, "name"), errors))
        }
    }
}

/// Finalizers of built-in kinds must say whose they are; of custom resources, that is only advised.
fn finalizer_errors(resource: &Resource, object: &Value) -> Vec<FieldError> {
    if resource.is_custom() {
        return Vec::new();
    }
    let unqualified = metadata::finalizers(object).enumerate().filter(|(_, name)| is_unqualified(name));
    let detail = "name is neither a standard finalizer name nor is it fully qualified";
    unqualified
        .map(|(index, name)| FieldError::invalid(format!("metadata.finalizers[{index}]"), name, detail))
        .collect()
}

/// What a client is advised of.
pub(super) fn advice(resource: &Resource, object: &Value, old: Option<&Value>) -> Vec<String> {
    if !resource.is_custom() {
        return Vec::new();
    }
    let were: Vec<&str> = old.into_iter().flat_map(metadata::finalizers).collect();
    let odd = metadata::finalizers(object).filter(|name| is_unqualified(name) && !were.contains(name));
    odd.map(|name| {
        let hint = if name.contains('.') { " including a path (/)" } else { "" };
        format!("metadata.finalizers: {name:?}: prefer a domain-qualified finalizer name{hint} to avoid accidental conflicts with other finalizer writers")
    })
    .collect()
}

fn is_unqualified(finalizer: &str) -> bool {
    !finalizer.contains('/')
        && ![metadata::ORPHAN_FINALIZER, metadata::FOREGROUND_FINALIZER, "kubernetes"].contains(&finalizer)
}

/// What the kind itself says of an object.
fn own_errors(resource: &Resource, new: &Value, old: Option<&Value>, before: &[FieldError]) -> Vec<FieldError> {
    if definition::is_definition(resource) {
        return definition::validate(new, old);
    }
    if !resource.is_custom() {
        return built_in::errors(resource, new, old);
    }
    let mut errors = validate(&resource.schema, new, old, "");
    errors.extend(scale::errors(resource, new));
    errors.extend(embedded::errors(&resource.schema, new));
    let were_sound = old.is_none_or(|old| validate_lists(&resource.schema, old).is_empty());
    if were_sound {
        errors.extend(validate_lists(&resource.schema, new));
    }
    // What is wrong with metadata keeps the rules from running, too.
    let so_far: Vec<FieldError> = before.iter().chain(&errors).cloned().collect();
    errors.extend(rule_errors(resource, new, old, &so_far));
    errors
}

/// What is wrong with the status of an object; the rest cannot have changed.
fn status_errors(resource: &Resource, new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if let (Some(schema), Some(status)) = (resource.schema.properties.get("status"), new.get("status")) {
        errors.extend(validate(schema, status, old.get("status"), "status"));
    }
    errors.extend(scale::status_errors(resource, new));
    if validate_lists(&resource.schema, old).is_empty() {
        errors.extend(validate_lists(&resource.schema, new));
    }
    errors.extend(rule_errors(resource, new, Some(old), &errors));
    errors
}

/// The rules in CEL, which do not run on an object that the schema found malformed.
fn rule_errors(resource: &Resource, new: &Value, old: Option<&Value>, before: &[FieldError]) -> Vec<FieldError> {
    use ErrorKind::{NotSupported, Required, TooLong, TooMany, TypeInvalid};
    if resource.rules.is_empty() {
        return Vec::new();
    }
    let blocks = |error: &FieldError| matches!(error.kind, NotSupported | Required | TooLong | TooMany | TypeInvalid);
    if before.iter().any(blocks) {
        let detail = "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";
        return vec![FieldError::invalid("<nil>", Value::Null, detail)];
    }
    resource.rules.validate(&resource.schema, new, old)
}

fn type_errors(resource: &Resource, object: &Value) -> Vec<FieldError> {
    let expected = [("kind", resource.kind.clone()), ("apiVersion", resource.api_version())];
    let wrong = expected.into_iter().filter(|(name, expected)| object[name] != *expected);
    wrong
        .map(|(name, expected)| FieldError::invalid(name, object[name].clone(), format!("must be {expected}")))
        .collect()
}

/// Types of fields that the real server would not get through decoding.
fn check_shape(resource: &Resource, object: &Value) -> Result<(), Status> {
    shape_error(resource, object).map_or(Ok(()), |error| Err(unhandled(resource, &error)))
}

/// What the names of a resource's objects must look like.
fn name_rule(resource: &Resource) -> NameRule {
    match (resource.group.as_str(), resource.plural.as_str()) {
        ("", "namespaces") => NameRule::Label,
        ("", "services") => NameRule::Label1035,
        ("rbac.authorization.k8s.io", _) => NameRule::PathSegment,
        _ => NameRule::Subdomain,
    }
}
