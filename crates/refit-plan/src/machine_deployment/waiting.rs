//! Why a rollout does not go on by itself.

use super::rollout::{Rollout, Set};
use super::{Coverage, Strategy};
use crate::waiting::WaitingOn;

/// The reasons of a pass that is decided. MachineSets that are blocked are named even while others move.
pub fn reasons(rollout: &Rollout<'_>) -> Vec<WaitingOn> {
    let outdated: Vec<&Set<'_>> = rollout.old.iter().filter(|set| set.target().max(set.present()) > 0).collect();
    if outdated.is_empty() {
        return failed(rollout).into_iter().collect();
    }
    if rollout.deployment.paused {
        return vec![WaitingOn::Paused];
    }
    if rollout.deployment.strategy == Strategy::OnDelete {
        return vec![WaitingOn::OnDelete { machine_sets: outdated.iter().map(|set| set.name().to_owned()).collect() }];
    }
    let mut reasons: Vec<WaitingOn> = outdated.iter().filter_map(|set| blocked(set)).collect();
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
        Coverage::Covered | Coverage::Uncovered { .. } | Coverage::Undecided { .. } => None,
    }
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
