//! What may change in the metadata of an object, and what may not.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{finalizers, is_being_deleted, maps, owners, text};
use crate::field_error::{FieldError, FieldErrors, Quoted};

/// What is wrong with the metadata of an object that replaces another. The version is judged before.
pub fn validate_change(new: &Value, old: &Value) -> FieldErrors {
    let mut errors = FieldErrors::default();
    if is_being_deleted(old) {
        errors.extend(new_finalizers(new, old));
    }
    if text(new, "resourceVersion").is_empty() {
        errors.push(unversioned(""));
    }
    for name in ["name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        let (new, old) = (&new["metadata"][name], &old["metadata"][name]);
        if new != old {
            errors.push(FieldError::invalid(format!("metadata.{name}"), new, "field is immutable"));
        }
    }
    errors.merge(maps(new));
    errors.merge(owners(&new["metadata"]["ownerReferences"]));
    errors
}

/// A write that must say which version it replaces, and does not.
pub fn unversioned(value: impl Into<Quoted>) -> FieldError {
    FieldError::invalid("metadata.resourceVersion", value, "must be specified for an update")
}

fn new_finalizers(new: &Value, old: &Value) -> Option<FieldError> {
    let before: BTreeSet<&str> = finalizers(old).collect();
    let after: BTreeSet<&str> = finalizers(new).collect();
    let added: Vec<String> = after.difference(&before).map(|name| format!("{name:?}")).collect();
    let detail = format!(
        "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
        added.join(", ")
    );
    (!added.is_empty()).then(|| FieldError::forbidden("metadata.finalizers", detail))
}
