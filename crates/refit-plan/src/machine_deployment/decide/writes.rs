//! From a plan to writes.

use std::collections::{BTreeMap, BTreeSet};

use refit_api::cluster::MachineSet;
use refit_api::vocabulary::annotations::{REVISION, REVISION_HISTORY};
use refit_api::vocabulary::refit::annotations::{DECIDED, SCAFFOLDING};
use refit_api::vocabulary::refit::events::{ROLLOUT_COMPLETED, ROLLOUT_STARTED};
use serde_json::json;

use super::pass::{New, Pass};
use super::wishes::Wishes;
use super::{Decision, record};
use crate::effect::{Effect, Event, Part, Patch, Target};
use crate::fleet;
use crate::machine_deployment::machine_sets::{self, Base, Decided, Intent, delete_drained, show_revision};
use crate::machine_deployment::{MachineSetPlan, Plan, Revision, next_revision};

/// What is to be on record of what was decided.
pub(super) struct Records<'a> {
    /// For people, in the MachineRollout.
    pub verdict: record::Verdict<'a>,
    /// For the next pass, on each old MachineSet, in their order.
    pub decided: Vec<Option<String>>,
}

/// Writes what the plan says: the record of the rollout, the MachineSets, their number on the MachineDeployment, and, last of all, that the
/// generation was dealt with. Of a complete rollout, MachineSets without machines go.
pub(super) fn decide(
    pass: &Pass<'_>,
    wishes: &Wishes,
    plan: &Plan,
    records: &Records<'_>,
    is_complete: bool,
    decision: &mut Decision,
) {
    let deployment = pass.observed.deployment;
    let revision = revision(pass, decision);
    let record = revision.as_ref().map(|revision| record::write(pass, wishes, &records.verdict, revision, decision));
    decision.plan.effects.extend(record.unwrap_or_default());
    let max_surge = wishes.view.strategy.max_surge();
    decision.plan.effects.extend(are_wanted(pass, plan));
    let new = new(pass, plan, revision.as_ref(), max_surge);
    match machine_sets::write(deployment, new.as_ref(), &old(pass, plan, &records.decided, max_surge)) {
        Ok(effects) => decision.plan.effects.extend(effects),
        Err(problem) => return decision.fail(problem.into()),
    }
    decision.plan.effects.extend(started(pass, revision.as_ref()));
    decision.plan.effects.extend(show_revision(deployment, revision.as_ref()));
    if is_complete {
        let old: Vec<_> = pass.old.iter().map(|old| old.set).collect();
        let machines = pass.observed.machines.all().unwrap_or_default();
        let is_of_old = |target: &Target| old.iter().any(|set| Target::of(*set) == *target);
        let mut effects = decision.plan.effects.iter();
        let is_written = effects.any(|effect| matches!(effect, Effect::Apply(apply) if is_of_old(&apply.target)));
        let drained = delete_drained(deployment, &pass.owned.machine_sets, &old, machines);
        let is_over = !drained.is_empty();
        let deletions = drained.into_iter().map(|effect| if is_written { effect.after_a_write() } else { effect });
        decision.plan.effects.extend(deletions);
        decision.plan.effects.extend(is_over.then(|| completed(pass)));
    }
    if decision.problems.is_empty() {
        decision.plan.effects.extend(observe_generation(pass));
    }
}

/// Takes the mark off machines that a rollout has made and that are among those wanted by now. Without it they are taken for
/// machines that were there first, which is right.
fn are_wanted(pass: &Pass<'_>, plan: &Plan) -> Vec<Effect> {
    if plan.wanted.is_empty() {
        return Vec::new();
    }
    let names: BTreeSet<&str> = plan.wanted.iter().map(String::as_str).collect();
    let machines = pass.observed.machines.all().unwrap_or_default();
    let marked =
        machines.iter().filter(|machine| names.contains(fleet::name(machine)) && fleet::is_scaffolding(machine));
    let merge = || json!({ "metadata": { "annotations": { SCAFFOLDING: null } } });
    marked.map(|machine| Effect::Patch(Patch::object(Target::of(*machine), merge()))).collect()
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

/// In the order of the plan. What was decided about the machines of each is written with the orders that follow from it.
fn old<'a>(pass: &Pass<'a>, plan: &Plan, records: &[Option<String>], max_surge: i32) -> Vec<Decided<'a>> {
    let sets = pass.old.iter().zip(records).map(|(old, record)| (name_of(old.set), (old.set, record)));
    let sets: BTreeMap<&str, (&MachineSet, &Option<String>)> = sets.collect();
    let decided = |planned: &MachineSetPlan| {
        let (set, record) = sets.get(planned.name.as_str())?;
        let mut intent = intent(planned, max_surge);
        intent.annotations.extend(record.iter().map(|record| (DECIDED.to_owned(), record.clone())));
        Some(Decided { base: Base::Existing(set), intent })
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

/// Tells that machines are going to change, and why: their MachineSet is made now, or gets the number of this rollout.
fn started(pass: &Pass<'_>, revision: Option<&Revision>) -> Option<Effect> {
    let number = revision?.number.to_string();
    let message = match &pass.new {
        New::ToBeCreated { name, why, .. } => format!("Rolling out to MachineSet {name}: {why}"),
        New::Existing(set) if set.metadata.annotations.as_ref()?.get(REVISION) != Some(&number) => {
            format!("Rolling out to MachineSet {}: it has the wanted template again", name_of(set))
        }
        New::Existing(_) | New::None => return None,
    };
    let is_rollout = pass.old.iter().any(|old| pass.owned.has_machines(old.set));
    let about = Target::of(pass.observed.deployment);
    is_rollout.then(|| Effect::Emit(Event::normal(about, ROLLOUT_STARTED, message)))
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
