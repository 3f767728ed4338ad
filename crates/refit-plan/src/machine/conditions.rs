//! The conditions of a Machine.

mod node;
mod provider;

use jiff::SignedDuration;
use refit_api::conditions::machine as words;
use refit_api::conditions::{self, NewCondition, PausedBy, Status, get, is_true, refit};
use refit_api::vocabulary::condition_types as types;
use refit_api::vocabulary::refit::annotations::UPDATE_FAILED;
use refit_api::vocabulary::refit::condition_types::UPDATE_FAILED as FAILED;

use super::deletion::Outcome;
use super::draft::Draft;
use super::in_place::{Report, is_updating};
use super::up_to_date;

/// What the Machine is busy with.
pub(super) enum Doing {
    Deleting(Outcome),
    /// With an update in place, or with nothing.
    Updating(Report),
}

/// Says that the Machine is left alone, and no more.
pub(super) fn set_paused(draft: &mut Draft<'_>, by: PausedBy) {
    set(draft, words::paused("Machine", by));
}

/// Sets all conditions, in the order in which they build on each other.
pub(super) fn reconcile(draft: &mut Draft<'_>, doing: Doing) {
    set(draft, words::not_paused());
    set(draft, provider::bootstrap(draft));
    set(draft, provider::infrastructure(draft));
    node::of(draft).into_iter().flatten().for_each(|condition| set(draft, condition));
    let update = match doing {
        Doing::Deleting(Outcome { deleting, update }) => {
            set_deleting(draft, deleting);
            update
        }
        Doing::Updating(update) => {
            set(draft, words::not_deleting());
            update
        }
    };
    set_updating(draft, update);
    if let Some(condition) = up_to_date::condition(draft) {
        set(draft, condition);
    }
    set(draft, ready(draft));
    set_available(draft);
    if draft.problems.is_empty() {
        draft.machine.status.observed_generation = draft.machine.metadata.generation.filter(|number| *number > 0);
    }
}

fn set(draft: &mut Draft<'_>, condition: NewCondition) {
    let generation = draft.machine.metadata.generation;
    conditions::set(&mut draft.machine.status.conditions, condition, generation, draft.seen.now);
}

fn set_deleting(draft: &mut Draft<'_>, deleting: Option<NewCondition>) {
    match deleting {
        Some(condition) => set(draft, condition),
        None if is_true(&draft.machine.status.conditions, types::DELETING) => {}
        None => set(draft, words::deleting::started()),
    }
}

fn set_updating(draft: &mut Draft<'_>, report: Report) {
    let is_said = is_true(&draft.machine.status.conditions, types::UPDATING);
    match (is_updating(draft.annotations()), report.updating) {
        (false, _) => set(draft, words::not_updating()),
        (true, Some(condition)) => set(draft, condition),
        (true, None) if is_said => {}
        (true, None) => set(draft, words::updating_in_place("")),
    }
    let is_given_up = is_updating(draft.annotations()) && draft.has_annotation(UPDATE_FAILED);
    let is_failed = is_true(&draft.machine.status.conditions, FAILED);
    match (report.failed, is_given_up, is_failed) {
        (Some(condition), _, _) => set(draft, condition),
        (None, true, false) => set(draft, refit::update_retries_exhausted("the update was given up")),
        (None, false, true) => set(draft, refit::update_not_failed()),
        (None, true, true) | (None, false, false) => {}
    }
}

fn ready(draft: &Draft<'_>) -> NewCondition {
    let machine = &draft.machine;
    let since = machine.metadata.deletion_timestamp.as_ref().map(|time| time.0);
    let deletion = since.map(|since| words::Deletion {
        since,
        draining_since: machine.status.deletion.as_ref().and_then(|it| Some(it.node_drain_start_time.as_ref()?.0)),
        now: draft.seen.now,
    });
    words::ready(&machine.status.conditions, &machine.spec.readiness_gates, deletion.as_ref())
}

/// A Machine is available once it has been ready for long enough.
fn set_available(draft: &mut Draft<'_>) {
    let since = get(&draft.machine.status.conditions, types::READY)
        .filter(|ready| Status::of(ready) == Status::True)
        .map(|ready| ready.last_transition_time.0);
    let Some(since) = since else { return set(draft, words::not_available()) };
    let needed = SignedDuration::from_secs(draft.machine.spec.min_ready_seconds.unwrap_or_default().into());
    let missing = needed.saturating_sub(draft.seen.now.duration_since(since));
    if missing.is_positive() {
        draft.requeue_in(missing);
        set(draft, words::waiting_for_min_ready_seconds());
    } else {
        set(draft, words::available());
    }
}
