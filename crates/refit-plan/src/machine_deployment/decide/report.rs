//! What is told of a MachineDeployment: its status, and what people should hear of.

use std::collections::BTreeMap;

use refit_api::cluster::{MachineDeploymentStatus, MachineSet};
use refit_api::conditions::{self, NewCondition, PausedBy};

use super::pass::Pass;
use super::wishes::strategy;
use super::{Decision, Observed};
use crate::effect::{Effect, Target};
use crate::machine_deployment::Strategy;
use crate::machine_deployment::status::{self, Fleet, is_complete};
use crate::status_patch::status_patch;
use crate::waiting;

/// Of a MachineDeployment that is left alone, only that is told.
pub(super) fn paused(observed: &Observed<'_>, by: PausedBy, decision: &mut Decision) {
    let mut status = observed.deployment.status.clone();
    set(observed, &mut status, conditions::paused("MachineDeployment", by));
    push(observed, &status, decision);
}

/// A list failed. Whether a rollout is blocked is not known better than before.
pub(super) fn unknown(observed: &Observed<'_>, decision: &mut Decision) {
    if let Some(status) = status(observed, Fleet::Unknown, None, &BTreeMap::new(), decision) {
        push(observed, &status, decision);
    }
}

/// How many machines there are and what they are, where nothing rolls out.
pub(super) fn counted(pass: &Pass<'_>, decision: &mut Decision) {
    if let Some(status) = status_of(pass, decision) {
        push(pass.observed, &status, decision);
    }
}

/// How far the rollout is, and what is in its way. Tells whether it is complete.
pub(super) fn rollout(pass: &Pass<'_>, decision: &mut Decision) -> bool {
    let Some(mut status) = status_of(pass, decision) else { return false };
    let deployment = pass.observed.deployment;
    let blocked = waiting::blocked(&decision.plan.waiting_on);
    let event = waiting::blocked_event(Target::of(deployment), &blocked, &deployment.status.conditions);
    set(pass.observed, &mut status, blocked);
    push(pass.observed, &status, decision);
    decision.reports.extend(event.map(Effect::Emit));
    is_complete(deployment, &status)
}

fn status_of(pass: &Pass<'_>, decision: &mut Decision) -> Option<MachineDeploymentStatus> {
    let machines = pass.observed.machines.all().unwrap_or_default();
    let fleet = Fleet::Known { machine_sets: &pass.owned.machine_sets, machines };
    status(pass.observed, fleet, pass.new.existing(), &pass.differences, decision)
}

/// The status without the generation: who has dealt with that says so in the end.
fn status(
    observed: &Observed<'_>,
    fleet: Fleet<'_>,
    new: Option<&MachineSet>,
    differences: &BTreeMap<String, Vec<String>>,
    decision: &mut Decision,
) -> Option<MachineDeploymentStatus> {
    let strategy = strategy(observed, observed.deployment.spec.replicas.unwrap_or_default());
    let computed = status::status(status::Observed {
        deployment: observed.deployment,
        fleet,
        current: new.and_then(|set| set.metadata.uid.as_deref()),
        differences,
        max_unavailable: &strategy.map(Strategy::max_unavailable),
        missing_templates: &missing_templates(observed),
        succeeded: false,
        now: observed.now,
    });
    let mut status = computed.map_err(|problem| decision.problems.push(problem.into())).ok()?;
    set(observed, &mut status, conditions::not_paused());
    Some(status)
}

/// The kinds of the templates that do not exist, bootstrap first.
fn missing_templates<'a>(observed: &'a Observed<'_>) -> Vec<&'a str> {
    let spec = &observed.deployment.spec.template.spec;
    let references = spec.bootstrap.config_ref.iter().chain([&spec.infrastructure_ref]);
    references.filter(|it| observed.template(it).is_missing()).map(|it| it.kind.as_str()).collect()
}

fn set(observed: &Observed<'_>, status: &mut MachineDeploymentStatus, condition: NewCondition) {
    conditions::set(&mut status.conditions, condition, observed.deployment.metadata.generation, observed.now);
}

fn push(observed: &Observed<'_>, status: &MachineDeploymentStatus, decision: &mut Decision) {
    decision.reports.extend(status_patch(observed.deployment, &observed.deployment.status, status));
}
