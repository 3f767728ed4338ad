//! Machines that are deleted while a rollout goes on: who, and why.

use std::collections::BTreeSet;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use refit_api::cluster::{Machine, MachineSet};
use refit_api::conditions::{Status, get};
use refit_api::rollout::{MachineDeletion, MachineRollout, RolloutDecision};
use refit_api::vocabulary::annotations::REMEDIATE_MACHINE;
use refit_api::vocabulary::condition_types::HEALTH_CHECK_SUCCEEDED;

use crate::coverage::shortened;
use crate::effect::Effect;
use crate::fleet;
use crate::machine_set::start_move::handover_of;
use crate::status_patch::status_patch;

/// How many deletions are listed, the last ones; all are counted. As many as the schema takes.
pub const MAX_DELETIONS: usize = 100;
/// How the reason of one begins that goes because it has to be replaced.
pub(super) const REPLACED: &str = "it is replaced";
/// How much is said of one.
const MAX_REASON: usize = 512;

/// Machines that a MachineSet is about to delete.
#[derive(Debug, Clone, Copy)]
pub struct Deletions<'a> {
    pub now: Timestamp,
    pub machine_set: &'a MachineSet,
    pub machines: &'a [&'a Machine],
    /// What is written down of the rollout that goes on.
    pub rollout: &'a MachineRollout,
}

/// The write to make before the machines are deleted. Nothing if all of it is written down.
pub fn deletions(observed: &Deletions<'_>) -> Option<Effect> {
    let mut status = observed.rollout.status.clone();
    let known: BTreeSet<String> = status.deletions.iter().map(|it| it.machine.clone()).collect();
    let is_news = |machine: &&&Machine| !fleet::is_deleting(machine) && !known.contains(fleet::name(machine));
    let news: Vec<MachineDeletion> =
        observed.machines.iter().filter(is_news).map(|machine| deletion(observed, machine)).collect();
    if news.is_empty() {
        return None;
    }
    let count = i32::try_from(news.len()).unwrap_or(i32::MAX);
    status.deleted = Some(status.deleted.unwrap_or_default().saturating_add(count));
    status.deletions.extend(news);
    let surplus = status.deletions.len().saturating_sub(MAX_DELETIONS);
    status.deletions.drain(..surplus);
    match status_patch(observed.rollout, &observed.rollout.status, &status)? {
        // Another MachineSet may write to the same list.
        Effect::Patch(mut patch) => {
            patch.resource_version = observed.rollout.metadata.resource_version.clone();
            Some(Effect::Patch(patch))
        }
        other => Some(other),
    }
}

fn deletion(observed: &Deletions<'_>, machine: &Machine) -> MachineDeletion {
    MachineDeletion {
        machine: fleet::name(machine).to_owned(),
        reason: shortened(reason(observed, machine), MAX_REASON),
        time: Time(observed.now),
    }
}

/// Why the machine goes. Of a MachineSet whose machines are replaced, every one goes for that.
fn reason(observed: &Deletions<'_>, machine: &Machine) -> String {
    let Deletions { machine_set, rollout, .. } = observed;
    let unhealthy = get(&machine.status.conditions, HEALTH_CHECK_SUCCEEDED)
        .filter(|condition| Status::of(condition) == Status::False);
    let is_old = machine_set.metadata.name.as_deref() != Some(rollout.spec.revision.as_str());
    if handover_of(machine_set).is_scaffolding(fleet::name(machine)) {
        return "it stood in while the others were updated".to_owned();
    }
    if fleet::has_annotation(machine, REMEDIATE_MACHINE) {
        return format!("somebody asked for another machine in its place, by {REMEDIATE_MACHINE}");
    }
    if let Some(condition) = unhealthy {
        return format!("it is unhealthy: {}", condition.message);
    }
    let has_failed = fleet::has_update_failed(machine) && handover_of(machine_set).scaled_down > 0;
    match (&rollout.status.reason, rollout.status.decision) {
        (Some(why), Some(RolloutDecision::Replace)) if is_old => format!("{REPLACED}: {why}"),
        _ if has_failed => "fewer machines are wanted, and one whose update failed goes first".to_owned(),
        _ => "fewer machines are wanted, or another one takes its place".to_owned(),
    }
}
