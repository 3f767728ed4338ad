//! Why a rollout does not go on by itself.

use std::collections::BTreeMap;

use super::rollout::{Rollout, Set};
use super::{Coverage, Strategy};
use crate::fleet::GoneExtension;
use crate::waiting::WaitingOn;

/// The reasons of a pass that is decided. MachineSets that are blocked are named even while others move.
pub fn reasons(rollout: &Rollout<'_>) -> Vec<WaitingOn> {
    let outdated: Vec<&Set<'_>> = rollout.old.iter().filter(|set| set.target().max(set.present()) > 0).collect();
    if outdated.is_empty() {
        return gone(rollout).into_iter().chain(failed(rollout)).collect();
    }
    if rollout.deployment.paused {
        return vec![WaitingOn::Paused];
    }
    if rollout.deployment.strategy == Strategy::OnDelete {
        return vec![WaitingOn::OnDelete { machine_sets: outdated.iter().map(|set| set.name().to_owned()).collect() }];
    }
    // Updates have begun that wait for it, and it comes back before the others are decided anew.
    let mut reasons = gone(rollout);
    reasons.extend(outdated.iter().filter_map(|set| blocked(set)));
    reasons.extend(refused(rollout));
    if rollout.is_stopped() {
        let machines = rollout.lost().map(str::to_owned).collect();
        reasons.push(WaitingOn::FailuresOnRecord { machine_set: rollout.new.name().to_owned(), machines });
        return reasons;
    }
    let others_wait = outdated.iter().any(|set| !set.frozen);
    if others_wait && !rollout.has_intents() {
        reasons.extend(slowed(rollout));
    }
    reasons
}

fn blocked(set: &Set<'_>) -> Option<WaitingOn> {
    let machine_set = set.name().to_owned();
    match set.coverage? {
        Coverage::Uncovered { why } if set.frozen => Some(WaitingOn::MustStay { machine_set, why: why.clone() }),
        Coverage::Undecided { why } if set.frozen => Some(WaitingOn::CoverageUnknown { machine_set, why: why.clone() }),
        Coverage::Withdrawn { why } if set.frozen => Some(WaitingOn::Withdrawn { machine_set, why: why.clone() }),
        Coverage::Covered | Coverage::Uncovered { .. } | Coverage::Undecided { .. } | Coverage::Withdrawn { .. } => {
            None
        }
    }
}

/// The machines that the API server refuses, with its words for the first.
fn refused(rollout: &Rollout<'_>) -> Option<WaitingOn> {
    let covered = rollout.old.iter().filter(|set| set.is_covered()).flat_map(|set| &set.machines);
    let refused: Vec<_> = covered.filter(|machine| machine.is_refused_by(rollout.new.name())).collect();
    let why = refused.first()?.refused.as_ref()?.words.clone();
    let machines = refused.iter().map(|machine| machine.name.clone().into_owned()).collect();
    Some(WaitingOn::ChangeRefused { machines, why })
}

/// The updates that wait for an extension which is gone, by extension and by what it was to change.
fn gone(rollout: &Rollout<'_>) -> Vec<WaitingOn> {
    let mut by_extension: BTreeMap<&GoneExtension, Vec<String>> = BTreeMap::new();
    for machine in rollout.machines.iter().filter(|machine| !machine.deleting) {
        if let Some(gone) = &machine.gone {
            by_extension.entry(gone).or_default().push(machine.name.clone().into_owned());
        }
    }
    let reason = |(gone, machines): (&GoneExtension, Vec<String>)| {
        let GoneExtension { extension, fields } = gone.clone();
        WaitingOn::ExtensionGone { machines, extension, fields }
    };
    by_extension.into_iter().map(reason).collect()
}

/// The updates that failed for good. Nothing follows from them by itself, even if no other machine waits for it.
fn failed(rollout: &Rollout<'_>) -> Option<WaitingOn> {
    let machines = updating(rollout, true);
    (!machines.is_empty()).then_some(WaitingOn::FailedUpdates { machines })
}

fn updating(rollout: &Rollout<'_>, has_failed: bool) -> Vec<String> {
    let updating = rollout.machines.iter().filter(|machine| machine.updating && machine.update_failed == has_failed);
    updating.map(|machine| machine.name.clone().into_owned()).collect()
}

fn slowed(rollout: &Rollout<'_>) -> Vec<WaitingOn> {
    let mut reasons: Vec<WaitingOn> = failed(rollout).into_iter().collect();
    let updating = updating(rollout, false);
    if !updating.is_empty() {
        reasons.push(WaitingOn::Updates { machines: updating });
    }
    if reasons.is_empty() {
        let (available, minimum) = (rollout.sum(|set| set.available), rollout.min_available());
        reasons.push(WaitingOn::Availability { available, minimum });
    }
    reasons
}
