//! Whose a KubeadmConfig is, and whose its Secret.

use kube::core::ObjectMeta;
use refit_api::bootstrap::{GROUP, KubeadmConfig};
use refit_api::cluster::{GROUP as CLUSTER_GROUP, Machine};
use refit_api::owners::{self, OwnerKind, controller_of};

/// The Machine that a KubeadmConfig is for, as its owner references have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    pub name: String,
    pub uid: String,
}

/// The Secret of the KubeadmConfig's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DataSecret {
    Missing,
    /// The KubeadmConfig controls it: the data is made.
    Own,
    /// The Machine uses it, and nobody else controls it: objects were restored, and lost who owns whom.
    Restored,
    /// It belongs to an earlier KubeadmConfig of the name, and goes with that.
    Former,
    /// Somebody else's.
    Foreign,
}

/// The Machine that the KubeadmConfig is for. Nothing until the Machine controller has said so.
pub fn owner_of(config: &KubeadmConfig) -> Option<Owner> {
    let references = config.metadata.owner_references.as_deref().unwrap_or_default();
    let reference = owners::find(references, OwnerKind { group: CLUSTER_GROUP, kind: "Machine" })?;
    Some(Owner { name: reference.name.clone(), uid: reference.uid.clone() })
}

/// Whether this is the Machine that is meant, and not another one of its name.
pub fn owns(machine: &Machine, owner: &Owner) -> bool {
    machine.metadata.uid.as_ref() == Some(&owner.uid)
}

/// Whose the Secret of the KubeadmConfig's name is.
pub fn data_secret(config: &KubeadmConfig, machine: &Machine, secret: Option<&ObjectMeta>) -> DataSecret {
    let Some(secret) = secret else { return DataSecret::Missing };
    let is_used = machine.spec.bootstrap.data_secret_name == secret.name;
    match controller_of(secret.owner_references.as_deref().unwrap_or_default()) {
        Some(owner) if Some(&owner.uid) == config.metadata.uid.as_ref() => DataSecret::Own,
        Some(owner) if is_config(&owner.api_version, &owner.kind) && is_used => DataSecret::Restored,
        Some(owner) if is_config(&owner.api_version, &owner.kind) => DataSecret::Former,
        None if is_used => DataSecret::Restored,
        Some(_) | None => DataSecret::Foreign,
    }
}

fn is_config(api_version: &str, kind: &str) -> bool {
    api_version.split_once('/').is_some_and(|(group, _)| group == GROUP) && kind == "KubeadmConfig"
}
