//! What is told of a MachineDeployment: its status, and what people should hear of.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use refit_api::cluster::{MachineDeployment, MachineDeploymentStatus, MachineSet};
use refit_api::conditions::{self, NewCondition, PausedBy};
use refit_api::vocabulary::refit::condition_types::ROLLOUT_BLOCKED;

use super::pass::Pass;
use super::wishes::strategy;
use super::{Decision, Observed, templates};
use crate::effect::{Effect, Target};
use crate::fleet;
use crate::machine_deployment::Strategy;
use crate::machine_deployment::status::{self, Fleet, is_complete};
use crate::status_patch::status_patch;
use crate::waiting::{self, WaitingOn};

/// Of a MachineDeployment that is left alone, only that is told.
pub(super) fn paused(observed: &Observed<'_>, by: PausedBy, decision: &mut Decision) {
    let mut status = observed.deployment.status.clone();
    set(observed, &mut status, conditions::paused("MachineDeployment", by));
    push(observed, &status, decision);
}

/// A list failed. Whether a rollout is blocked is not known better than before.
pub(super) fn unknown(observed: &Observed<'_>, decision: &mut Decision) {
    if let Some(mut status) = status(observed, Fleet::Unknown, None, &BTreeMap::new(), decision) {
        if !conditions::is_true(&status.conditions, ROLLOUT_BLOCKED) {
            set(observed, &mut status, waiting::blocked(&decision.plan.waiting_on, |_| None));
        }
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
    let blocked = blocked(pass, decision);
    let event = waiting::blocked_event(Target::of(deployment), &blocked, &deployment.status.conditions);
    set(pass.observed, &mut status, blocked);
    push(pass.observed, &status, decision);
    decision.reports.extend(event.map(Effect::Emit));
    is_complete(deployment, &status)
}

/// What the rollout waits for: by this decision, by the last ones about its MachineSets, and by the last writes.
fn blocked(pass: &Pass<'_>, decision: &mut Decision) -> NewCondition {
    let all = [decision.plan.waiting_on.as_slice(), pass.observed.told].concat();
    if all.iter().any(|reason| !reason.machines().is_empty()) {
        // What keeps a machine is told when it lasts, and may be something else by then.
        decision.requeue(Duration::from_secs(fleet::KEPT_SECONDS.unsigned_abs()));
    }
    let machines = pass.observed.machines.all().unwrap_or_default();
    let place = |name: &str| machines.binary_search_by(|machine| fleet::name(machine).cmp(name)).ok();
    let named = |name: &str| place(name).map(|place| machines[place]);
    waiting::blocked(&all, |name| fleet::kept(named(name)?, pass.observed.now))
}

/// The Cluster that a MachineDeployment names is not there, so that nothing is decided about it.
pub(super) fn without_cluster(deployment: &MachineDeployment, now: Timestamp) -> Vec<Effect> {
    let what = format!("spec.clusterName: Cluster {} does not exist", deployment.spec.cluster_name);
    let blocked = waiting::blocked(&[WaitingOn::InvalidSpec { what }], |_| None);
    let event = waiting::blocked_event(Target::of(deployment), &blocked, &deployment.status.conditions);
    let mut status = deployment.status.clone();
    conditions::set(&mut status.conditions, blocked, deployment.metadata.generation, now);
    let report = status_patch(deployment, &deployment.status, &status);
    report.into_iter().chain(event.map(Effect::Emit)).collect()
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
    let missing_templates: Vec<&str> = templates::missing(observed).map(|it| it.kind.as_str()).collect();
    let computed = status::status(status::Observed {
        deployment: observed.deployment,
        fleet,
        current: new.and_then(|set| set.metadata.uid.as_deref()),
        differences,
        max_unavailable: &strategy.map(Strategy::max_unavailable),
        missing_templates: &missing_templates,
        succeeded: false,
        now: observed.now,
    });
    let mut status = computed.map_err(|problem| decision.problems.push(problem.into())).ok()?;
    set(observed, &mut status, conditions::not_paused());
    Some(status)
}

fn set(observed: &Observed<'_>, status: &mut MachineDeploymentStatus, condition: NewCondition) {
    conditions::set(&mut status.conditions, condition, observed.deployment.metadata.generation, observed.now);
}

fn push(observed: &Observed<'_>, status: &MachineDeploymentStatus, decision: &mut Decision) {
    decision.reports.extend(status_patch(observed.deployment, &observed.deployment.status, status));
}
