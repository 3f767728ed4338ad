//! What is written down of the rollouts of a MachineDeployment: one MachineRollout for each, for people.
//!
//! A rollout is a passage of machines to a MachineSet, and not the MachineSet: who changes a template back, and forth again,
//! rolls out three times. The number that the MachineDeployment counts in `revision` tells them apart.
//!
//! | who | writes | when |
//! |---|---|---|
//! | the decision about the MachineDeployment | the object, what was decided and why (`begin`, `verdict`) | before it changes a MachineSet for it |
//! | the decision about a MachineSet | which machines it deletes and why ([`deletions`]) | before it deletes them |
//! | [`decide`] | how far the rollout is, what it waits for, its end; and deletes old ones | about once a second |
//!
//! Nothing is decided by reading it. The last of the three is a moment behind: a rollout of many machines must not cost a write
//! for each step of each machine.

mod begin;
mod deletions;
mod machines;
mod progress;
mod record;
mod tell;
#[cfg(test)]
mod tests;
mod verdict;
mod words;

use std::time::Duration;

use jiff::Timestamp;
use refit_api::cluster::{Cluster, Machine, MachineDeployment, MachineSet};
use refit_api::rollout::{MachineRollout, MachineRolloutStatus};
use refit_api::vocabulary::annotations::REVISION;

use crate::effect::{Delete, Effect};
use crate::ownership::{controller, ensure_owner};
use crate::plan::Plan;
use crate::status_patch::status_patch;
use crate::waiting::WaitingOn;

pub(crate) use begin::{Begin, begin};
pub use deletions::{Deletions, MAX_DELETIONS, deletions};
pub(crate) use tell::decided;
pub(crate) use verdict::{Verdict, set_verdict};

/// How many rollouts of a MachineDeployment are kept, the one that is going on among them.
pub const KEPT: usize = 10;

/// How soon to look again while machines are being updated: the words of extensions change without any other event.
const REFRESH: Duration = Duration::from_secs(5);

/// Everything that the decision may look at.
#[derive(Debug, Clone)]
pub struct Observed<'a> {
    pub now: Timestamp,
    pub deployment: &'a MachineDeployment,
    pub cluster: &'a Cluster,
    /// The MachineSet of the wanted template, if there is one.
    pub new: Option<&'a MachineSet>,
    /// The machines of the MachineDeployment.
    pub machines: &'a [&'a Machine],
    /// What the MachineDeployment waits for, and then its MachineSets, by their last decisions.
    pub waiting_on: &'a [WaitingOn],
    /// Those that the MachineDeployment owns, and those that name it and that nobody owns.
    pub rollouts: &'a [&'a MachineRollout],
}

/// Decides what to write of rollouts that have begun.
///
/// # Guarantees
/// - What is closed is not written to again.
/// - A rollout is not called complete while the MachineDeployment counts otherwise.
/// - The newest [`KEPT`] are kept.
/// - What nobody owns belongs to the MachineDeployment of that name, unless that is being deleted, too.
pub fn decide(observed: &Observed<'_>) -> Plan {
    let mut plan = Plan::default();
    if observed.deployment.metadata.deletion_timestamp.is_some() {
        plan.effects = close(observed.deployment, observed.rollouts, observed.now);
        return plan;
    }
    let surplus = surplus(observed.rollouts);
    // Ahead of the status: an adoption is for the version that was read.
    let kept = observed.rollouts.iter().filter(|it| !surplus.iter().any(|surplus| is_same(surplus, it)));
    plan.effects.extend(kept.filter_map(|it| adopt(observed.deployment, it)));
    let current = observed.new.and_then(|new| current(observed.rollouts, new));
    for overtaken in observed.rollouts.iter().filter(|it| is_open(it) && is_overtaken(observed, it, current)) {
        let status = record::overtaken(overtaken, "overtaken by another change".to_owned(), observed.now);
        plan.effects.extend(write(overtaken, status));
    }
    if let Some(current) = current {
        follow(observed, current, &mut plan);
    }
    plan.effects.extend(surplus.iter().map(|it| Effect::Delete(Delete::as_seen(*it))));
    plan
}

/// Closes what is open of a MachineDeployment that is being deleted. Nobody would do that after it, as what it owns may stay: with
/// `--cascade=orphan`.
pub(crate) fn close(deployment: &MachineDeployment, rollouts: &[&MachineRollout], now: Timestamp) -> Vec<Effect> {
    let name = deployment.metadata.name.as_deref().unwrap_or_default();
    let closed = |it: &&MachineRollout| {
        write(it, record::overtaken(it, format!("MachineDeployment {name} is being deleted"), now))
    };
    rollouts.iter().filter(|it| is_open(it)).filter_map(closed).collect()
}

/// Makes the MachineDeployment the controller of a rollout that nobody owns. The garbage collector set it free when an earlier
/// MachineDeployment of this name was deleted without what it owned.
fn adopt(deployment: &MachineDeployment, rollout: &MachineRollout) -> Option<Effect> {
    let is_owned = rollout.metadata.owner_references.as_ref().is_some_and(|owners| !owners.is_empty());
    if is_owned || rollout.metadata.deletion_timestamp.is_some() {
        return None;
    }
    ensure_owner(rollout, controller(deployment).ok()?)
}

fn is_same(one: &MachineRollout, other: &MachineRollout) -> bool {
    one.metadata.name == other.metadata.name
}

/// The rollout to this MachineSet that is going on. It is written down a moment before the MachineSet gets its number.
fn current<'a>(rollouts: &[&'a MachineRollout], new: &MachineSet) -> Option<&'a MachineRollout> {
    let name = new.metadata.name.as_deref().unwrap_or_default();
    let is_due = |it: &MachineRollout| it.spec.number.is_none() || it.spec.number >= number(new);
    let to_new = rollouts.iter().filter(|it| is_open(it) && it.spec.revision == name && is_due(it));
    to_new.max_by_key(|it| (it.spec.number, &it.metadata.name)).copied()
}

/// Whether the rollout will not be finished: machines are to belong to another MachineSet, or a later rollout is known. As long as
/// the wanted MachineSet is still to be made, a rollout may be to that one.
///
/// A number alone does not tell: a change that the user takes back before the MachineSet of its template was written leaves a
/// rollout whose number no MachineSet ever gets.
fn is_overtaken(observed: &Observed<'_>, rollout: &MachineRollout, current: Option<&MachineRollout>) -> bool {
    let Some(new) = observed.new else { return false };
    let latest = number(new).max(current.and_then(|current| current.spec.number));
    let is_to_another = Some(&rollout.spec.revision) != new.metadata.name.as_ref();
    is_to_another || rollout.spec.number.is_some_and(|number| Some(number) < latest)
}

/// The number of the last rollout to the MachineSet.
fn number(set: &MachineSet) -> Option<i64> {
    set.metadata.annotations.as_ref()?.get(REVISION)?.parse().ok()
}

/// Whether the rollout is neither complete nor overtaken.
pub fn is_open(rollout: &MachineRollout) -> bool {
    rollout.status.completion_time.is_none()
}

/// Writes what has changed, and tells people what they would otherwise have to look for.
fn follow(observed: &Observed<'_>, rollout: &MachineRollout, plan: &mut Plan) {
    let status = record::status(observed, rollout);
    if status.progress.as_ref().is_some_and(|progress| progress.updating > 0) {
        plan.requeue(REFRESH);
    }
    let events = tell::events(observed.deployment, &rollout.status, &status);
    if let Some(patch) = write(rollout, status) {
        plan.effects.push(patch);
        plan.effects.extend(events.into_iter().map(Effect::Emit));
    }
}

fn write(rollout: &MachineRollout, status: MachineRolloutStatus) -> Option<Effect> {
    status_patch(rollout, &rollout.status, &status)
}

/// The oldest of those that are closed, beyond what is kept.
fn surplus<'a>(rollouts: &[&'a MachineRollout]) -> Vec<&'a MachineRollout> {
    let mut closed: Vec<&MachineRollout> = rollouts.iter().copied().filter(|it| !is_open(it)).collect();
    closed.sort_by_key(|it| (it.status.completion_time.as_ref().map(|time| time.0), it.metadata.name.clone()));
    closed.truncate(rollouts.len().saturating_sub(KEPT));
    closed
}
