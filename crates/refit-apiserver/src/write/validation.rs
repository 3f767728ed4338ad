//! Validation of whole objects.

mod built_in;
mod embedded;
mod scale;

use std::collections::BTreeSet;

use serde_json::Value;

use super::Scene;
use super::decode::{shape_error, unhandled};
use crate::definition;
use crate::field_error::{ErrorKind, FieldError, FieldErrors, MAX_ERRORS, REFUSAL_BYTES};
use crate::metadata::names::NameRule;
use crate::metadata::{self, text, validate_change};
use crate::resource::Resource;
use crate::schema::{validate, validate_lists};
use crate::status::{Qualified, Status};

/// Judges a new object.
pub(super) fn of_new(scene: &Scene<'_>, object: &Value) -> Result<(), Status> {
    let resource = scene.resource;
    check_shape(resource, object)?;
    scene.budget.take_bytes(REFUSAL_BYTES)?;
    let mut errors = type_errors(resource, object);
    if errors.is_empty() {
        errors = metadata::validate(object, resource.is_namespaced, name_rule(resource));
        errors.merge(finalizer_errors(resource, object));
        errors.merge(own_errors(scene, object, None, &errors));
    }
    refuse_if_any(resource, object, &errors)
}

/// Judges an object that replaces another.
pub(super) fn of_change(scene: &Scene<'_>, new: &Value, old: &Value) -> Result<(), Status> {
    let resource = scene.resource;
    check_shape(resource, new)?;
    scene.budget.take_bytes(REFUSAL_BYTES)?;
    let mut errors = metadata::validate(new, resource.is_namespaced, NameRule::PathSegment);
    errors.merge(validate_change(new, old));
    if resource.is("", "configmaps") || resource.is("", "secrets") {
        // The whole of these is judged again with every change, metadata included.
        errors.merge(metadata::validate(new, resource.is_namespaced, name_rule(resource)));
        errors.merge(finalizer_errors(resource, new));
    }
    let types = type_errors(resource, new);
    if types.is_empty() {
        // The real server's custom resources judge this a second time, and say it twice.
        errors.merge(validate_change(new, old));
        errors.merge(match scene.path.subresource.as_deref() {
            Some("status") if resource.is_custom() => status_errors(scene, new, old),
            _ => own_errors(scene, new, Some(old), &errors),
        });
    }
    errors.merge(types);
    refuse_if_any(resource, new, &errors)
}

fn refuse_if_any(resource: &Resource, object: &Value, errors: &FieldErrors) -> Result<(), Status> {
    match errors.said().as_slice() {
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
fn finalizer_errors(resource: &Resource, object: &Value) -> FieldErrors {
    if resource.is_custom() {
        return FieldErrors::default();
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
    let were: BTreeSet<&str> = old.into_iter().flat_map(metadata::finalizers).collect();
    let odd = metadata::finalizers(object).filter(|name| is_unqualified(name) && !were.contains(name));
    odd.take(MAX_ERRORS).map(|name| {
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
fn own_errors(scene: &Scene<'_>, new: &Value, old: Option<&Value>, before: &FieldErrors) -> FieldErrors {
    let resource = scene.resource;
    if definition::is_definition(resource) {
        return definition::validate(new, old, scene.budget);
    }
    if !resource.is_custom() {
        return built_in::errors(resource, new, old);
    }
    let mut errors = validate(&resource.schema, new, old, "", scene.budget);
    errors.merge(scale::errors(resource, new));
    errors.merge(embedded::errors(&resource.schema, new));
    let were_sound = old.is_none_or(|old| validate_lists(&resource.schema, old, scene.budget).is_empty());
    if were_sound {
        errors.merge(validate_lists(&resource.schema, new, scene.budget));
    }
    // What is wrong with metadata keeps the rules from running, too.
    let broken = rule_errors(scene, new, old, &[before, &errors]);
    errors.merge(broken);
    errors
}

/// What is wrong with the status of an object; the rest cannot have changed.
fn status_errors(scene: &Scene<'_>, new: &Value, old: &Value) -> FieldErrors {
    let resource = scene.resource;
    let mut errors = FieldErrors::default();
    if let (Some(schema), Some(status)) = (resource.schema.properties.get("status"), new.get("status")) {
        errors.merge(validate(schema, status, old.get("status"), "status", scene.budget));
    }
    errors.merge(scale::status_errors(resource, new));
    if validate_lists(&resource.schema, old, scene.budget).is_empty() {
        errors.merge(validate_lists(&resource.schema, new, scene.budget));
    }
    let broken = rule_errors(scene, new, Some(old), &[&errors]);
    errors.merge(broken);
    errors
}

/// The rules in CEL, which do not run on an object that the schema found malformed.
fn rule_errors(scene: &Scene<'_>, new: &Value, old: Option<&Value>, before: &[&FieldErrors]) -> FieldErrors {
    let resource = scene.resource;
    use ErrorKind::{NotSupported, Required, TooLong, TooMany, TypeInvalid};
    if resource.rules.is_empty() {
        return FieldErrors::default();
    }
    let blocks = |error: &FieldError| matches!(error.kind, NotSupported | Required | TooLong | TooMany | TypeInvalid);
    // Where errors were left out, nobody looked at all of the object.
    if before.iter().any(|errors| errors.is_closed() || errors.iter().any(blocks)) {
        let detail = "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";
        return FieldError::invalid("<nil>", Value::Null, detail).into();
    }
    resource.rules.validate(&resource.schema, new, old, scene.budget)
}

fn type_errors(resource: &Resource, object: &Value) -> FieldErrors {
    let expected = [("kind", resource.kind.clone()), ("apiVersion", resource.api_version())];
    let wrong = expected.into_iter().filter(|(name, expected)| object[name] != *expected);
    wrong.map(|(name, expected)| FieldError::invalid(name, &object[name], format!("must be {expected}"))).collect()
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
