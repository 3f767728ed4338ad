//! The record of a rollout, its MachineRollout: written before anything changes for it.

use refit_api::cluster::MachineSet;
use refit_api::hooks::RawObject;
use refit_api::rollout::{MachineRollout, MachineRolloutStatus};
use refit_api::vocabulary::managers;
use serde_json::json;

use super::pass::{New, Pass};
use super::wishes::Wishes;
use super::{Decision, Observed};
use crate::coverage::{Changes, MachineSetObjects, Question};
use crate::effect::{Apply, Effect, Part, Patch, Target};
use crate::machine_deployment::{Coverage, Revision};
use crate::machine_rollout::{self, Begin, begin, decided, set_verdict};
use crate::reading::Read;
use crate::status_patch::status_patch;

/// What was decided about the machines of old MachineSets, and by which of them it is shown.
pub(super) struct Verdict<'a> {
    verdict: machine_rollout::Verdict,
    /// Nothing: no old MachineSet has machines, so that nothing rolls out.
    shown: Option<&'a MachineSet>,
}

/// What was decided. One MachineSet whose machines cannot be updated in place says more than the others.
pub(super) fn verdict<'a>(pass: &Pass<'a>, coverages: &[Coverage]) -> Verdict<'a> {
    let with_machines = pass.old.iter().zip(coverages).filter(|(old, _)| pass.owned.count_of(old.set) > 0);
    let all: Vec<(&MachineSet, &Coverage)> = with_machines.map(|(old, coverage)| (old.set, coverage)).collect();
    let first = all.first().map(|(set, _)| *set);
    let uncovered = all.iter().find_map(|(set, coverage)| match coverage {
        Coverage::Uncovered { why } => Some((*set, why.clone())),
        Coverage::Covered | Coverage::Undecided { .. } | Coverage::Withdrawn { .. } => None,
    });
    match uncovered {
        Some((set, why)) => Verdict { verdict: machine_rollout::Verdict::NotInPlace { why }, shown: Some(set) },
        None if !all.is_empty() && all.iter().all(|(_, coverage)| **coverage == Coverage::Covered) => {
            Verdict { verdict: machine_rollout::Verdict::InPlace, shown: first }
        }
        None => Verdict { verdict: machine_rollout::Verdict::Unknown, shown: first },
    }
}

/// The writes that bring the record up to date. None where nothing rolls out, or where the API server does not have the kind.
pub(super) fn write(
    pass: &Pass<'_>,
    wishes: &Wishes,
    verdict: &Verdict<'_>,
    revision: &Revision,
    decision: &Decision,
) -> Vec<Effect> {
    let (Some(rollouts), Some(shown)) = (pass.observed.rollouts, verdict.shown) else { return Vec::new() };
    let machine_set = match &pass.new {
        New::Existing(set) => set.metadata.name.as_deref().unwrap_or_default(),
        New::ToBeCreated { name, .. } => name.as_str(),
        New::None => return Vec::new(),
    };
    let (deployment, view) = (pass.observed.deployment, &wishes.view);
    let (in_place, keep_originals) = (view.in_place, view.keep_originals);
    let number = revision.number;
    let Some(rollout) = begin(&Begin { deployment, in_place, keep_originals, machine_set, number, rollouts }) else {
        return Vec::new();
    };
    let mut status = rollout.status.clone();
    let name = shown.metadata.name.as_deref().unwrap_or_default();
    let answered = decision.answered.get(name).and_then(|key| pass.observed.answers.get(key));
    set_verdict(&verdict.verdict, in_place, answered, || unasked(pass, shown), &mut status);
    let event = decided(deployment, &rollout.status, &status).map(Effect::Emit);
    written(&rollout, &status).into_iter().chain(event).collect()
}

/// Creates the object, if it is not there, and writes its status.
fn written(rollout: &MachineRollout, status: &MachineRolloutStatus) -> Vec<Effect> {
    if rollout.metadata.uid.is_some() {
        return status_patch(rollout, &rollout.status, status).into_iter().collect();
    }
    let intent = serde_json::to_value(rollout).expect("an object of ours must encode");
    let target = Target::of(rollout);
    let status = serde_json::to_value(status).expect("a status must encode");
    let has_status = status.as_object().is_some_and(|status| !status.is_empty());
    let patch = Patch { part: Part::Status, ..Patch::object(target.clone(), json!({ "status": status })) };
    let create = Effect::Apply(Apply { target, manager: managers::MACHINE_DEPLOYMENT, intent });
    [create].into_iter().chain(has_status.then_some(Effect::Patch(patch))).collect()
}

/// What changes for the machines of a MachineSet about which nobody was asked.
fn unasked(pass: &Pass<'_>, old: &MachineSet) -> Option<Changes> {
    let mut wanted = old.clone();
    wanted.spec.template.spec = pass.observed.deployment.spec.template.spec.clone();
    let (from, to) = (objects(pass.observed, old)?, objects(pass.observed, &wanted)?);
    Question::about_machine_set(from, to).ok().map(|question| question.changes())
}

fn objects(observed: &Observed<'_>, set: &MachineSet) -> Option<MachineSetObjects> {
    let found = |reference| match observed.template(reference) {
        Read::Found(template) => Some(RawObject::clone(template)),
        Read::Missing | Read::Unreadable(_) => None,
    };
    let spec = &set.spec.template.spec;
    let bootstrap = match &spec.bootstrap.config_ref {
        Some(reference) => Some(found(reference)?),
        None => None,
    };
    Some(MachineSetObjects {
        machine_set: set.clone(),
        infrastructure_machine_template: found(&spec.infrastructure_ref)?,
        bootstrap_config_template: bootstrap,
    })
}
