//! Machines that are deleted while a rollout goes on: who, and why.

use std::collections::BTreeSet;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use refit_api::cluster::{Machine, MachineSet};
use refit_api::rollout::{MachineDeletion, MachineRollout, RolloutDecision};
use refit_api::vocabulary::refit::annotations::KEEP_ORIGINALS;

use super::verdict;
use crate::coverage::shortened;
use crate::effect::Effect;
use crate::fleet;
use crate::machine_set::delete::why;
use crate::machine_set::start_move::handover_of;
use crate::status_patch::status_patch;

/// How many deletions are listed, the last ones; all are counted. As many as the schema takes.
pub const MAX_DELETIONS: usize = 100;
/// How the reason of one begins that goes because it has to be replaced.
pub(super) const REPLACED: &str = "it is replaced";
/// How the reason of one begins that goes because the user wants fewer.
const FEWER: &str = "fewer machines are wanted";
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
    verdict::in_part(&mut status);
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
///
/// Where the user wants fewer, the MachineSet was told so. A machine of an old one that goes otherwise makes room for one that the
/// rollout has made: where machines that were there first are to stay, none goes without a word.
fn reason(observed: &Deletions<'_>, machine: &Machine) -> String {
    let Deletions { machine_set, rollout, .. } = observed;
    let is_old = machine_set.metadata.name.as_deref() != Some(rollout.spec.revision.as_str());
    let known = why(machine_set, machine);
    let is_fewer = handover_of(machine_set).scaled_down > 0;
    match (known, &rollout.status.reason, rollout.status.decision) {
        (Some(known), _, _) if !known.starts_with(FEWER) => known,
        (_, Some(why), Some(RolloutDecision::Replace)) if is_old && !verdict::is_in_part(why) => {
            format!("{REPLACED}: {why}")
        }
        (Some(known), _, _) if is_fewer => known,
        _ if is_old && !fleet::is_scaffolding(machine) => {
            format!("{REPLACED} by a machine that the rollout has made, as {KEEP_ORIGINALS} is not true")
        }
        _ => "fewer machines are wanted, or another one takes its place".to_owned(),
    }
}
