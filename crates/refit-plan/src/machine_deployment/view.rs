//! What a MachineDeployment's pass may look at. What is not here cannot influence it.

use std::borrow::Cow;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use refit_api::cluster::{MachineDeploymentRolloutStrategy, MachineDeploymentRolloutStrategyType};
use refit_api::int_or_percent::{AmountError, Fenceposts};
use refit_api::policy::InPlacePolicy;

use crate::handover::Handover;
use crate::policy;

/// A MachineDeployment and all that it owns.
#[derive(Debug, Clone)]
pub struct Observed<'a> {
    pub deployment: DeploymentView,
    /// The MachineSet of the wanted template; one that is still to be created has [`MachineSetView::to_be_created`].
    /// Nothing when there is none and none can be made: then nothing rolls out, and only scaling goes on.
    pub new: Option<MachineSetView>,
    /// All others, in the order of [`select`](super::select).
    pub old: Vec<OldMachineSet>,
    /// The machines of all of them, each once.
    pub machines: Vec<MachineView<'a>>,
}

/// What the user asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeploymentView {
    pub replicas: i32,
    pub strategy: Strategy,
    pub in_place: InPlacePolicy,
    /// Whether a surge machine goes again and the machines that were there first stay.
    pub keep_originals: bool,
    /// `spec.paused`: nothing rolls out, scaling goes on.
    pub paused: bool,
}

/// How a change reaches the machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strategy {
    /// By refit, within these limits.
    RollingUpdate(Fenceposts),
    /// By the user, who deletes machines.
    OnDelete,
}

/// A MachineSet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineSetView {
    pub name: String,
    pub created: Timestamp,
    pub spec_replicas: i32,
    pub counters: Counters,
    /// What the last pass has written on it.
    pub handover: Handover,
    /// The `max-replicas` annotation, if it is a number. Only scaling under pause looks at it.
    pub max_replicas: Option<i32>,
    /// Whether it must not create machines.
    pub disable_machine_create: bool,
    /// What no other state of it has had: its resourceVersion. Empty if it does not exist yet.
    pub version: String,
    /// It is on hold and has said so: nothing is under way. In a world without anything between a decision and its
    /// effect, always.
    pub held: bool,
}

/// What a MachineSet last reported. Lags behind the machines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    pub replicas: i32,
    pub available: i32,
    pub up_to_date: i32,
}

/// A MachineSet that is not of the wanted template, or is but was not chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OldMachineSet {
    pub view: MachineSetView,
    pub coverage: Coverage,
}

/// Whether the machines of an old MachineSet can become those of the new one in place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Coverage {
    /// Extensions cover every change.
    Covered,
    /// They do not, or the machines must be replaced for another reason.
    Uncovered { why: String },
    /// Nobody knows yet: an extension did not answer, a template could not be read. Its machines are left alone.
    Undecided { why: String },
}

/// A machine. It borrows its names, as there may be very many.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineView<'a> {
    pub name: Cow<'a, str>,
    /// The MachineSet that controls it.
    pub machine_set: Cow<'a, str>,
    pub created: Timestamp,
    /// It was moved, and its MachineSet has not taken note of the acknowledgement.
    pub pending_acknowledge: bool,
    /// An update in place is going on, from the move to its end. A failed one goes on.
    pub updating: bool,
    /// The update has failed for good.
    pub update_failed: bool,
    /// It is available and not being updated.
    pub available: bool,
    pub deleting: bool,
}

impl DeploymentView {
    /// Whether machines that were there first stay, as far as they can be updated in place.
    pub fn keeps_originals(&self) -> bool {
        policy::keeps_originals(self.in_place, self.keep_originals)
    }
}

impl MachineSetView {
    /// A MachineSet that the pass is to create.
    pub fn to_be_created(name: String, now: Timestamp) -> Self {
        let (counters, handover) = (Counters::default(), Handover::default());
        Self {
            name,
            created: now,
            spec_replicas: 0,
            counters,
            handover,
            max_replicas: None,
            disable_machine_create: false,
            version: String::new(),
            held: false,
        }
    }

    /// Whether it is there, and not to be created by this pass.
    pub fn exists(&self) -> bool {
        !self.version.is_empty()
    }
}

impl Strategy {
    /// Reads the strategy of a MachineDeployment with this number of replicas. Limits that are unset are the defaults
    /// of admission: surge 1, unavailable 0.
    pub fn resolve(strategy: &MachineDeploymentRolloutStrategy, replicas: i32) -> Result<Self, AmountError> {
        match strategy.type_ {
            MachineDeploymentRolloutStrategyType::OnDelete => Ok(Self::OnDelete),
            MachineDeploymentRolloutStrategyType::RollingUpdate | MachineDeploymentRolloutStrategyType::InPlace => {
                let (surge, unavailable) =
                    (&strategy.rolling_update.max_surge, &strategy.rolling_update.max_unavailable);
                let surge = surge.clone().unwrap_or(IntOrString::Int(1));
                let unavailable = unavailable.clone().unwrap_or(IntOrString::Int(0));
                Fenceposts::resolve(&surge, &unavailable, replicas).map(Self::RollingUpdate)
            }
        }
    }

    /// How many machines there may be beyond the wanted ones.
    pub fn max_surge(self) -> i32 {
        match self {
            Self::RollingUpdate(posts) => posts.max_surge,
            Self::OnDelete => 0,
        }
    }

    /// How many of the wanted machines may be unavailable for a rollout.
    pub fn max_unavailable(self) -> i32 {
        match self {
            Self::RollingUpdate(posts) => posts.max_unavailable,
            Self::OnDelete => 0,
        }
    }

    /// How many of the wanted machines must stay available.
    pub fn min_available(self, replicas: i32) -> i32 {
        match self {
            Self::RollingUpdate(posts) => posts.min_available(replicas),
            Self::OnDelete => replicas.max(0),
        }
    }
}
