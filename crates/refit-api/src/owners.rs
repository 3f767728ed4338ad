//! Owner references: who made an object and with whom it goes.
//!
//! Two references are to the same owner if group, kind and name agree. The version of the API is left out, as it
//! changes when a controller is upgraded, and so is the uid, unless a function says otherwise.

#[cfg(test)]
mod tests;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::Resource;

/// The finalizer on what is deleted with `--cascade=orphan`. The API server puts it on, and the garbage collector takes it off
/// when what the object owned is set free.
pub const ORPHAN_FINALIZER: &str = "orphan";

/// A kind of owner, whatever its version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnerKind<'a> {
    pub group: &'a str,
    pub kind: &'a str,
}

impl OwnerKind<'_> {
    fn is_of(&self, reference: &OwnerReference) -> bool {
        group_of(&reference.api_version) == Some(self.group) && reference.kind == self.kind
    }
}

/// The reference by which `owner` controls another object. Nothing if the owner has no name or uid yet.
///
/// It also blocks the owner's deletion in the foreground, as Go's controllers have it.
pub fn controller_ref<K: Resource<DynamicType = ()>>(owner: &K) -> Option<OwnerReference> {
    Some(OwnerReference { block_owner_deletion: Some(true), ..owner.controller_owner_ref(&())? })
}

/// Adds the reference, or puts it in the place of one to the same owner: a new API version or uid is taken over.
pub fn ensure(owners: &mut Vec<OwnerReference>, owner: OwnerReference) {
    match owners.iter_mut().find(|existing| is_same_owner(existing, &owner)) {
        Some(existing) => *existing = owner,
        None => owners.push(owner),
    }
}

/// Puts `new` in the place of the reference with the uid `old_uid`, or adds it if there is none.
///
/// Only the uid counts: an owner that was deleted and made anew under its old name is another one.
pub fn replace(owners: &mut Vec<OwnerReference>, old_uid: &str, new: OwnerReference) {
    match owners.iter_mut().find(|existing| existing.uid == old_uid) {
        Some(existing) => *existing = new,
        None => owners.push(new),
    }
}

/// Takes away the first reference to the same owner.
pub fn remove(owners: &mut Vec<OwnerReference>, owner: &OwnerReference) {
    if let Some(index) = owners.iter().position(|existing| is_same_owner(existing, owner)) {
        owners.remove(index);
    }
}

/// Whether there is a reference to the same owner.
pub fn contains(owners: &[OwnerReference], owner: &OwnerReference) -> bool {
    owners.iter().any(|existing| is_same_owner(existing, owner))
}

/// Whether exactly this reference is there: version, uid and the controller flag included.
pub fn contains_exact(owners: &[OwnerReference], owner: &OwnerReference) -> bool {
    let identity = |o: &OwnerReference| {
        (o.api_version.clone(), o.kind.clone(), o.name.clone(), o.uid.clone(), o.controller.unwrap_or_default())
    };
    owners.iter().any(|existing| identity(existing) == identity(owner))
}

/// The owner that controls the object.
pub fn controller_of(owners: &[OwnerReference]) -> Option<&OwnerReference> {
    owners.iter().find(|owner| owner.controller == Some(true))
}

/// Whether the controller has this uid. This is the strict form, for everything that deletes or counts.
pub fn is_controlled_by_uid(owners: &[OwnerReference], uid: &str) -> bool {
    controller_of(owners).is_some_and(|controller| controller.uid == uid)
}

/// Whether the controller is of this kind and name, in whatever incarnation.
pub fn is_controlled_by_name(owners: &[OwnerReference], kind: OwnerKind<'_>, name: &str) -> bool {
    controller_of(owners).is_some_and(|controller| kind.is_of(controller) && controller.name == name)
}

/// Whether any owner is of this kind and name.
pub fn is_owned_by_name(owners: &[OwnerReference], kind: OwnerKind<'_>, name: &str) -> bool {
    owners.iter().any(|owner| kind.is_of(owner) && owner.name == name)
}

/// The first owner of this kind.
pub fn find<'a>(owners: &'a [OwnerReference], kind: OwnerKind<'_>) -> Option<&'a OwnerReference> {
    owners.iter().find(|owner| kind.is_of(owner))
}

/// References whose `apiVersion` cannot be read are the same as nothing.
fn is_same_owner(a: &OwnerReference, b: &OwnerReference) -> bool {
    let group = group_of(&a.api_version);
    group.is_some() && group == group_of(&b.api_version) && a.kind == b.kind && a.name == b.name
}

/// The group of an `apiVersion`: empty for Kubernetes's core, nothing if there is more than one slash.
fn group_of(api_version: &str) -> Option<&str> {
    match api_version.split_once('/') {
        None => Some(""),
        Some((_, version)) if version.contains('/') => None,
        Some((group, _)) => Some(group),
    }
}
