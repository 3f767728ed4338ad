//! Why a rollout does not go on by itself.

use std::fmt;

use refit_api::policy::InPlacePolicy;

use super::rollout::{Rollout, Set};
use super::{Coverage, Strategy};

/// What a rollout waits for. Becomes a condition, an event and a line on the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WaitingOn {
    /// `Require` forbids to replace the machines of this MachineSet, and not every change of them is covered.
    Uncovered { machine_set: String, why: String },
    /// Nobody knows yet whether the machines of this MachineSet can be updated in place.
    Undecided { machine_set: String, why: String },
    /// The updates of these machines have failed for good. They use up what may be unavailable.
    FailedUpdates(Vec<String>),
    /// These machines are being updated.
    Updates(Vec<String>),
    /// No more machines may become unavailable.
    Availability { available: i64, minimum: i64 },
    /// No machine may be unavailable, and a surge machine would have to stay.
    NoRoom,
    /// The user deletes machines of these MachineSets.
    Deletion(Vec<String>),
    /// The MachineDeployment is paused.
    Paused,
}

impl fmt::Display for WaitingOn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uncovered { machine_set, why } => {
                write!(f, "{machine_set} cannot be updated in place and must not be replaced: {why}")
            }
            Self::Undecided { machine_set, why } => {
                write!(f, "it is not known yet whether {machine_set} can be updated in place: {why}")
            }
            Self::FailedUpdates(machines) => write!(f, "the update of {} has failed", machines.join(", ")),
            Self::Updates(machines) => write!(f, "{} being updated", are(machines)),
            Self::Availability { available, minimum } => {
                write!(f, "{available} machines are available, and {minimum} must be")
            }
            Self::NoRoom => f.write_str(
                "maxUnavailable is 0, and a surge machine would replace an original; set maxUnavailable or keep originals",
            ),
            Self::Deletion(sets) => write!(f, "machines of {} change when they are deleted", sets.join(", ")),
            Self::Paused => f.write_str("it is paused"),
        }
    }
}

fn are(machines: &[String]) -> String {
    let verb = if machines.len() == 1 { "is" } else { "are" };
    format!("{} {verb}", machines.join(", "))
}

/// The reasons of a pass that is decided. MachineSets that are blocked are named even while others move.
pub fn reasons(rollout: &Rollout<'_>) -> Vec<WaitingOn> {
    let outdated: Vec<&Set<'_>> = rollout.old.iter().filter(|set| set.target().max(set.present()) > 0).collect();
    if outdated.is_empty() {
        return Vec::new();
    }
    if rollout.deployment.paused {
        return vec![WaitingOn::Paused];
    }
    if rollout.deployment.strategy == Strategy::OnDelete {
        return vec![WaitingOn::Deletion(outdated.iter().map(|set| set.name().to_owned()).collect())];
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
        Coverage::Uncovered { why } if set.frozen => Some(WaitingOn::Uncovered { machine_set, why: why.clone() }),
        Coverage::Undecided { why } if set.frozen => Some(WaitingOn::Undecided { machine_set, why: why.clone() }),
        Coverage::Covered | Coverage::Uncovered { .. } | Coverage::Undecided { .. } => None,
    }
}

fn slowed(rollout: &Rollout<'_>) -> Vec<WaitingOn> {
    let named = |failed: bool| -> Vec<String> {
        let updating = rollout.machines.iter().filter(|machine| machine.updating && machine.update_failed == failed);
        updating.map(|machine| machine.name.clone()).collect()
    };
    let (failed, updating) = (named(true), named(false));
    let mut reasons = Vec::new();
    if !failed.is_empty() {
        reasons.push(WaitingOn::FailedUpdates(failed));
    }
    if !updating.is_empty() {
        reasons.push(WaitingOn::Updates(updating));
    }
    if reasons.is_empty() {
        reasons.push(no_room(rollout));
    }
    reasons
}

fn no_room(rollout: &Rollout<'_>) -> WaitingOn {
    let (available, minimum) = (rollout.sum(|set| set.available), rollout.min_available());
    let needs_scaffolding = rollout.deployment.in_place == InPlacePolicy::Require && !rollout.deployment.keep_originals;
    if needs_scaffolding && minimum >= rollout.wanted() && available >= minimum {
        WaitingOn::NoRoom
    } else {
        WaitingOn::Availability { available, minimum }
    }
}
