//! What the provider knows of the objects of Cluster API. Everything else about them may change without it noticing.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::ResourceExt;
use refit_api::cluster::{Cluster, ContractVersionedObjectReference, GROUP, Machine};
use refit_api::conditions::{NewCondition, PausedBy, not_paused, paused};
use refit_api::owners::{self, OwnerKind};
use refit_api::vocabulary::{annotations, labels};

/// An object in the same namespace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reference {
    /// Its kind, which names its group, too: no other provider has kinds of these names.
    pub kind: String,
    /// Its name.
    pub name: String,
}

impl Reference {
    fn of(reference: &ContractVersionedObjectReference) -> Self {
        Self { kind: reference.kind.clone(), name: reference.name.clone() }
    }
}

/// What counts of a Machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineFacts {
    /// Another Machine of the same name has another.
    pub uid: String,
    /// The name of its Cluster.
    pub cluster: String,
    /// The Kubernetes version that it should run.
    pub version: Option<String>,
    /// The secret with its bootstrap data, once that is there.
    pub data_secret: Option<String>,
    /// Its host.
    pub infrastructure: Reference,
    /// Where its bootstrap data comes from.
    pub bootstrap: Option<Reference>,
    /// Whether it is part of the control plane.
    pub is_control_plane: bool,
}

impl MachineFacts {
    /// What counts of this one.
    pub fn of(machine: &Machine) -> Self {
        let spec = &machine.spec;
        Self {
            uid: machine.uid().unwrap_or_default(),
            cluster: spec.cluster_name.clone(),
            version: spec.version.clone(),
            data_secret: spec.bootstrap.data_secret_name.clone(),
            infrastructure: Reference::of(&spec.infrastructure_ref),
            bootstrap: spec.bootstrap.config_ref.as_ref().map(Reference::of),
            is_control_plane: machine.labels().contains_key(labels::CONTROL_PLANE),
        }
    }
}

/// What counts of a Cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClusterFacts {
    /// Everything in it stays as it is.
    pub is_paused: bool,
    /// Its infrastructure is there.
    pub is_provisioned: bool,
    /// Its network.
    pub infrastructure: Option<Reference>,
    /// Its control plane.
    pub control_plane: Option<Reference>,
}

impl ClusterFacts {
    /// What counts of this one.
    pub fn of(cluster: &Cluster) -> Self {
        Self {
            is_paused: cluster.spec.paused == Some(true),
            is_provisioned: cluster.status.initialization.infrastructure_provisioned == Some(true),
            infrastructure: cluster.spec.infrastructure_ref.as_ref().map(Reference::of),
            control_plane: cluster.spec.control_plane_ref.as_ref().map(Reference::of),
        }
    }
}

/// The Machine that an object belongs to.
pub fn owner_machine(object: &impl ResourceExt) -> Option<&OwnerReference> {
    owner(object.owner_references(), "Machine")
}

/// The name of the Cluster that an object belongs to, by its owner or its label.
pub fn cluster_of(object: &impl ResourceExt) -> Option<&str> {
    let label = || object.labels().get(labels::CLUSTER_NAME).map(String::as_str);
    owner(object.owner_references(), "Cluster").map(|owner| owner.name.as_str()).or_else(label)
}

fn owner<'a>(references: &'a [OwnerReference], kind: &str) -> Option<&'a OwnerReference> {
    owners::find(references, OwnerKind { group: GROUP, kind })
}

/// The condition `Paused`, and whether it holds.
pub fn pause(kind: &str, object: &impl ResourceExt, cluster: Option<&ClusterFacts>) -> (bool, NewCondition) {
    let by_cluster = cluster.is_some_and(|cluster| cluster.is_paused);
    let by_annotation = object.annotations().contains_key(annotations::PAUSED);
    match (by_cluster, by_annotation) {
        (false, false) => (false, not_paused()),
        (true, false) => (true, paused(kind, PausedBy::Cluster)),
        (false, true) => (true, paused(kind, PausedBy::Annotation)),
        (true, true) => (true, paused(kind, PausedBy::ClusterAndAnnotation)),
    }
}
