//! Everything that the decision about a Machine may look at.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Node;
use refit_api::cluster::{Cluster, Machine, MachineDeployment, MachineSet};
use refit_api::contract::{ContractField, ContractVersion, get_str};
use refit_api::hooks::{CanonicalName, UpdateMachineResponse};
use serde_json::Value;

use super::errand::Call;
use super::quiet::Quiet;
use crate::coverage::ContentHash;

/// Everything that the decision about a Machine may look at; what is not here cannot influence it.
#[derive(Debug, Clone)]
pub struct Observed {
    pub now: Timestamp,
    pub machine: Machine,
    pub cluster: Cluster,
    /// The MachineSet that owns the Machine.
    pub machine_set: Option<MachineSet>,
    /// The MachineDeployment that owns the MachineSet.
    pub machine_deployment: Option<MachineDeployment>,
    /// What the Cluster names as its control plane.
    pub control_plane: External,
    pub infrastructure: External,
    pub bootstrap: External,
    /// The Node with [`Observed::provider_id`].
    pub node: NodeSeen,
    pub connection: Connection,
    /// How many control-plane Machines of the Cluster are not being deleted.
    pub active_control_plane_machines: usize,
    /// How far the drain of the Node is, if this process has looked.
    pub drain: Option<Drain>,
    /// Which volumes the Node still has, if this process has looked.
    pub volumes: Option<Volumes>,
    /// Why the Node could not be deleted, if this process has tried.
    pub node_deletion_error: Option<String>,
    /// Who can be asked to update a Machine.
    pub updaters: Updaters,
    /// The last answer of an updater that this process has got. One to an outdated call is not looked at.
    pub answer: Option<Answer>,
    /// Whether the host's object is what the template of the MachineSet makes of it; no where nobody knows.
    pub infrastructure_is_wanted: bool,
    /// The same of the bootstrap configuration.
    pub bootstrap_is_wanted: bool,
    /// The hash of what the objects of the Machine ask for, where the shell knows it.
    pub target_hash: Option<ContentHash>,
    /// What the status does not say, because it will pass by itself, and since when.
    pub quiet: Option<Quiet>,
    pub settings: Settings,
}

/// An object of a provider, or why there is none.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum External {
    /// Nothing refers to one.
    #[default]
    NotReferenced,
    Found {
        object: Value,
        contract: ContractVersion,
    },
    /// Something refers to it, and it is not there.
    Missing,
    /// Nobody knows whether it is there.
    Unreadable {
        why: String,
    },
}

/// The Node of a Machine, or why there is none.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum NodeSeen {
    /// Nobody knows yet what to look for.
    #[default]
    NotLookedFor,
    Found(Box<Node>),
    Missing,
    /// There is no connection to the workload cluster at the moment.
    NotConnected,
    /// The workload cluster was asked, and something went wrong.
    Unreadable {
        why: String,
    },
}

/// How the connection to the workload cluster has been.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Connection {
    pub last_probe_success: Option<Timestamp>,
    pub consecutive_failures: u32,
}

/// How far the drain of a Node is. Its state is the [outcome](super::drain::DrainPlan::outcome) of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drain {
    pub at: Timestamp,
    pub state: DrainState,
}

/// What came of the last look at a drain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DrainState {
    Done,
    /// Pods are left. The words say which, and what holds them.
    InProgress {
        words: String,
    },
    Failed {
        why: String,
    },
}

/// Which volumes a Node still has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Volumes {
    pub at: Timestamp,
    pub state: VolumesState,
}

/// What came of the last look at the volumes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VolumesState {
    Detached,
    /// Some are left. The words list them, a line for each sort.
    Attached {
        words: String,
    },
    Failed {
        why: String,
    },
}

/// Who can be asked to update a Machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Updaters {
    /// The handlers of UpdateMachine, in the order of the extensions.
    Registered(Vec<CanonicalName>),
    /// The extensions have not been discovered yet.
    NotDiscovered,
}

/// What an updater answered, to what and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub call: Call,
    /// What users wanted when it was asked, as in [`Errand::Ask`](super::Errand::Ask).
    pub about: ContentHash,
    pub at: Timestamp,
    /// The response, or why there is none. A failure policy does not make a response of a failure.
    pub response: Result<UpdateMachineResponse, String>,
}

/// What the user chose when the controller was started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// For how long the last state of a Node is shown after its cluster stopped answering.
    pub remote_conditions_grace_period: SignedDuration,
    /// Whether `spec.taints` reach the Node.
    pub propagate_taints: bool,
    /// Labels of the Machine that reach the Node besides those that always do.
    pub synced_labels: BTreeSet<String>,
    /// Annotations of the Machine that reach the Node besides those that always do.
    pub synced_annotations: BTreeSet<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            remote_conditions_grace_period: SignedDuration::from_mins(5),
            propagate_taints: false,
            synced_labels: BTreeSet::new(),
            synced_annotations: BTreeSet::new(),
        }
    }
}

impl Observed {
    /// What to look for the Node by. While a Machine is deleted, the host may know more than the Machine.
    pub fn provider_id(&self) -> Option<&str> {
        let own = self.machine.spec.provider_id.as_deref();
        own.or_else(|| self.is_deleting().then(|| self.infrastructure.provider_id()).flatten())
            .filter(|provider_id| !provider_id.is_empty())
    }

    pub(super) fn is_deleting(&self) -> bool {
        self.machine.metadata.deletion_timestamp.is_some()
    }
}

impl External {
    pub fn object(&self) -> Option<&Value> {
        match self {
            Self::Found { object, .. } => Some(object),
            Self::NotReferenced | Self::Missing | Self::Unreadable { .. } => None,
        }
    }

    /// Whether it is there and not on its way out.
    pub(super) fn is_live(&self) -> bool {
        self.object().is_some_and(|object| !is_deleting(object))
    }

    fn provider_id(&self) -> Option<&str> {
        let Self::Found { object, contract } = self else { return None };
        get_str(object, ContractField::InfraMachineProviderId.path(*contract)).ok().flatten()
    }
}

impl NodeSeen {
    pub(super) fn node(&self) -> Option<&Node> {
        match self {
            Self::Found(node) => Some(node),
            Self::NotLookedFor | Self::Missing | Self::NotConnected | Self::Unreadable { .. } => None,
        }
    }
}

pub(super) fn is_deleting(object: &Value) -> bool {
    object.pointer("/metadata/deletionTimestamp").is_some_and(|time| !time.is_null())
}

/// Whether a provider's object has the annotation.
pub(super) fn has_annotation(object: &Value, key: &str) -> bool {
    object.pointer("/metadata/annotations").and_then(|annotations| annotations.get(key)).is_some()
}
