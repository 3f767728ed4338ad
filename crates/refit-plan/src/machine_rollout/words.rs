//! Where a rollout stands, and why.

use jiff::SignedDuration;
use refit_api::cluster::{MachineDeployment, MachineDeploymentRolloutStrategyType};
use refit_api::conditions::{get, is_true, paused};
use refit_api::rollout::{FieldChange, MachineRolloutStatus, RolloutDecision, RolloutState};
use refit_api::vocabulary::refit::condition_types::ROLLOUT_BLOCKED;

use super::Observed;
use crate::coverage::{MAX_WORDS, shortened};
use crate::machine::paused_by;
use crate::waiting::WaitingOn;

/// How many reasons, or changes, a line has room for.
const MAX_LISTED: usize = 3;

/// How much of what an extension said is looked for where it may have been shortened.
const MAX_COMPARED: usize = 128;

/// Where a rollout of this status stands. Who paused it, or blocked it, is the first to be known.
pub(super) fn state(observed: &Observed<'_>, status: &MachineRolloutStatus) -> RolloutState {
    let deployment = observed.deployment;
    if status.completion_time.is_some() {
        RolloutState::Completed
    } else if pause(observed).is_some() {
        RolloutState::Paused
    } else if is_blocked(observed) {
        RolloutState::Blocked
    } else if is_on_delete(deployment) {
        RolloutState::OnDelete
    } else if matches!(status.decision, None | Some(RolloutDecision::Blocked)) {
        // What was blocked and is not any more is decided anew.
        RolloutState::Deciding
    } else {
        RolloutState::Progressing
    }
}

/// Why it stands there, in one line.
pub(super) fn message(observed: &Observed<'_>, status: &MachineRolloutStatus) -> String {
    let reasons = || reasons(observed.waiting_on.iter());
    let words = match status.state {
        Some(RolloutState::Completed) => completed(status),
        Some(RolloutState::Paused) => pause(observed).unwrap_or_default(),
        Some(RolloutState::Blocked) => with_failure(blocked(observed), status),
        Some(RolloutState::OnDelete) => "machines change when they are deleted".to_owned(),
        Some(RolloutState::Deciding) => reasons().unwrap_or_else(|| "waiting for extensions to answer".to_owned()),
        Some(RolloutState::Progressing) => with_failure(reasons().unwrap_or_else(|| moves(observed, status)), status),
        Some(RolloutState::Overtaken) | None => String::new(),
    };
    shortened(words, MAX_WORDS)
}

/// What is going on where nothing is waited for. Machines that are as they should be may still have to become available.
fn moves(observed: &Observed<'_>, status: &MachineRolloutStatus) -> String {
    let is_updated = status.progress.as_ref().is_some_and(|it| it.machines > 0 && it.updated == it.machines);
    if !is_updated {
        return change(status);
    }
    let told = &observed.deployment.status;
    let count = |counter: Option<i32>| counter.unwrap_or_default();
    let (up_to_date, available) = (count(told.up_to_date_replicas), count(told.available_replicas));
    let wanted = count(observed.deployment.spec.replicas);
    format!("waiting for all of {wanted} machines to be counted: {up_to_date} up-to-date, {available} available")
}

/// What changes, or, where machines are replaced for it, why.
pub(super) fn change(status: &MachineRolloutStatus) -> String {
    let is_replaced = status.decision == Some(RolloutDecision::Replace);
    let uncovered: Vec<&FieldChange> = status.changes.iter().filter(|change| change.covered_by.is_none()).collect();
    if let Some(why) = status.reason.as_ref().filter(|_| is_replaced) {
        return why.clone();
    }
    if is_replaced && !uncovered.is_empty() {
        return format!("no extension covers {}", listed(&uncovered, |change| change.path.clone()));
    }
    listed(&status.changes.iter().collect::<Vec<_>>(), in_words)
}

/// Who has paused it.
fn pause(observed: &Observed<'_>) -> Option<String> {
    let deployment = observed.deployment;
    let by = paused_by(observed.cluster, &deployment.metadata).map(|by| paused("MachineDeployment", by).message.into());
    let own = || "MachineDeployment spec.paused is set to true".to_owned();
    by.or_else(|| deployment.spec.paused.unwrap_or_default().then(own))
}

fn is_on_delete(deployment: &MachineDeployment) -> bool {
    let strategy = deployment.spec.rollout.strategy.as_ref();
    strategy.is_some_and(|strategy| strategy.type_ == MachineDeploymentRolloutStrategyType::OnDelete)
}

/// Whether the last decision says so, or what was written down of one before.
fn is_blocked(observed: &Observed<'_>) -> bool {
    let is_written = is_true(&observed.deployment.status.conditions, ROLLOUT_BLOCKED);
    is_written || observed.waiting_on.iter().any(WaitingOn::is_blocked)
}

/// What blocks it.
fn blocked(observed: &Observed<'_>) -> String {
    let condition = get(&observed.deployment.status.conditions, ROLLOUT_BLOCKED);
    let written = condition.map(|it| it.message.clone()).unwrap_or_default();
    reasons(observed.waiting_on.iter().filter(|reason| reason.is_blocked())).unwrap_or(written)
}

/// The same, and what an extension said where the update of a machine that is named fails. The condition may have said it already.
fn with_failure(words: String, status: &MachineRolloutStatus) -> String {
    let is_said = |said: &str| {
        let line = said.split_whitespace().collect::<Vec<_>>().join(" ");
        words.contains(said) || words.contains(line.chars().take(MAX_COMPARED).collect::<String>().as_str())
    };
    match status.failures.iter().find(|failure| words.contains(&failure.machine)) {
        Some(failure) if is_said(&failure.message) => words,
        Some(failure) => format!("{words} ({})", failure.message),
        None => words,
    }
}

fn completed(status: &MachineRolloutStatus) -> String {
    let words = "all machines are up-to-date";
    let took = status
        .start_time
        .as_ref()
        .zip(status.completion_time.as_ref())
        .map(|(start, end)| SignedDuration::from_secs(end.0.duration_since(start.0).as_secs()));
    match took.filter(SignedDuration::is_positive) {
        Some(took) => format!("{words}, after {took:#}"),
        None => words.to_owned(),
    }
}

/// What is waited for, each reason once.
fn reasons<'a>(waiting_on: impl Iterator<Item = &'a WaitingOn>) -> Option<String> {
    let mut words: Vec<String> = Vec::new();
    for reason in waiting_on.map(ToString::to_string) {
        if words.len() < MAX_LISTED && !words.contains(&reason) {
            words.push(reason);
        }
    }
    (!words.is_empty()).then(|| words.join("; "))
}

fn in_words(change: &FieldChange) -> String {
    let FieldChange { path, from, to, covered_by, .. } = change;
    let values = match (from, to) {
        (Some(from), Some(to)) => format!(" from {from} to {to}"),
        (None, Some(to)) => format!(" to {to}"),
        (Some(_), None) | (None, None) => String::new(),
    };
    let by = covered_by.as_ref().map(|by| format!(" by {by}"));
    format!("{path}{values}{}", by.unwrap_or_default())
}

fn listed(changes: &[&FieldChange], words: impl Fn(&FieldChange) -> String) -> String {
    let listed: Vec<String> = changes.iter().take(MAX_LISTED).map(|change| words(change)).collect();
    match changes.len().saturating_sub(MAX_LISTED) {
        0 => listed.join(", "),
        more => format!("{} and {more} more", listed.join(", ")),
    }
}
