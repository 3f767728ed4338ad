//! From a plan to writes.

use std::collections::BTreeMap;

use refit_api::cluster::MachineSet;
use refit_api::vocabulary::annotations::{REVISION, REVISION_HISTORY};
use refit_api::vocabulary::refit::events::{ROLLOUT_COMPLETED, ROLLOUT_STARTED};
use serde_json::json;

use super::Decision;
use super::pass::{New, Pass};
use super::wishes::Wishes;
use crate::effect::{Effect, Event, Part, Patch, Target};
use crate::machine_deployment::machine_sets::{self, Base, Decided, Intent, delete_drained, show_revision};
use crate::machine_deployment::{MachineSetPlan, Plan, Revision, next_revision};

/// Writes what the plan says: the MachineSets, their number on the MachineDeployment, and, last of all, that the
/// generation was dealt with. Of a complete rollout, MachineSets without machines go.
pub(super) fn decide(pass: &Pass<'_>, wishes: &Wishes, plan: &Plan, is_complete: bool, decision: &mut Decision) {
    let deployment = pass.observed.deployment;
    let revision = revision(pass, decision);
    let max_surge = wishes.view.strategy.max_surge();
    let new = new(pass, plan, revision.as_ref(), max_surge);
    match machine_sets::write(deployment, new.as_ref(), &old(pass, plan, max_surge)) {
        Ok(effects) => decision.plan.effects.extend(effects),
        Err(problem) => return decision.fail(problem.into()),
    }
    decision.plan.effects.extend(started(pass));
    decision.plan.effects.extend(show_revision(deployment, revision.as_ref()));
    if is_complete {
        let old: Vec<_> = pass.old.iter().map(|old| old.set).collect();
        let machines = pass.observed.machines.all().unwrap_or_default();
        let is_of_old = |target: &Target| old.iter().any(|set| Target::of(*set) == *target);
        let mut effects = decision.plan.effects.iter();
        let is_written = effects.any(|effect| matches!(effect, Effect::Apply(apply) if is_of_old(&apply.target)));
        let drained = delete_drained(deployment, &old, machines);
        let is_over = !drained.is_empty();
        let deletions = drained.into_iter().map(|effect| if is_written { effect.after_a_write() } else { effect });
        decision.plan.effects.extend(deletions);
        decision.plan.effects.extend(is_over.then(|| completed(pass)));
    }
    if decision.problems.is_empty() {
        decision.plan.effects.extend(observe_generation(pass));
    }
}

fn new<'a>(pass: &Pass<'a>, plan: &Plan, revision: Option<&Revision>, max_surge: i32) -> Option<Decided<'a>> {
    let (base, name) = match &pass.new {
        New::Existing(set) => (Base::Existing(set), name_of(set)),
        New::ToBeCreated { suffix, name, .. } => (Base::New(*suffix), name.as_str()),
        New::None => return None,
    };
    let planned = plan.machine_sets.iter().find(|planned| planned.name == name)?;
    Some(Decided { base, intent: Intent { revision: revision.cloned(), ..intent(planned, max_surge) } })
}

/// In the order of the plan.
fn old<'a>(pass: &Pass<'a>, plan: &Plan, max_surge: i32) -> Vec<Decided<'a>> {
    let sets: BTreeMap<&str, &MachineSet> = pass.old.iter().map(|old| (name_of(old.set), old.set)).collect();
    let decided = |planned: &MachineSetPlan| {
        let set = sets.get(planned.name.as_str())?;
        Some(Decided { base: Base::Existing(set), intent: intent(planned, max_surge) })
    };
    plan.machine_sets.iter().filter_map(decided).collect()
}

fn intent(planned: &MachineSetPlan, max_surge: i32) -> Intent {
    let mut annotations = BTreeMap::new();
    planned.handover.write_to(&mut annotations);
    let (replicas, disable_machine_create) = (planned.replicas, planned.disable_machine_create);
    Intent { replicas, annotations, disable_machine_create, revision: None, max_surge }
}

fn name_of(set: &MachineSet) -> &str {
    set.metadata.name.as_deref().unwrap_or_default()
}

/// The number of the rollout. Without a new MachineSet there is none, and one that cannot be read is left as it is.
fn revision(pass: &Pass<'_>, decision: &mut Decision) -> Option<Revision> {
    let new = match &pass.new {
        New::Existing(set) => set.metadata.annotations.as_ref(),
        New::ToBeCreated { .. } => None,
        New::None => return None,
    };
    let text = |key: &str| new.and_then(|annotations| annotations.get(key)).map(String::as_str);
    let old = pass.old.iter().filter_map(|old| old.set.metadata.annotations.as_ref()?.get(REVISION));
    match next_revision(text(REVISION), text(REVISION_HISTORY), old.map(String::as_str)) {
        Ok(revision) => Some(revision),
        Err(problem) => {
            decision.problems.push(problem.into());
            None
        }
    }
}

/// Tells that machines are going to change, and why.
fn started(pass: &Pass<'_>) -> Option<Effect> {
    let New::ToBeCreated { name, why, .. } = &pass.new else { return None };
    let is_rollout = pass.old.iter().any(|old| pass.owned.has_machines(old.set));
    let message = || format!("Rolling out to MachineSet {name}: {why}");
    let about = Target::of(pass.observed.deployment);
    is_rollout.then(|| Effect::Emit(Event::normal(about, ROLLOUT_STARTED, message())))
}

/// Tells that a rollout is over: its machines are there and available, and what they were before is gone. That
/// is so once.
fn completed(pass: &Pass<'_>) -> Effect {
    let about = Target::of(pass.observed.deployment);
    Effect::Emit(Event::normal(about, ROLLOUT_COMPLETED, "All machines are up-to-date"))
}

/// Only who did everything has dealt with the generation.
fn observe_generation(pass: &Pass<'_>) -> Option<Effect> {
    let deployment = pass.observed.deployment;
    let generation = deployment.metadata.generation.filter(|generation| *generation > 0)?;
    let merge = json!({ "status": { "observedGeneration": generation } });
    let patch = || Patch { part: Part::Status, ..Patch::object(Target::of(deployment), merge) };
    (deployment.status.observed_generation != Some(generation)).then(|| Effect::Patch(patch()))
}
