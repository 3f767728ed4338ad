//! What a MachineDeployment's pass may look at. What is not here cannot influence it.

use std::borrow::Cow;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use refit_api::cluster::{
    MachineDeploymentRolloutStrategy, MachineDeploymentRolloutStrategyRollingUpdate,
    MachineDeploymentRolloutStrategyType,
};
use refit_api::int_or_percent::{AmountError, Fenceposts};
use refit_api::name_set::NameSet;
use refit_api::policy::InPlacePolicy;

use crate::fleet::GoneExtension;
use crate::handover::Handover;
use crate::machine_set::refusal::MoveRefusal;
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
    /// By refit: as long as machines can be updated in place within the first limits, and then, for those that have to be
    /// replaced, within the second.
    WithFallback { in_place: Fenceposts, fallback: Fenceposts },
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
    /// The machines whose update to its template failed, also those that are gone since.
    pub failed_updates: NameSet,
    /// The `max-replicas` annotation, if it is a number. Only scaling under pause looks at it.
    pub max_replicas: Option<i32>,
    /// The `desired-replicas` annotation: how many machines the user wanted when it was written last.
    pub desired_replicas: Option<i32>,
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
    /// It was decided to update them in place, and now extensions do not cover the change. They are left alone until an extension
    /// does again, or the user gives his word to replace them.
    Withdrawn { why: String },
}

/// A machine. It borrows its names, as there may be very many.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineView<'a> {
    pub name: Cow<'a, str>,
    /// The MachineSet that controls it.
    pub machine_set: Cow<'a, str>,
    pub created: Timestamp,
    /// It carries the mark of a machine that a rollout has made beyond those wanted.
    pub scaffolding: bool,
    /// It was moved, and its MachineSet has not taken note of the acknowledgement.
    pub pending_acknowledge: bool,
    /// An update in place is going on, from the move to its end. A failed one goes on.
    pub updating: bool,
    /// The update has failed for good.
    pub update_failed: bool,
    /// No extension is at work on it although its update is not done: it may become something else.
    pub update_over: bool,
    /// The extension that its update waits for is gone. There are few of them.
    pub gone: Option<Box<GoneExtension>>,
    /// It is available and not being updated.
    pub available: bool,
    pub deleting: bool,
    /// The API server refuses what it would become in the new MachineSet. There are few of them.
    pub refused: Option<Box<MoveRefusal>>,
}

impl DeploymentView {
    /// Whether machines that were there first stay, as far as they can be updated in place.
    pub fn keeps_originals(&self) -> bool {
        policy::keeps_originals(self.in_place, self.keep_originals)
    }
}

impl MachineView<'_> {
    /// Whether the API server refuses what it would become in this MachineSet.
    pub fn is_refused_by(&self, machine_set: &str) -> bool {
        !self.updating && !self.deleting && self.refused.as_ref().is_some_and(|refusal| refusal.to == machine_set)
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
            failed_updates: NameSet::default(),
            max_replicas: None,
            desired_replicas: None,
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
    /// Reads the strategy of a MachineDeployment with this number of replicas.
    pub fn resolve(strategy: &MachineDeploymentRolloutStrategy, replicas: i32) -> Result<Self, AmountError> {
        let in_place = || fenceposts(&strategy.bounds(), replicas);
        match strategy.type_ {
            MachineDeploymentRolloutStrategyType::OnDelete => Ok(Self::OnDelete),
            MachineDeploymentRolloutStrategyType::RollingUpdate => in_place().map(Self::RollingUpdate),
            MachineDeploymentRolloutStrategyType::InPlace => {
                let (in_place, fallback) = (in_place()?, fenceposts(&strategy.fallback_bounds(), replicas)?);
                let is_one = in_place == fallback;
                Ok(if is_one { Self::RollingUpdate(in_place) } else { Self::WithFallback { in_place, fallback } })
            }
        }
    }

    /// Whether a change reaches machines without the user's doing.
    pub fn rolls(self) -> bool {
        self != Self::OnDelete
    }

    /// How many machines there may be beyond the wanted ones.
    pub fn max_surge(self) -> i32 {
        self.limits().iter().map(|posts| posts.max_surge).fold(0, i32::max)
    }

    /// How many of the wanted machines may be unavailable for a rollout.
    pub fn max_unavailable(self) -> i32 {
        self.limits().iter().map(|posts| posts.max_unavailable).fold(0, i32::max)
    }

    /// How many of the wanted machines must stay available.
    pub fn min_available(self, replicas: i32) -> i32 {
        self.limits().iter().map(|posts| posts.min_available(replicas)).fold(replicas.max(0), i32::min)
    }

    /// The same with the limits of one phase only.
    #[must_use]
    pub fn of_phase(self, is_in_place: bool) -> Self {
        match self {
            Self::WithFallback { in_place, .. } if is_in_place => Self::RollingUpdate(in_place),
            Self::WithFallback { fallback, .. } => Self::RollingUpdate(fallback),
            Self::RollingUpdate(_) | Self::OnDelete => self,
        }
    }

    fn limits(self) -> Vec<Fenceposts> {
        match self {
            Self::RollingUpdate(posts) => vec![posts],
            Self::WithFallback { in_place, fallback } => vec![in_place, fallback],
            Self::OnDelete => Vec::new(),
        }
    }
}

fn fenceposts(
    bounds: &MachineDeploymentRolloutStrategyRollingUpdate,
    replicas: i32,
) -> Result<Fenceposts, AmountError> {
    // The defaults are filled in by who reads the strategy. What is left out all the same allows nothing.
    let none = IntOrString::Int(0);
    let (surge, unavailable) = (bounds.max_surge.as_ref(), bounds.max_unavailable.as_ref());
    Fenceposts::resolve(surge.unwrap_or(&none), unavailable.unwrap_or(&none), replicas)
}
