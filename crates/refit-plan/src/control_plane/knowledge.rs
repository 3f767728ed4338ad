//! What is known of the change of a Machine, and whether that is enough to replace it.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use refit_api::policy::InPlacePolicy;
use refit_api::vocabulary::annotations::DELETE_MACHINE;
use refit_api::vocabulary::refit::annotations::REPLACE_AFTER;
use serde_json::json;

use super::decided::{Decided, Record};
use super::decision::Decision;
use super::observed::{Coverage, ObservedMachine, Refused};
use super::preflight::RETRY;
use super::view::View;
use crate::coverage::{Accepted, ContentHash, FrozenPlan, MAX_WORDS, shortened};
use crate::waiting::WaitingOn;

/// What came of asking about a Machine.
pub(super) enum Known<'a> {
    NotYet,
    Covered {
        plan: &'a FrozenPlan,
        change: &'a ContentHash,
    },
    /// It cannot be changed in place. The reason says why, and the hash names the change in the record.
    Not {
        change: ContentHash,
        reason: WaitingOn,
    },
    /// Nobody knows yet. The reason says what is missing.
    Unsettled {
        reason: WaitingOn,
    },
}

impl<'a> Known<'a> {
    pub fn of(machine: &'a ObservedMachine) -> Self {
        match &machine.coverage {
            Coverage::NotAsked => Self::NotYet,
            Coverage::Unknown { why } => Self::Unsettled { reason: unknown(machine, why.clone()) },
            Coverage::Refused(refused) if refused.is_for_good => {
                let change = ContentHash::of(&json!(["refused", refused.object, refused.words]));
                Self::Not { change, reason: refusal(machine, refused) }
            }
            Coverage::Refused(refused) => Self::Unsettled { reason: refusal(machine, refused) },
            Coverage::Asked { target: _, change, verdict } => match verdict {
                Accepted::Covered { plan } => Self::Covered { plan, change },
                Accepted::Uncovered { paths, answers } => {
                    let reason = WaitingOn::Uncovered { paths: paths.clone(), answers: answers.clone() };
                    Self::Not { change: change.clone(), reason }
                }
                Accepted::Undecided { answers } => {
                    Self::Unsettled { reason: WaitingOn::Undecided { answers: answers.clone() } }
                }
            },
        }
    }
}

/// Whether a Machine that cannot be changed in place may be replaced for it. If not, the decision says what it waits for.
///
/// Under `Prefer`, the same extensions must have said the same for as long as the user wants, and that must be on record. A
/// change that was accepted in place before is not replaced by itself.
pub(super) fn may_replace(
    view: &View<'_>,
    machine: &ObservedMachine,
    change: &ContentHash,
    reason: WaitingOn,
    decision: &mut Decision,
) -> bool {
    match &view.policy {
        Ok(policy) => match policy.in_place {
            InPlacePolicy::Never => true,
            InPlacePolicy::Require => {
                wait_once(reason, decision);
                false
            }
            InPlacePolicy::Prefer => has_lasted(view, machine, change, &reason, policy.replace_after, decision),
        },
        Err(why) => {
            decision.wait_for(why.clone());
            false
        }
    }
}

fn has_lasted(
    view: &View<'_>,
    machine: &ObservedMachine,
    change: &ContentHash,
    reason: &WaitingOn,
    replace_after: Duration,
    decision: &mut Decision,
) -> bool {
    let observed = view.observed;
    let why = shortened(reason.to_string(), MAX_WORDS / 2);
    let Some(registered) = &observed.registered else {
        decision.requeue(RETRY);
        decision.wait(unknown(machine, "the registered extensions are not known".to_owned()));
        return false;
    };
    let record = Record::of(observed);
    if record.get(change) == Some(&Decided::InPlace) {
        decision.wait(withdrawn(machine, &why));
        return false;
    }
    let Some(since) = record.uncovered_since(change, registered) else {
        let decided = Decided::uncovered_by(registered, observed.now);
        decision.patch(record.with(observed, change, decided));
        decision.requeue(replace_after);
        decision.wait(until(machine, &why, observed.now, replace_after));
        return false;
    };
    let passed = Duration::try_from(observed.now.duration_since(since)).unwrap_or_default();
    let Some(left) = replace_after.checked_sub(passed).filter(|left| !left.is_zero()) else { return true };
    decision.requeue(left);
    decision.wait(until(machine, &why, since, replace_after));
    false
}

/// Puts on record that the change is made in place, where that is not on record yet.
pub(super) fn record_in_place(view: &View<'_>, change: &ContentHash, decision: &mut Decision) {
    let record = Record::of(view.observed);
    if record.get(change) != Some(&Decided::InPlace) {
        decision.patch(record.with(view.observed, change, Decided::InPlace));
    }
}

/// Waits for something that is looked at again soon.
pub(super) fn unsettled(reason: WaitingOn, decision: &mut Decision) {
    wait_once(reason, decision);
    decision.requeue(RETRY);
}

/// Machines of one control plane mostly hear the same.
pub(super) fn wait_once(reason: WaitingOn, decision: &mut Decision) {
    if !decision.waiting_on.contains(&reason) {
        decision.wait(reason);
    }
}

pub(super) fn unknown(machine: &ObservedMachine, why: String) -> WaitingOn {
    WaitingOn::CoverageUnknown { machine_set: named(machine), why }
}

pub(super) fn refusal(machine: &ObservedMachine, refused: &Refused) -> WaitingOn {
    let why = format!("{} would be refused: {}", refused.object, shortened(refused.words.clone(), MAX_WORDS / 2));
    WaitingOn::ChangeRefused { machines: vec![machine.name().to_owned()], why }
}

fn withdrawn(machine: &ObservedMachine, why: &str) -> WaitingOn {
    let next = format!(
        "it goes on when an extension covers it again; to replace the machine, give it the annotation {DELETE_MACHINE}"
    );
    WaitingOn::Withdrawn { machine_set: named(machine), why: format!("{why}; {next}") }
}

fn until(machine: &ObservedMachine, why: &str, since: Timestamp, replace_after: Duration) -> WaitingOn {
    let at = SignedDuration::try_from(replace_after).ok().and_then(|after| since.checked_add(after).ok());
    let at = at.map_or_else(|| "some time".to_owned(), |at| at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
    unknown(machine, format!("{why}; the machine is replaced at {at} if that is still so, by {REPLACE_AFTER}"))
}

fn named(machine: &ObservedMachine) -> String {
    format!("machine {}", machine.name())
}
