//! Everything that the decision about a Cluster may look at.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::core::ObjectMeta;
use refit_api::cluster::{Cluster, ClusterReplicasStatus, Machine, MachineDeployment};
use refit_api::owners;
use refit_api::resource::CustomKind;
use refit_api::vocabulary::labels;

use super::counters;
use crate::effect::Target;
use crate::machine::{Connection, External};

/// Everything that the decision about a Cluster may look at; what is not here cannot influence it.
#[derive(Debug, Clone)]
pub struct Observed {
    pub now: Timestamp,
    pub cluster: Cluster,
    pub infrastructure: External,
    pub control_plane: External,
    pub connection: Connection,
    /// The Machines of the control plane. Not looked for where a control plane is referred to.
    pub control_plane_machines: Vec<Machine>,
    /// The MachineDeployments, in the order of their names.
    pub workers: Vec<Worker>,
    /// What the MachineSets that belong to no MachineDeployment say of their machines, and the worker Machines that
    /// belong to nobody.
    pub standalone: Vec<ClusterReplicasStatus>,
    /// What has to go before the Cluster does. Looked for only while it is being deleted.
    pub descendants: Descendants,
}

/// What a Cluster sums up of a MachineDeployment.
#[derive(Debug, Clone, PartialEq)]
pub struct Worker {
    pub metadata: ObjectMeta,
    pub conditions: Vec<Condition>,
    /// What it says of its machines.
    pub counted: ClusterReplicasStatus,
}

/// What belongs to a Cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Descendants {
    pub machine_deployments: Vec<Descendant>,
    pub machine_sets: Vec<Descendant>,
    pub machines: Vec<Descendant>,
}

/// One object that belongs to a Cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Descendant {
    pub target: Target,
    pub is_going: bool,
    /// It goes with somebody else.
    pub is_controlled: bool,
    pub is_control_plane: bool,
}

impl Observed {
    pub(super) fn has_control_plane_node(&self) -> bool {
        self.control_plane_machines.iter().any(|machine| machine.status.node_ref.is_some())
    }

    pub(super) fn name(&self) -> &str {
        self.cluster.metadata.name.as_deref().unwrap_or_default()
    }
}

impl Worker {
    pub fn of(deployment: &MachineDeployment) -> Self {
        Self {
            metadata: deployment.metadata.clone(),
            conditions: deployment.status.conditions.clone(),
            counted: counters::of_machine_deployment(deployment),
        }
    }
}

impl Descendant {
    pub fn of<K: CustomKind>(object: &K) -> Self {
        let metadata = object.meta();
        Self {
            target: Target::of(object),
            is_going: metadata.deletion_timestamp.is_some(),
            is_controlled: owners::controller_of(metadata.owner_references.as_deref().unwrap_or_default()).is_some(),
            is_control_plane: metadata.labels.as_ref().is_some_and(|own| own.contains_key(labels::CONTROL_PLANE)),
        }
    }
}
