//! Who owns what, as patches: Clusters own what belongs to them, controllers own what they made.
//!
//! A list of owners or finalizers is replaced as a whole by a patch. Each such patch is made for the version that was
//! read, so that the list of somebody who was faster is not lost.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ManagedFieldsEntry, OwnerReference};
use kube::core::ObjectMeta;
use refit_api::cluster::Cluster;
use refit_api::owners;
use refit_api::resource::CustomKind;
use serde_json::{Value, json};

use crate::effect::{Effect, Patch, Target};

/// An owner that cannot be named, as it was not read from the API.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind} {name:?} has no name or no uid, so nothing can belong to it")]
pub struct NoIdentity {
    pub kind: &'static str,
    pub name: String,
}

/// The reference by which `owner` controls another object.
pub fn controller<K: CustomKind>(owner: &K) -> Result<OwnerReference, NoIdentity> {
    owners::controller_ref(owner).filter(|reference| !reference.uid.is_empty()).ok_or_else(|| no_identity(owner))
}

/// The reference by which `owner` owns another object without controlling it.
pub fn owner<K: CustomKind>(owner: &K) -> Result<OwnerReference, NoIdentity> {
    owner.owner_ref(&()).filter(|reference| !reference.uid.is_empty()).ok_or_else(|| no_identity(owner))
}

fn no_identity<K: CustomKind>(owner: &K) -> NoIdentity {
    NoIdentity { kind: K::DEFINITION.kind, name: owner.meta().name.clone().unwrap_or_default() }
}

/// Puts the finalizer on an object that lacks it. Nothing to do for one that is going: it would be refused.
pub fn add_finalizer<K: CustomKind>(object: &K, finalizer: &str) -> Option<Effect> {
    let metadata = object.meta();
    let mut finalizers = metadata.finalizers.clone().unwrap_or_default();
    if metadata.deletion_timestamp.is_some() || finalizers.iter().any(|existing| existing == finalizer) {
        return None;
    }
    finalizers.push(finalizer.to_owned());
    Some(versioned(Target::of(object), metadata, json!({ "metadata": { "finalizers": finalizers } })))
}

/// Takes the finalizer off an object that has it.
pub fn remove_finalizer<K: CustomKind>(object: &K, finalizer: &str) -> Option<Effect> {
    let metadata = object.meta();
    let before = metadata.finalizers.clone().unwrap_or_default();
    let after: Vec<&String> = before.iter().filter(|existing| *existing != finalizer).collect();
    let is_there = after.len() < before.len();
    is_there.then(|| versioned(Target::of(object), metadata, json!({ "metadata": { "finalizers": after } })))
}

/// Whether what an object owns is to stay when it goes. The garbage collector sets that free, and nobody deletes it.
pub fn leaves_orphans(metadata: &ObjectMeta) -> bool {
    metadata.finalizers.iter().flatten().any(|finalizer| finalizer == owners::ORPHAN_FINALIZER)
}

/// Makes `reference` an owner of the object, if exactly that is not so yet.
pub fn ensure_owner<K: CustomKind>(object: &K, reference: OwnerReference) -> Option<Effect> {
    let owners = object.meta().owner_references.as_deref().unwrap_or_default();
    let merge = with_owner(owners, reference)?;
    Some(versioned(Target::of(object), object.meta(), merge))
}

/// Takes the owner of this uid off the object, if it is one.
pub fn remove_owner<K: CustomKind>(object: &K, uid: &str) -> Option<Effect> {
    let owners = object.meta().owner_references.as_deref().unwrap_or_default();
    let left: Vec<&OwnerReference> = owners.iter().filter(|owner| owner.uid != uid).collect();
    let merge = json!({ "metadata": { "ownerReferences": left } });
    (left.len() < owners.len()).then(|| versioned(Target::of(object), object.meta(), merge))
}

/// Makes the Cluster an owner of a provider's template, if exactly that is not so yet.
///
/// An object whose owners cannot be read is left alone: replacing them would lose them.
pub fn own_template(template: &Value, cluster: &Cluster) -> Result<Option<Effect>, NoIdentity> {
    let reference = owner(cluster)?;
    let Ok(metadata) = serde_json::from_value::<ObjectMeta>(template["metadata"].clone()) else { return Ok(None) };
    let merge = with_owner(metadata.owner_references.as_deref().unwrap_or_default(), reference);
    Ok(merge.map(|merge| versioned(Target::of_value(template), &metadata, merge)))
}

/// Replaces the managed fields, which is done only to those that were read.
pub fn replace_managed_fields(target: Target, metadata: &ObjectMeta, entries: &[ManagedFieldsEntry]) -> Effect {
    versioned(target, metadata, json!({ "metadata": { "managedFields": entries } }))
}

fn with_owner(existing: &[OwnerReference], reference: OwnerReference) -> Option<Value> {
    if owners::contains_exact(existing, &reference) {
        return None;
    }
    let mut references = existing.to_vec();
    owners::ensure(&mut references, reference);
    Some(json!({ "metadata": { "ownerReferences": references } }))
}

/// A patch for exactly the version that was read.
fn versioned(target: Target, metadata: &ObjectMeta, merge: Value) -> Effect {
    let resource_version = metadata.resource_version.clone();
    Effect::Patch(Patch { resource_version, ..Patch::object(target, merge) })
}

#[cfg(test)]
mod tests {
    use refit_api::vocabulary::finalizers;

    use super::*;
    use crate::testing::{cluster, machine_set};

    #[test]
    fn a_finalizer_is_put_on_once_and_never_on_what_is_going() {
        let mut set = machine_set("ms", 1);
        set.metadata.finalizers = Some(vec!["theirs".to_owned()]);
        let Some(Effect::Patch(patch)) = add_finalizer(&set, finalizers::MACHINE_SET) else { panic!("it must patch") };
        assert_eq!(patch.merge["metadata"]["finalizers"], json!(["theirs", finalizers::MACHINE_SET]));
        assert_eq!(patch.resource_version, set.metadata.resource_version);
        assert_eq!(remove_finalizer(&set, finalizers::MACHINE_SET), None);
        set.metadata.finalizers = Some(vec![finalizers::MACHINE_SET.to_owned()]);
        assert_eq!(add_finalizer(&set, finalizers::MACHINE_SET), None);
        set.metadata.finalizers = None;
        set.metadata.deletion_timestamp = set.metadata.creation_timestamp.clone();
        assert_eq!(add_finalizer(&set, finalizers::MACHINE_SET), None);
    }

    #[test]
    fn templates_get_the_cluster_as_owner_once() {
        let cluster = cluster();
        let mut template = json!({ "kind": "T", "metadata": { "name": "t", "resourceVersion": "4" } });
        let Ok(Some(Effect::Patch(patch))) = own_template(&template, &cluster) else { panic!("it must patch") };
        assert_eq!(patch.resource_version.as_deref(), Some("4"));
        template["metadata"]["ownerReferences"] = patch.merge["metadata"]["ownerReferences"].clone();
        assert_eq!(own_template(&template, &cluster), Ok(None));
        template["metadata"]["ownerReferences"] = json!("nonsense");
        assert_eq!(own_template(&template, &cluster), Ok(None));
    }

    #[test]
    fn nothing_can_belong_to_what_has_no_uid() {
        let mut set = machine_set("ms", 1);
        set.metadata.uid = Some(String::new());
        let words = "MachineSet \"ms\" has no name or no uid, so nothing can belong to it";
        assert_eq!(controller(&set).expect_err("it has no uid").to_string(), words);
        set.metadata.uid = None;
        assert_eq!(owner(&set).expect_err("it has no uid").to_string(), words);
    }
}
