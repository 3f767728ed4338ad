//! Objects of providers, made from their templates.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ManagedFieldsEntry, OwnerReference};
use refit_api::cluster::ContractVersionedObjectReference;
use refit_api::contract::{ContractField, ContractVersion, FieldTypeError, get_object, kind_from_template};
use refit_api::owners::{self, OwnerKind};
use refit_api::vocabulary::annotations::{CLONED_FROM_GROUP_KIND, CLONED_FROM_NAME, UPDATE_IN_PROGRESS};
use refit_api::vocabulary::labels::CLUSTER_NAME;
use refit_api::vocabulary::managers;
use serde_json::{Value, json};

use crate::field_ownership::is_spec_applied;

/// A template, as it was read, and the reference that led to it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Template<'a> {
    pub reference: &'a ContractVersionedObjectReference,
    pub object: &'a Value,
}

/// What a new object gets beside what its template says.
#[derive(Debug, Clone, PartialEq)]
pub struct Identity<'a> {
    pub namespace: Option<&'a str>,
    pub name: &'a str,
    pub cluster_name: &'a str,
    pub labels: &'a BTreeMap<String, String>,
    pub annotations: &'a BTreeMap<String, String>,
    pub owner: &'a OwnerReference,
}

/// Why nothing can be made from a template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CloneError {
    #[error("{kind} {name} is no template")]
    Malformed { kind: String, name: String, source: FieldTypeError },
    #[error("{kind} {name} was read for a reference to {expected}")]
    WrongKind { kind: String, name: String, expected: String },
    #[error("{kind} {name} has no uid: it was not read from the API")]
    NoUid { kind: String, name: String },
    #[error("{kind} {name} cannot become {expected}: an object never changes its kind")]
    KindChanges { kind: String, name: String, expected: String },
}

/// A new object, whole.
pub fn new_object(template: Template<'_>, identity: &Identity<'_>) -> Result<Value, CloneError> {
    let mut object = clone(template)?;
    let own = |field: &str| string_map(&template.object["spec"]["template"]["metadata"][field]);
    let mut labels = own("labels");
    labels.extend(identity.labels.clone());
    labels.insert(CLUSTER_NAME.to_owned(), identity.cluster_name.to_owned());
    let mut annotations = own("annotations");
    annotations.extend(identity.annotations.clone());
    annotations.extend(cloned_from(template.reference));
    object["metadata"] = json!({
        "name": identity.name,
        "labels": labels,
        "annotations": annotations,
        "ownerReferences": [identity.owner],
    });
    if let Some(namespace) = identity.namespace {
        object["metadata"]["namespace"] = json!(namespace);
    }
    Ok(object)
}

/// An object that is there, as the template of its new MachineSet wants it, with the mark of an update.
///
/// Labels and other annotations are not in it: they are another manager's. `owner` is its owner until a Machine is.
pub fn updated_object(template: Template<'_>, existing: &Value, owner: &OwnerReference) -> Result<Value, CloneError> {
    let mut object = clone(template)?;
    let existing_kind = text(existing, "/kind");
    if object["kind"] != existing_kind || group(&object) != group(existing) {
        let expected = text(&object, "/kind").to_owned();
        return Err(named(existing, |kind, name| CloneError::KindChanges { kind, name, expected }));
    }
    let Some(uid) = existing.pointer("/metadata/uid").and_then(Value::as_str) else {
        return Err(named(existing, |kind, name| CloneError::NoUid { kind, name }));
    };
    let mut annotations = cloned_from(template.reference);
    annotations.insert(UPDATE_IN_PROGRESS.to_owned(), String::new());
    object["metadata"] = json!({ "name": existing["metadata"]["name"], "uid": uid, "annotations": annotations });
    if let Some(namespace) = existing["metadata"].get("namespace") {
        object["metadata"]["namespace"] = namespace.clone();
    }
    if !has_machine(&owners_of(existing)) {
        object["metadata"]["ownerReferences"] = json!([owner]);
    }
    Ok(object)
}

/// Whether an object that is there is what the template of its new MachineSet wants: nothing is to be written but marks.
pub fn is_made_of(template: Template<'_>, existing: &Value) -> bool {
    let Ok(wanted) = clone(template) else { return false };
    let entries = existing["metadata"].get("managedFields").cloned();
    let entries: Vec<ManagedFieldsEntry> = entries.and_then(|it| serde_json::from_value(it).ok()).unwrap_or_default();
    let is_noted = |(key, value): (String, String)| existing["metadata"]["annotations"][key] == value.as_str();
    wanted["kind"] == existing["kind"]
        && group(&wanted) == group(existing)
        && cloned_from(template.reference).into_iter().all(is_noted)
        && is_spec_applied(&wanted, existing, Some(&entries), managers::MACHINE_SET)
}

/// The reference to an object.
pub fn reference_to(object: &Value) -> ContractVersionedObjectReference {
    ContractVersionedObjectReference {
        api_group: group(object).to_owned(),
        kind: text(object, "/kind").to_owned(),
        name: text(object, "/metadata/name").to_owned(),
    }
}

/// The owners of an object. Nonsense in their place is no owner.
pub fn owners_of(object: &Value) -> Vec<OwnerReference> {
    object
        .pointer("/metadata/ownerReferences")
        .cloned()
        .and_then(|list| serde_json::from_value(list).ok())
        .unwrap_or_default()
}

/// Whether a Machine has taken the object over.
pub fn has_machine(references: &[OwnerReference]) -> bool {
    owners::find(references, OwnerKind { group: refit_api::cluster::GROUP, kind: "Machine" }).is_some()
}

/// Type and spec of what a template makes.
fn clone(template: Template<'_>) -> Result<Value, CloneError> {
    let Template { reference, object } = template;
    if object["kind"] != reference.kind.as_str() {
        let expected = reference.kind.clone();
        return Err(named(object, |kind, name| CloneError::WrongKind { kind, name, expected }));
    }
    let path = ContractField::Template.path(ContractVersion::V1Beta2);
    let content = get_object(object, path)
        .map_err(|source| named(object, |kind, name| CloneError::Malformed { kind, name, source }))?;
    let mut made = json!({ "apiVersion": object["apiVersion"], "kind": kind_from_template(&reference.kind) });
    if let Some(spec) = content.and_then(|content| content.get("spec")) {
        made["spec"] = spec.clone();
    }
    Ok(made)
}

fn cloned_from(reference: &ContractVersionedObjectReference) -> BTreeMap<String, String> {
    BTreeMap::from([
        (CLONED_FROM_NAME.to_owned(), reference.name.clone()),
        (CLONED_FROM_GROUP_KIND.to_owned(), format!("{}.{}", reference.kind, reference.api_group)),
    ])
}

fn named(object: &Value, error: impl FnOnce(String, String) -> CloneError) -> CloneError {
    error(text(object, "/kind").to_owned(), text(object, "/metadata/name").to_owned())
}

fn string_map(value: &Value) -> BTreeMap<String, String> {
    let entry = |(key, value): (&String, &Value)| value.as_str().map(|value| (key.clone(), value.to_owned()));
    value.as_object().into_iter().flatten().filter_map(entry).collect()
}

fn group(object: &Value) -> &str {
    text(object, "/apiVersion").split_once('/').map_or("", |(group, _)| group)
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}
