//! The end of an update: the marks come off, in an order that survives a crash between any two.

use jiff::SignedDuration;
use refit_api::hooks::Hook;
use refit_api::pending_hooks;
use refit_api::vocabulary::annotations::UPDATE_IN_PROGRESS;
use refit_api::vocabulary::labels::{MACHINE_TEMPLATE_HASH, SET_NAME};
use refit_api::vocabulary::refit::annotations::{UPDATE_FAILED, UPDATE_PLAN, UPDATE_PROGRESS};
use refit_api::vocabulary::refit::events;
use serde_json::{Map, Value, json};

use super::{Report, tell};
use crate::coverage::FrozenPlan;
use crate::effect::{Effect, Event, Patch, Target};
use crate::machine::draft::Draft;
use crate::machine::observed::{External, has_annotation};

/// Takes the marks off.
///
/// Where the objects are known to be what they should be, an update goes on without their marks, and all marks of the Machine
/// come off last, in one patch. Otherwise they are what says that the update was handed over: then the Machine's mark goes
/// first, as nobody asks an extension without it, and the pending hook last, as this is done again while it is there.
///
/// The Machine's first patch is for exactly the version that was seen: an outdated view must not take the marks of the
/// next update off.
pub(super) fn complete(draft: &mut Draft<'_>) -> Report {
    let was_stopped = draft.annotations().get(UPDATE_PLAN).is_some_and(|text| has_steps_left(text));
    let objects: Vec<Effect> = objects(draft).filter_map(|object| released(draft, object)).collect();
    if was_stopped {
        let words = "somebody took the mark of the update off before all extensions were done";
        draft.events.push(Event::warning(draft.target(), events::ABORTED_IN_PLACE_UPDATE, words));
    } else {
        tell::done(draft);
    }
    draft.annotate(UPDATE_IN_PROGRESS, None);
    let mark = draft.first_patch();
    for key in [UPDATE_PLAN, UPDATE_PROGRESS, UPDATE_FAILED] {
        draft.annotate(key, None);
    }
    pending_hooks::mark_done(draft.machine.metadata.annotations.get_or_insert_default(), Hook::UpdateMachine.name());
    let all = draft.first_patch();
    draft.completion = Some(if needs_no_marks(draft) {
        objects.into_iter().chain([Effect::Patch(all)]).collect()
    } else {
        let rest = Patch { resource_version: None, ..all };
        std::iter::once(Effect::Patch(mark)).chain(objects).chain([Effect::Patch(rest)]).collect()
    });
    draft.requeue_in(SignedDuration::ZERO);
    Report::default()
}

/// Whether the update would go on if the objects lost their marks and the Machine did not.
fn needs_no_marks(draft: &Draft<'_>) -> bool {
    let seen = draft.seen;
    seen.infrastructure_is_wanted && (seen.bootstrap_is_wanted || seen.bootstrap == External::NotReferenced)
}

/// Marks the objects of an update that takes longer than one answer. Where they are what they should be, nobody has done it
/// yet; controllers of upstream wait for these marks, should they take over.
pub(super) fn mark(draft: &mut Draft<'_>) {
    let merge = json!({ "metadata": { "annotations": { UPDATE_IN_PROGRESS: "" } } });
    let unmarked = objects(draft).filter(|object| !has_annotation(object, UPDATE_IN_PROGRESS));
    let patches = unmarked.map(|object| Effect::Patch(Patch::object(Target::of_value(object), merge.clone())));
    let patches: Vec<Effect> = patches.collect();
    draft.last.extend(patches);
}

fn objects<'a>(draft: &Draft<'a>) -> impl Iterator<Item = &'a Value> + use<'a> {
    [&draft.seen.infrastructure, &draft.seen.bootstrap].into_iter().filter_map(External::object)
}

/// The object without its mark, and with the labels that name its MachineSet. Nothing if that is so.
fn released(draft: &Draft<'_>, object: &Value) -> Option<Effect> {
    let mut metadata = Map::new();
    if has_annotation(object, UPDATE_IN_PROGRESS) {
        metadata.insert("annotations".to_owned(), json!({ UPDATE_IN_PROGRESS: null }));
    }
    let of_machine = draft.machine.metadata.labels.as_ref();
    let label = |key: &'static str| of_machine.and_then(|labels| labels.get(key)).map(|value| (key, value));
    let found = &object["metadata"]["labels"];
    let labels = [SET_NAME, MACHINE_TEMPLATE_HASH].into_iter().filter_map(label);
    let labels: Map<String, Value> = labels
        .filter(|(key, value)| found[*key] != value.as_str())
        .map(|(key, value)| (key.to_owned(), json!(value)))
        .collect();
    if !labels.is_empty() {
        metadata.insert("labels".to_owned(), Value::Object(labels));
    }
    let merge = json!({ "metadata": metadata });
    let is_due = merge["metadata"].as_object().is_some_and(|metadata| !metadata.is_empty());
    is_due.then(|| Effect::Patch(Patch::object(Target::of_value(object), merge)))
}

/// A plan that nobody understands was not run to its end.
fn has_steps_left(text: &str) -> bool {
    FrozenPlan::decode(text).map_or(true, |plan| plan.next_extension().is_some())
}
