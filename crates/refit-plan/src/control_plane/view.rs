//! What was observed, and what follows from it before anything is decided.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use refit_api::controlplane::KubeadmControlPlaneRolloutStrategy;
use refit_api::policy::{DEFAULT_REPLACE_AFTER, InPlacePolicy};

use super::observed::{Observed, ObservedMachine};
use super::preflight::Preflight;
use super::up_to_date::Standing;
use crate::policy;

/// What was observed, judged once and asked often.
pub(super) struct View<'a> {
    pub observed: &'a Observed,
    /// The objects as they were read, to write only what differs.
    pub read: &'a Observed,
    /// What users want of a rollout; an error if that cannot be read.
    pub policy: Result<Policy, String>,
    /// How each Machine stands to what it should be, by name.
    pub standings: BTreeMap<&'a str, Standing>,
    pub preflight: Preflight,
}

/// What users want of a rollout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Policy {
    pub in_place: InPlacePolicy,
    pub keeps_originals: bool,
    pub update_timeout: Option<Duration>,
    /// How long extensions must leave a change uncovered before a machine is replaced for it.
    pub replace_after: Duration,
    /// How many Machines there may be beyond the number wanted.
    pub max_surge: usize,
}

impl<'a> View<'a> {
    /// `observed` is what was read together with what was seen.
    pub fn of(observed: &'a Observed, read: &'a Observed) -> Self {
        let standings =
            observed.machines.iter().map(|(name, machine)| (name.as_str(), Standing::of(observed, machine)));
        Self {
            observed,
            read,
            policy: Policy::of(observed),
            standings: standings.collect(),
            preflight: Preflight::of(observed),
        }
    }

    pub fn machines(&self) -> impl Iterator<Item = &'a ObservedMachine> {
        self.observed.machines.values()
    }

    /// Machines that differ from what they should be and are not being deleted.
    pub fn outdated(&self) -> Vec<&'a ObservedMachine> {
        self.machines().filter(|machine| !machine.is_deleting() && !self.is_up_to_date(machine)).collect()
    }

    pub fn is_up_to_date(&self, machine: &ObservedMachine) -> bool {
        self.standing(machine).is_none_or(Standing::is_up_to_date)
    }

    pub fn standing(&self, machine: &ObservedMachine) -> Option<&Standing> {
        self.standings.get(machine.name())
    }

    /// Whether a Machine is there only until the others are updated.
    pub fn has_scaffolding(&self) -> bool {
        self.machines().any(|machine| machine.is_scaffolding() && !machine.is_deleting())
    }
}

impl Policy {
    fn of(observed: &Observed) -> Result<Self, String> {
        let control_plane = &observed.control_plane;
        let own = policy::read(control_plane.metadata.annotations.as_ref())?;
        let cluster = policy::read(observed.cluster.metadata.annotations.as_ref())?;
        let strategy = control_plane.spec.rollout.strategy.as_ref();
        let in_place = strategy.and_then(KubeadmControlPlaneRolloutStrategy::in_place_policy);
        let both = own.or(cluster);
        Ok(Self {
            in_place: InPlacePolicy::resolve(in_place, own.in_place, cluster.in_place),
            keeps_originals: both.keeps_originals(),
            update_timeout: both.update_timeout,
            replace_after: both.replace_after.unwrap_or(DEFAULT_REPLACE_AFTER),
            max_surge: max_surge(strategy.and_then(|strategy| strategy.rolling_update.max_surge.as_ref())),
        })
    }
}

/// None or one: admission lets nothing else through.
fn max_surge(value: Option<&IntOrString>) -> usize {
    let count = match value {
        None => 1,
        Some(IntOrString::Int(count)) => *count,
        Some(IntOrString::String(text)) => text.parse().unwrap_or(0),
    };
    usize::from(count > 0)
}
