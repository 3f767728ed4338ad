//! The end of an update: the marks come off, in an order that survives a crash between any two.

use jiff::SignedDuration;
use refit_api::hooks::Hook;
use refit_api::pending_hooks;
use refit_api::vocabulary::annotations::{PENDING_HOOKS, UPDATE_IN_PROGRESS};
use refit_api::vocabulary::refit::annotations::{UPDATE_FAILED, UPDATE_PLAN, UPDATE_PROGRESS};
use refit_api::vocabulary::refit::events;
use serde_json::{Map, Value, json};

use super::{Report, tell};
use crate::coverage::FrozenPlan;
use crate::effect::{Effect, Event, Patch, Target};
use crate::machine::draft::Draft;
use crate::machine::observed::has_annotation;

/// Takes the marks off.
///
/// The Machine's own goes first: without it nobody asks an extension any more. That patch is made even if there is
/// nothing to take off, for its precondition: an outdated view must not take the marks of the next update off. The
/// pending hook goes last: while it is there, this is done again.
pub(super) fn complete(draft: &mut Draft<'_>) -> Report {
    let was_stopped = draft.annotations().get(UPDATE_PLAN).is_some_and(|text| has_steps_left(text));
    if was_stopped {
        let words = "somebody took the mark of the update off before all extensions were done";
        draft.events.push(Event::warning(draft.target(), events::ABORTED_IN_PLACE_UPDATE, words));
    } else {
        tell::done(draft);
    }
    draft.annotate(UPDATE_IN_PROGRESS, None);
    let mut effects = vec![Effect::Patch(draft.first_patch())];
    let objects = [&draft.seen.infrastructure, &draft.seen.bootstrap];
    effects.extend(objects.into_iter().filter_map(|object| unmark(object.object()?)));
    effects.push(last_patch(draft));
    draft.completion = Some(effects);
    draft.requeue_in(SignedDuration::ZERO);
    Report::default()
}

/// A plan that nobody understands was not run to its end.
fn has_steps_left(text: &str) -> bool {
    FrozenPlan::decode(text).map_or(true, |plan| plan.next_extension().is_some())
}

fn unmark(object: &Value) -> Option<Effect> {
    let merge = json!({ "metadata": { "annotations": { UPDATE_IN_PROGRESS: null } } });
    has_annotation(object, UPDATE_IN_PROGRESS).then(|| Effect::Patch(Patch::object(Target::of_value(object), merge)))
}

/// Takes the pending hook off, and with it everything that was written down for the update.
fn last_patch(draft: &mut Draft<'_>) -> Effect {
    let mut changed = Map::new();
    for key in [UPDATE_PLAN, UPDATE_PROGRESS, UPDATE_FAILED] {
        if draft.has_annotation(key) {
            draft.annotate(key, None);
            changed.insert(key.to_owned(), Value::Null);
        }
    }
    pending_hooks::mark_done(draft.machine.metadata.annotations.get_or_insert_default(), Hook::UpdateMachine.name());
    changed.insert(PENDING_HOOKS.to_owned(), json!(draft.annotations().get(PENDING_HOOKS)));
    Effect::Patch(Patch::object(draft.target(), json!({ "metadata": { "annotations": changed } })))
}
