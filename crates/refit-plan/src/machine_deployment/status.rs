//! What a MachineDeployment tells about its machines.
//!
//! Upstream adds up what MachineSets report. A machine that changes its owner is then counted twice or not at all for a
//! while, and right after a change all machines still read as up to date. Here the machines themselves are counted, each
//! once, and only those of the wanted MachineSet can be up to date.

mod tally;

use std::collections::BTreeMap;

use jiff::Timestamp;
use refit_api::cluster::{
    Machine, MachineDeployment, MachineDeploymentPhase, MachineDeploymentRolloutStrategyType, MachineDeploymentStatus,
    MachineSet,
};
use refit_api::conditions::machine_deployment as ours;
use refit_api::conditions::{self, NewCondition};
use refit_api::int_or_percent::AmountError;
use refit_api::selector::{Selector, SelectorError};
use refit_api::vocabulary::condition_types as types;

use crate::fleet;
use tally::Tally;

/// What a status is made from.
#[derive(Debug, Clone, Copy)]
pub struct Observed<'a> {
    pub deployment: &'a MachineDeployment,
    pub fleet: Fleet<'a>,
    /// The uid of the MachineSet that has the template as it is now. Nothing: there is none yet.
    pub current: Option<&'a str>,
    /// How the templates of the other MachineSets differ from it, by uid, in words.
    pub differences: &'a BTreeMap<String, Vec<String>>,
    /// How many machines may be unavailable. Zero unless machines are rolled out.
    pub max_unavailable: &'a Result<i32, AmountError>,
    /// The kinds of the templates that do not exist, bootstrap first.
    pub missing_templates: &'a [&'a str],
    /// Whether the pass went through: only then has it dealt with the generation.
    pub succeeded: bool,
    pub now: Timestamp,
}

/// The MachineSets of a MachineDeployment, and all machines that might be theirs.
#[derive(Debug, Clone, Copy)]
pub enum Fleet<'a> {
    Known {
        machine_sets: &'a [&'a MachineSet],
        machines: &'a [&'a Machine],
    },
    /// A list failed.
    Unknown,
}

/// The conditions that every pass sets. `Paused` is set before it.
const OWNED: [&str; 8] = [
    types::AVAILABLE,
    types::ROLLING_OUT,
    types::SCALING_UP,
    types::SCALING_DOWN,
    types::MACHINES_READY,
    types::MACHINES_UP_TO_DATE,
    types::REMEDIATING,
    types::DELETING,
];

/// The status as it should be.
///
/// What could not be listed leaves the counters as they are: nobody knows better.
pub fn status(observed: Observed<'_>) -> Result<MachineDeploymentStatus, SelectorError> {
    let deployment = observed.deployment;
    let mut status = deployment.status.clone();
    let selector = Selector::from_field(Some(&deployment.spec.selector))?.to_string();
    status.selector = Some(selector).filter(|text| !text.is_empty());
    let told: Vec<NewCondition> = match observed.fleet {
        Fleet::Known { machine_sets, machines } => {
            let mut tally = Tally::of(machine_sets, machines, &observed);
            tally.write_counters(&mut status);
            status.phase = Some(phase(deployment, tally.machines.len()));
            conditions_of(&tally, &observed, &status).into()
        }
        Fleet::Unknown => {
            status.phase = Some(MachineDeploymentPhase::Unknown);
            OWNED.map(conditions::internal_error).into()
        }
    };
    for condition in told {
        conditions::set(&mut status.conditions, condition, deployment.metadata.generation, observed.now);
    }
    if observed.succeeded {
        status.observed_generation = deployment.metadata.generation.filter(|generation| *generation > 0);
    }
    Ok(status)
}

/// Whether all wanted machines, and no others, are there, available, and of the template as it is now.
///
/// A status of an older generation is never complete: its rollout may not have begun.
pub fn is_complete(deployment: &MachineDeployment, status: &MachineDeploymentStatus) -> bool {
    let Some(wanted) = deployment.spec.replicas else { return false };
    let counters = [status.replicas, status.available_replicas, status.up_to_date_replicas];
    let is_observed =
        status.observed_generation.unwrap_or_default() >= deployment.metadata.generation.unwrap_or_default();
    is_observed && counters.iter().all(|counter| counter.unwrap_or_default() == wanted)
}

fn conditions_of(
    tally: &Tally<'_>,
    observed: &Observed<'_>,
    status: &MachineDeploymentStatus,
) -> [NewCondition; OWNED.len()] {
    [
        available(observed, status.available_replicas),
        tally.rolling_out(),
        scaling_up(tally, observed),
        scaling_down(tally, observed),
        ours::machines_ready(&tally.ready),
        tally.machines_up_to_date(),
        remediating(tally),
        deleting(tally, observed),
    ]
}

fn phase(deployment: &MachineDeployment, current: usize) -> MachineDeploymentPhase {
    let Some(desired) = desired(deployment) else { return MachineDeploymentPhase::Unknown };
    if is_deleting(deployment) {
        return MachineDeploymentPhase::ScalingDown;
    }
    match current.cmp(&desired) {
        std::cmp::Ordering::Equal => MachineDeploymentPhase::Running,
        std::cmp::Ordering::Less => MachineDeploymentPhase::ScalingUp,
        std::cmp::Ordering::Greater => MachineDeploymentPhase::ScalingDown,
    }
}

fn available(observed: &Observed<'_>, available: Option<i32>) -> NewCondition {
    let deployment = observed.deployment;
    let Some(replicas) = deployment.spec.replicas else { return ours::waiting_for_replicas(types::AVAILABLE) };
    let Some(available) = available else { return ours::waiting_for_available_replicas() };
    // Limits that make no sense allow nothing.
    let max_unavailable = observed.max_unavailable.as_ref().map_or(0, |limit| *limit);
    let required = replicas.saturating_sub(max_unavailable);
    if available >= required {
        return ours::available();
    }
    if is_deleting(deployment) {
        return ours::not_available_while_deleting();
    }
    let strategy = deployment.spec.rollout.strategy.as_ref();
    let rolls = strategy.is_none_or(|strategy| strategy.type_ != MachineDeploymentRolloutStrategyType::OnDelete);
    let written = strategy.and_then(|strategy| strategy.rolling_update.max_unavailable.as_ref());
    let budget = written.filter(|_| rolls).map(|written| (written, replicas));
    ours::not_available(available, required, budget)
}

fn scaling_up(tally: &Tally<'_>, observed: &Observed<'_>) -> NewCondition {
    let Some(desired) = desired(observed.deployment) else { return ours::waiting_for_replicas(types::SCALING_UP) };
    let current = tally.machines.len();
    let missing = if is_deleting(observed.deployment) { &[] } else { observed.missing_templates };
    if current < desired { ours::scaling_up(current, desired, missing) } else { ours::not_scaling_up(missing) }
}

fn scaling_down(tally: &Tally<'_>, observed: &Observed<'_>) -> NewCondition {
    let Some(desired) = desired(observed.deployment) else { return ours::waiting_for_replicas(types::SCALING_DOWN) };
    let current = tally.machines.len();
    if current > desired {
        ours::scaling_down(current, desired, tally.stale(observed.now).as_deref())
    } else {
        ours::not_scaling_down()
    }
}

fn remediating(tally: &Tally<'_>) -> NewCondition {
    let (replaced, unhealthy) = fleet::remediating(tally.unhealthy.iter().copied());
    if replaced.is_empty() { ours::not_remediating(&unhealthy) } else { ours::remediating(&replaced) }
}

fn deleting(tally: &Tally<'_>, observed: &Observed<'_>) -> NewCondition {
    if is_deleting(observed.deployment) {
        ours::deleting(tally.machines.len(), tally.machine_sets, tally.stale(observed.now).as_deref())
    } else {
        ours::not_deleting()
    }
}

/// How many machines are wanted: none of a MachineDeployment that is going. A negative number is none, too.
fn desired(deployment: &MachineDeployment) -> Option<usize> {
    let replicas = deployment.spec.replicas?;
    Some(if is_deleting(deployment) { 0 } else { usize::try_from(replicas).unwrap_or(0) })
}

fn is_deleting(deployment: &MachineDeployment) -> bool {
    deployment.metadata.deletion_timestamp.is_some()
}

#[cfg(test)]
mod tests;
