//! Objects of providers that belong to a Cluster.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use refit_api::cluster::Cluster;
use refit_api::owners;
use refit_api::vocabulary::labels;
use serde_json::{Map, Value, json};

use crate::effect::{Effect, Patch, Target};
use crate::machine::cluster_ref;

/// Makes the Cluster an owner of the object, and labels it. Nothing if that is so. Owners that cannot be read are left
/// alone: replacing them would lose them.
pub(super) fn take_over(cluster: &Cluster, object: &Value) -> Option<Effect> {
    let mut metadata = Map::new();
    let name = cluster.metadata.name.as_deref().unwrap_or_default();
    let label = object.pointer("/metadata/labels").and_then(|found| found.get(labels::CLUSTER_NAME));
    if label.and_then(Value::as_str) != Some(name) {
        metadata.insert("labels".to_owned(), json!({ labels::CLUSTER_NAME: name }));
    }
    let mut resource_version = None;
    if let Some(owners) = owners_after(cluster, object) {
        metadata.insert("ownerReferences".to_owned(), json!(owners));
        resource_version = object.pointer("/metadata/resourceVersion").and_then(Value::as_str).map(str::to_owned);
    }
    let is_due = !metadata.is_empty() && !is_going(object);
    let patch = Patch::object(Target::of_value(object), json!({ "metadata": metadata }));
    is_due.then_some(Effect::Patch(Patch { resource_version, ..patch }))
}

fn owners_after(cluster: &Cluster, object: &Value) -> Option<Vec<OwnerReference>> {
    let found = object.pointer("/metadata/ownerReferences").filter(|found| !found.is_null());
    let mut references: Vec<OwnerReference> = match found {
        Some(found) => serde_json::from_value(found.clone()).ok()?,
        None => Vec::new(),
    };
    let own = cluster_ref(cluster)?;
    if owners::contains(&references, &own) && references.iter().any(|reference| reference.uid == own.uid) {
        return None;
    }
    owners::ensure(&mut references, own);
    Some(references)
}

/// Whether the object is being deleted.
pub(super) fn is_going(object: &Value) -> bool {
    object.pointer("/metadata/deletionTimestamp").is_some_and(|time| !time.is_null())
}
