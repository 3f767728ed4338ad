//! Replaces machines that health checks have given up on: they are deleted, and scaling brings others.

mod table;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use refit_api::cluster::{Machine, MachineDeployment, MachineSet};
use refit_api::conditions::machine::health;
use refit_api::conditions::{self, NewCondition};
use refit_api::int_or_percent::{self, AmountError, Rounding};
use refit_api::vocabulary::annotations::{REMEDIATE_MACHINE, REVISION};
use refit_api::vocabulary::{condition_types as types, labels, reasons};
use serde_json::json;

pub use table::{Asker, Decision, Leaving, State};

use super::preflight::Preflight;
use crate::effect::{Delete, Effect, Part, Patch, Target};
use crate::fleet;
use crate::plan::Plan;
use crate::reading::{NotFound, Read};
use crate::waiting::WaitingOn;

/// When checks that failed are made again.
const PREFLIGHT_RETRY: Duration = Duration::from_secs(15);

/// Who decides how many machines may be replaced at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Owner {
    /// Nobody: all at once.
    Nobody,
    /// A MachineDeployment whose current MachineSet this is.
    Current { limit: Option<Limit> },
    /// A MachineDeployment that wants machines of another MachineSet.
    Outgoing { limit: Option<Limit> },
}

/// How many machines may be replaced at a time, as the user wrote it and as it comes out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limit {
    pub written: String,
    pub machines: usize,
}

/// Why the owner cannot be told. Nothing is replaced then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OwnerError {
    #[error("MachineSet {set} is of a MachineDeployment that is not there")]
    NotFound { set: String, source: NotFound },
    #[error("spec.remediation.maxInFlight of MachineDeployment {name} cannot be used")]
    Limit { name: String, source: AmountError },
}

/// What remediation looks at.
#[derive(Debug, Clone, Copy)]
pub struct Remediation<'a> {
    pub machines: &'a [&'a Machine],
    pub owner: &'a Owner,
    pub preflight: &'a Preflight,
    /// Machines that are not replaced now, and what is said of them, as [`Decision::of`] says.
    pub spared: &'a BTreeMap<String, NewCondition>,
    pub now: Timestamp,
}

impl Owner {
    /// Who owns the MachineSet. `deployment` is what came of reading the MachineDeployment that its label names.
    pub fn of(set: &MachineSet, deployment: &Read<MachineDeployment>) -> Result<Self, OwnerError> {
        let label = set.metadata.labels.as_ref().and_then(|labels| labels.get(labels::DEPLOYMENT_NAME));
        let Some(label) = label else { return Ok(Self::Nobody) };
        let what = || format!("MachineDeployment {label}");
        let set_name = || super::objects::name_of(set).to_owned();
        let deployment = deployment.found(what).map_err(|source| OwnerError::NotFound { set: set_name(), source })?;
        let is_current = revision(&set.metadata.annotations) == revision(&deployment.metadata.annotations);
        let limit = deployment.spec.remediation.max_in_flight.as_ref();
        let limit = limit.map(|written| Limit::new(written, deployment.spec.replicas.unwrap_or(1))).transpose();
        let limit = limit.map_err(|source| OwnerError::Limit { name: label.clone(), source })?;
        Ok(if is_current { Self::Current { limit } } else { Self::Outgoing { limit } })
    }

    pub fn is_outgoing(&self) -> bool {
        matches!(self, Self::Outgoing { .. })
    }
}

impl Limit {
    fn new(written: &IntOrString, replicas: i32) -> Result<Self, AmountError> {
        let machines = int_or_percent::resolve(written, replicas, Rounding::Up)?;
        let written = match written {
            IntOrString::Int(number) => number.to_string(),
            IntOrString::String(text) => text.clone(),
        };
        Ok(Self { written, machines: usize::try_from(machines).unwrap_or(0) })
    }
}

/// Decides which machines are replaced now.
///
/// # Guarantees
/// - A machine says that it is being replaced before it is deleted: a crash in between loses nothing.
/// - A machine that is spared is not deleted.
pub fn remediate(given: Remediation<'_>) -> Plan {
    let mut plan = Plan::default();
    plan.effects.extend(given.machines.iter().filter_map(|machine| given.forget(machine)));
    let (spared, mut candidates) = given.candidates();
    for machine in spared {
        if let Some(words) = given.spared.get(fleet::name(machine)) {
            given.tell(&mut plan, &[machine], words);
        }
    }
    if candidates.is_empty() {
        return plan;
    }
    let limit = match given.owner {
        Owner::Nobody => None,
        Owner::Current { limit } | Owner::Outgoing { limit } => limit.as_ref(),
    };
    let now = limit.map_or(candidates.len(), |limit| limit.machines.saturating_sub(given.in_flight()));
    let deferred = candidates.split_off(now.min(candidates.len()));
    if let Some(limit) = limit {
        given.tell(&mut plan, &deferred, &health::too_many_remediations(&limit.written));
    }
    if !candidates.is_empty() {
        given.replace(&mut plan, &candidates);
    }
    plan
}

impl<'a> Remediation<'a> {
    /// A machine that got well again is to be replaced no more.
    fn forget(&self, machine: &Machine) -> Option<Effect> {
        let found = &machine.status.conditions;
        let is_well = conditions::is_true(found, types::HEALTH_CHECK_SUCCEEDED);
        if fleet::is_deleting(machine) || !is_well || !conditions::is_false(found, types::OWNER_REMEDIATED) {
            return None;
        }
        let mut kept = found.clone();
        conditions::remove(&mut kept, types::OWNER_REMEDIATED);
        Some(patch_conditions(machine, &kept))
    }

    /// The machines to be replaced: those that are spared, and the rest in the order in which they are.
    ///
    /// Those that a user asked for come first, then the youngest: they likely have no workload yet.
    fn candidates(&self) -> (Vec<&'a Machine>, Vec<&'a Machine>) {
        let is_candidate = |machine: &&'a Machine| fleet::is_to_be_remediated(machine) && !fleet::is_deleting(machine);
        let candidates = self.machines.iter().copied().filter(is_candidate);
        let (spared, mut rest): (Vec<_>, Vec<_>) =
            candidates.partition(|machine| self.spared.contains_key(fleet::name(machine)));
        rest.sort_by_key(|machine| {
            let created = machine.metadata.creation_timestamp.as_ref().map(|time| time.0);
            (!fleet::has_annotation(machine, REMEDIATE_MACHINE), Reverse(created), fleet::name(machine))
        });
        (spared, rest)
    }

    /// Machines that are being replaced and not gone yet.
    fn in_flight(&self) -> usize {
        let is_in_flight = |machine: &&Machine| {
            let condition = conditions::get(&machine.status.conditions, types::OWNER_REMEDIATED);
            let is_replaced = condition
                .is_some_and(|condition| condition.status == "False" && condition.reason == reasons::MACHINE_DELETING);
            fleet::is_deleting(machine) && is_replaced
        };
        self.machines.iter().copied().filter(is_in_flight).count()
    }

    /// Replaces these machines, or says why not now.
    fn replace(&self, plan: &mut Plan, machines: &[&Machine]) {
        let problems = self.preflight.problems();
        if problems.is_empty() {
            self.tell(plan, machines, &health::remediation_deleting());
            let deletions = machines.iter().map(|machine| Delete::at_any_version(Target::of(*machine)));
            plan.effects.extend(deletions.map(Effect::Delete));
            return;
        }
        let lines: Vec<String> = problems.iter().map(|problem| format!("* {problem}")).collect();
        self.tell(plan, machines, &health::remediation_deferred(lines.join("\n")));
        let problems = problems.into_iter().map(str::to_owned).collect();
        plan.waiting_on.push(WaitingOn::Preflight { problems });
        plan.requeue(PREFLIGHT_RETRY);
    }

    /// Says on each machine how it stands, where it does not say so yet.
    fn tell(&self, plan: &mut Plan, machines: &[&Machine], what: &NewCondition) {
        let changed = machines.iter().filter_map(|machine| {
            let mut told = machine.status.conditions.clone();
            let generation = machine.metadata.generation;
            conditions::set(&mut told, what.clone(), generation, self.now).then(|| patch_conditions(machine, &told))
        });
        plan.effects.extend(changed);
    }
}

/// The list is replaced as a whole, so this is for exactly the version that was read.
fn patch_conditions(
    machine: &Machine,
    conditions: &[k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition],
) -> Effect {
    let merge = json!({ "status": { "conditions": conditions } });
    let resource_version = machine.metadata.resource_version.clone();
    Effect::Patch(Patch { part: Part::Status, resource_version, ..Patch::object(Target::of(machine), merge) })
}

fn revision(annotations: &Option<BTreeMap<String, String>>) -> Option<&String> {
    annotations.as_ref().and_then(|annotations| annotations.get(REVISION))
}

#[cfg(test)]
mod tests;
