//! What machines say about themselves, one and many.

mod deleting;
mod health;
mod kept;
mod versions;

pub use deleting::stale;
pub use health::{is_to_be_remediated, is_unhealthy, remediating};
pub use kept::{KEPT_SECONDS, kept};
pub use versions::{Versions, versions};

use jiff::Timestamp;
use refit_api::cluster::Machine;
use refit_api::conditions::{self, Source, View};
use refit_api::hooks::{Hook, plain};
use refit_api::pending_hooks;
use refit_api::vocabulary::annotations::{PENDING_ACKNOWLEDGE_MOVE, UPDATE_IN_PROGRESS};
use refit_api::vocabulary::condition_types as types;
use refit_api::vocabulary::refit::annotations::{SCAFFOLDING, UPDATE_FAILED, UPDATE_PLAN, UPDATE_PROGRESS};

use crate::coverage::FrozenPlan;
use crate::machine::progress::Progress;

/// For how long a new machine may be without `UpToDate` before that is worth telling.
const UP_TO_DATE_GRACE_SECONDS: i64 = 10;

/// How many machines there are, and of what sort.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    pub replicas: i32,
    pub ready: i32,
    pub available: i32,
    pub up_to_date: i32,
}

/// An extension that an update waits for, and that is not registered any more.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct GoneExtension {
    /// Its ExtensionConfig.
    pub extension: String,
    /// The fields that it was to change. None: that is not known.
    pub fields: Vec<String>,
}

impl Counters {
    /// Counts one machine. One that is being updated counts for nothing but its presence, whatever its conditions say:
    /// they lag behind. `is_current` says whether its template is the wanted one.
    pub fn add(&mut self, machine: &Machine, is_current: bool) {
        self.replicas += 1;
        if is_updating(machine) {
            return;
        }
        let is_true = |type_: &str| i32::from(conditions::is_true(&machine.status.conditions, type_));
        self.ready += is_true(types::READY);
        self.available += is_true(types::AVAILABLE);
        self.up_to_date += is_true(types::UP_TO_DATE) * i32::from(is_current);
    }
}

/// Whether an update in place is under way, from the move to the last write of its end.
pub fn is_updating(machine: &Machine) -> bool {
    has_annotation(machine, UPDATE_IN_PROGRESS) || is_hook_pending(machine)
}

/// Whether its update was given up. It is not over for that: it goes on when somebody asks for it.
pub fn has_update_failed(machine: &Machine) -> bool {
    has_annotation(machine, UPDATE_FAILED) && is_updating(machine)
}

/// Whether no extension is at work on it although its update is not done: it was given up, or its last try failed and the
/// next one has not begun. Then it may become something else. Whoever makes it so writes for the version that was seen:
/// the next try is written before it begins.
pub fn is_update_over(machine: &Machine) -> bool {
    has_update_failed(machine) || (is_hook_pending(machine) && progress_of(machine).is_over)
}

/// Whether it may become something else although its update is not done: that is over, or the extension whose turn it is has
/// not been registered for a while.
pub fn is_free(machine: &Machine) -> bool {
    is_update_over(machine) || (is_hook_pending(machine) && progress_of(machine).is_gone)
}

/// The extension that its update waits for and that is not registered any more, once that has lasted.
pub fn gone_extension(machine: &Machine) -> Option<GoneExtension> {
    let progress = Some(progress_of(machine)).filter(|it| it.is_gone || has_update_failed(machine))?;
    let plan = frozen_plan(machine)?;
    let next = plan.next_extension().filter(|next| is_hook_pending(machine) && progress.missing.contains(next))?;
    let fields = plan.fields_of(next).into_iter().map(|field| plain(&field)).collect();
    Some(GoneExtension { extension: next.extension_config().to_string(), fields })
}

/// The plan that it carries, if that can be read.
pub(crate) fn frozen_plan(machine: &Machine) -> Option<FrozenPlan> {
    let text = machine.metadata.annotations.as_ref()?.get(UPDATE_PLAN)?;
    FrozenPlan::decode(text).ok()
}

/// Whether a try of its update failed before, and the next one is under way.
pub fn is_update_retried(machine: &Machine) -> bool {
    is_hook_pending(machine) && !is_free(machine) && progress_of(machine).attempts > 0
}

/// How the update that is going on has gone so far.
pub(crate) fn progress_of(machine: &Machine) -> Progress {
    let annotation = |key: &str| machine.metadata.annotations.as_ref()?.get(key).map(String::as_str);
    let plan = frozen_plan(machine).map(|plan| plan.question);
    Progress::decode(annotation(UPDATE_PROGRESS), plan.as_ref())
}

/// Whether the Machine controller has an update to run.
pub fn is_hook_pending(machine: &Machine) -> bool {
    let annotations = machine.metadata.annotations.as_ref();
    annotations.is_some_and(|annotations| pending_hooks::is_pending(annotations, Hook::UpdateMachine.name()))
}

/// Whether it changed its owner and is not counted there yet.
pub fn is_pending_acknowledge(machine: &Machine) -> bool {
    has_annotation(machine, PENDING_ACKNOWLEDGE_MOVE)
}

/// Whether it is on its way out.
pub fn is_deleting(machine: &Machine) -> bool {
    machine.metadata.deletion_timestamp.is_some()
}

/// Whether a rollout has made it beyond those that the user wants.
pub fn is_scaffolding(machine: &Machine) -> bool {
    has_annotation(machine, SCAFFOLDING)
}

/// Whether the annotation is there, with any value.
pub fn has_annotation(machine: &Machine, key: &str) -> bool {
    machine.metadata.annotations.as_ref().is_some_and(|annotations| annotations.contains_key(key))
}

/// Its name; nothing for an object that never was in the API.
pub fn name(machine: &Machine) -> &str {
    machine.metadata.name.as_deref().unwrap_or_default()
}

/// The machine with its `Ready`, to be aggregated.
pub fn ready(machine: &Machine) -> Source<'_> {
    source(machine, types::READY)
}

/// The machine with its `UpToDate`, to be aggregated. Nothing for a very young one that does not have it yet: the
/// aggregate would flicker.
pub fn up_to_date(machine: &Machine, now: Timestamp) -> Option<Source<'_>> {
    let has_it = conditions::get(&machine.status.conditions, types::UP_TO_DATE).is_some();
    (has_it || is_older_than(machine, UP_TO_DATE_GRACE_SECONDS, now)).then(|| source(machine, types::UP_TO_DATE))
}

/// Whether the condition is true and has nothing to add: it makes no difference to an aggregate of others.
pub(crate) fn is_plain(machine: &Machine, type_: &str) -> bool {
    let condition = conditions::get(&machine.status.conditions, type_);
    condition.is_some_and(|condition| condition.status == "True" && condition.message.is_empty())
}

fn source<'a>(machine: &'a Machine, type_: &str) -> Source<'a> {
    let condition = conditions::get(&machine.status.conditions, type_);
    Source::new("Machine", &machine.metadata, condition.map(View::from))
}

/// A machine without a time of creation is as old as can be.
fn is_older_than(machine: &Machine, seconds: i64, now: Timestamp) -> bool {
    let created = machine.metadata.creation_timestamp.as_ref();
    created.is_none_or(|created| now.as_second().saturating_sub(created.0.as_second()) > seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{condition, machine};

    fn counted(change: impl FnOnce(&mut Machine), is_current: bool) -> (i32, i32, i32, i32) {
        let mut machine = machine("m");
        for type_ in [types::READY, types::AVAILABLE, types::UP_TO_DATE] {
            machine.status.conditions.push(condition(type_, "True"));
        }
        change(&mut machine);
        let mut counters = Counters::default();
        counters.add(&machine, is_current);
        (counters.replicas, counters.ready, counters.available, counters.up_to_date)
    }

    #[test]
    fn counters_skip_machines_that_are_being_updated() {
        let annotate = |key: &'static str, value: &'static str| {
            move |m: &mut Machine| {
                m.metadata.annotations.get_or_insert_default().insert(key.to_owned(), value.to_owned());
            }
        };
        assert_eq!(counted(|_| (), true), (1, 1, 1, 1));
        assert_eq!(counted(|_| (), false), (1, 1, 1, 0));
        assert_eq!(counted(annotate(UPDATE_IN_PROGRESS, ""), true), (1, 0, 0, 0));
        let pending = refit_api::vocabulary::annotations::PENDING_HOOKS;
        assert_eq!(counted(annotate(pending, "UpdateMachine"), true), (1, 0, 0, 0));
        assert_eq!(counted(annotate(pending, "Other"), true), (1, 1, 1, 1));
        assert_eq!(counted(|m| m.status.conditions.clear(), true), (1, 0, 0, 0));
    }

    #[test]
    fn a_very_young_machine_without_up_to_date_is_left_out() {
        let mut machine = machine("m");
        let created = machine.metadata.creation_timestamp.clone().expect("it must have been created").0;
        let after = |seconds| Timestamp::from_second(created.as_second() + seconds).expect("must be a time");
        assert!(up_to_date(&machine, after(10)).is_none());
        assert!(up_to_date(&machine, after(11)).is_some());
        machine.status.conditions.push(condition(types::UP_TO_DATE, "False"));
        assert!(up_to_date(&machine, after(0)).is_some());
    }
}
