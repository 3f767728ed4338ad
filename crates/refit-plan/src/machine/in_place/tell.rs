//! What people hear of an update: one event of an update that is over at once, a few of one that is not.
//!
//! A fleet has many machines, and each event is a write. So what begins and ends in one call is told by its end alone.

use jiff::{SignedDuration, Timestamp};
use refit_api::conditions::machine::updating_in_place;
use refit_api::conditions::{Status, get};
use refit_api::hooks::CanonicalName;
use refit_api::vocabulary::condition_types::UPDATING;
use refit_api::vocabulary::events::SUCCESSFUL_START_IN_PLACE_UPDATE;
use refit_api::vocabulary::labels;
use refit_api::vocabulary::refit::annotations::UPDATE_PLAN;
use refit_api::vocabulary::refit::events;

use super::answer::Outcome;
use super::update_began;
use crate::coverage::FrozenPlan;
use crate::effect::Event;
use crate::machine::draft::Draft;

/// An extension is at work, in its own words. Told when it is the first that is said of the update.
pub(super) fn at_work(draft: &mut Draft<'_>, said: &str) {
    // The owner of a control-plane Machine tells it itself: there are few of them.
    if !is_said(draft) && !draft.has_label(labels::CONTROL_PLANE) {
        let words = format!("Machine starting in-place update: {said}");
        draft.events.push(Event::normal(draft.target(), SUCCESSFUL_START_IN_PLACE_UPDATE, words));
    }
}

/// One extension is done, and it is the next one's turn. Not told where all of them may be done at once.
pub(super) fn next(draft: &mut Draft<'_>, words: &str) {
    if is_said(draft) {
        draft.events.push(Event::normal(draft.target(), events::SUCCESSFUL_IN_PLACE_UPDATE_STEP, words));
    }
}

/// A try failed, and there will be another. Which one it was is not said, so that the same failure is counted.
pub(super) fn try_failed(draft: &mut Draft<'_>, said: &str) {
    draft.events.push(Event::warning(draft.target(), events::FAILED_IN_PLACE_UPDATE_ATTEMPT, said));
}

/// The update is given up.
pub(super) fn given_up(draft: &mut Draft<'_>, said: &str, tries: u32) {
    let tries = if tries == 1 { "1 try".to_owned() } else { format!("{tries} tries") };
    let words = format!("given up after {tries}: {said}");
    draft.events.push(Event::warning(draft.target(), events::FAILED_IN_PLACE_UPDATE, words));
}

/// The update is done: by whom, and how long it took.
pub(super) fn done(draft: &mut Draft<'_>) {
    let by = match ran(draft).as_slice() {
        [] => String::new(),
        names => format!(" by {}", names.join(", ")),
    };
    let took = update_began(&draft.seen.machine).and_then(|began| after(began, draft.seen.now));
    let words = format!("updated in place{by}{}", took.unwrap_or_default());
    draft.events.push(Event::normal(draft.target(), events::SUCCESSFUL_IN_PLACE_UPDATE, words));
}

/// Whether the Machine says more of its update than that there is one.
fn is_said(draft: &Draft<'_>) -> bool {
    let updating = get(&draft.seen.machine.status.conditions, UPDATING).filter(|it| Status::of(it) == Status::True);
    updating.is_some_and(|it| it.message != updating_in_place("").message)
}

/// The extensions that ran. Without a plan, the one that was asked last.
fn ran(draft: &Draft<'_>) -> Vec<String> {
    let name = |name: &CanonicalName| name.extension_config().to_string();
    if let Some(text) = draft.annotations().get(UPDATE_PLAN) {
        return FrozenPlan::decode(text).map(|plan| plan.done().iter().map(name).collect()).unwrap_or_default();
    }
    let answer = draft.seen.answer.iter().filter(|answer| Outcome::of(answer) == Outcome::Done);
    answer.map(|answer| name(&answer.call.updater)).collect()
}

fn after(began: Timestamp, now: Timestamp) -> Option<String> {
    let took = SignedDuration::from_secs(now.duration_since(began).as_secs());
    took.is_positive().then(|| format!(", after {took:#}"))
}
