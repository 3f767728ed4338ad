//! CustomResourceDefinitions: what is filled in, what is refused, and what their status says.
//!
//! A definition is judged as the real server judges it, with one gap: rules are not type-checked against the schema.

mod conditions;
mod defaults;
mod held;
mod names;
mod schema;
mod spec;
mod structural;
#[cfg(test)]
mod tests;
mod versions;
mod words;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::budget::Budget;
use crate::field_error::{ErrorKind, FieldError, FieldErrors, Quoted};
use crate::metadata::{finalizers, metadata_mut};
use crate::resource::Resource;

pub use conditions::{is_true, set_condition};
pub use held::held_bytes;
pub use names::accept_names;

/// Keeps a deleted definition until its objects are gone.
pub const CLEANUP_FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Whether the resource is CustomResourceDefinition itself.
pub fn is_definition(resource: &Resource) -> bool {
    resource.is("apiextensions.k8s.io", "customresourcedefinitions")
}

/// Whether the resources of a definition are served.
pub fn is_established(definition: &Value) -> bool {
    is_true(definition, "Established")
}

/// Fills in what a definition need not say.
pub fn set_defaults(definition: &mut Value) {
    let spec = &mut definition["spec"];
    let kind = spec["names"]["kind"].as_str().unwrap_or_default().to_owned();
    if let Some(names) = spec["names"].as_object_mut() {
        fill(names, "singular", kind.to_lowercase().into());
        fill(names, "listKind", format!("{kind}List").into());
    }
    if let Some(spec) = spec.as_object_mut() {
        fill(spec, "conversion", json!({"strategy": "None"}));
        // False says the same as nothing.
        if spec.get("preserveUnknownFields") == Some(&Value::Bool(false)) {
            spec.remove("preserveUnknownFields");
        }
    }
}

/// Writes down in which versions objects of the definition may be stored. A new definition begins its status here.
pub fn note_storage_version(definition: &mut Value) {
    let versions = definition["spec"]["versions"].as_array().into_iter().flatten();
    let storage =
        versions.into_iter().find(|version| version["storage"] == true).map(|version| version["name"].clone());
    let status = &mut definition["status"];
    if !status.is_object() {
        *status = json!({"conditions": null, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": []});
    }
    if !status["storedVersions"].is_array() {
        status["storedVersions"] = json!([]);
    }
    if let (Some(storage), Some(stored)) = (storage, status["storedVersions"].as_array_mut())
        && !stored.contains(&storage)
    {
        stored.push(storage);
    }
}

/// What is wrong with a definition.
pub fn validate(new: &Value, old: Option<&Value>, budget: &Budget) -> FieldErrors {
    // Versions are compared with each other, several times.
    let versions = list(&new["spec"]["versions"]).len();
    if budget.take_steps(versions.saturating_mul(versions)).is_err() {
        return FieldErrors::default();
    }
    let mut errors = spec::errors(new, old);
    errors.merge(versions::errors(new));
    errors.merge(schema::errors(new, old, budget));
    errors.merge(versions::stored_errors(new));
    errors.extend(spec::approval_error(new, old));
    errors
}

/// Says that the objects of the definition are about to go, and holds it until they did.
pub fn mark_for_deletion(definition: &mut Value, now: Timestamp) {
    if !finalizers(definition).any(|name| name == CLEANUP_FINALIZER) {
        let held: Vec<Value> = finalizers(definition).chain([CLEANUP_FINALIZER]).map(Value::from).collect();
        if let Some(metadata) = metadata_mut(definition) {
            metadata.insert("finalizers".to_owned(), held.into());
        }
    }
    let message = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";
    set_condition(definition, "Terminating", true, "InstanceDeletionPending", message, now);
}

/// Says that the objects of the definition are going.
pub fn mark_in_deletion(definition: &mut Value, now: Timestamp) {
    let message = "CustomResource deletion is in progress";
    set_condition(definition, "Terminating", true, "InstanceDeletionInProgress", message, now);
}

fn fill(members: &mut serde_json::Map<String, Value>, name: &str, value: Value) {
    if members.get(name).is_none_or(|known| known.is_null() || *known == "") {
        members.insert(name.to_owned(), value);
    }
}

/// A text in a JSON value; empty where there is none.
fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The items of a list; none where there is no list.
fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// An error that quotes a value in another form than its JSON.
fn quoted(field: impl Into<String>, value: &str, detail: &str) -> FieldError {
    FieldError::new(ErrorKind::Invalid, field, Some(Quoted::as_it_is(value)), detail)
}

/// Where a part of the versions is, as messages say it: the real server keeps what all versions have in common once,
/// above them.
fn version_path(versions: &[Value], index: usize, part: &str, common: &str) -> String {
    let is_common = versions.iter().all(|version| {
        version.get(part).is_some_and(|value| !value.is_null()) && version.get(part) == versions[0].get(part)
    });
    if is_common { format!("spec.{common}") } else { format!("spec.versions[{index}].{part}") }
}
