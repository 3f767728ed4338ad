//! How far the update of a Machine is.

use refit_api::hooks::{CanonicalName, Hook};
use refit_api::pending_hooks;
use refit_api::vocabulary::annotations::UPDATE_IN_PROGRESS;
use refit_api::vocabulary::labels;
use refit_api::vocabulary::refit::annotations::{UPDATE_FAILED, UPDATE_PLAN, UPDATE_PROGRESS};
use serde_json::Value;

use super::absence;
use super::limits::{Limits, limits_of};
use super::run::Run;
use crate::coverage::{ContentHash, FrozenPlan};
use crate::machine::draft::Draft;
use crate::machine::observed::{External, Updaters, has_annotation};
use crate::machine::progress::Progress;

/// How far the update of a Machine is.
pub(super) enum Stage {
    /// There is none. The owner may begin one.
    NotUpdating,
    /// It has begun, and the owner or a provider has to do something first. Their writes lead out.
    WaitingForOthers { what: String },
    /// It has begun, and the extension whose turn it is cannot be asked. Its registration leads out.
    WaitingForExtension { what: String },
    /// There is no host to update.
    Impossible,
    /// The marks contradict each other. Somebody has to repair them.
    Stuck { why: String },
    /// It failed for good. Whoever takes the mark off, or makes another plan, starts it anew.
    GivenUp,
    /// All extensions are done, and the marks are still to be taken off.
    Finishing,
    /// An extension is at work, or to be asked.
    Running(Box<Run>),
}

impl Stage {
    pub fn of(draft: &mut Draft<'_>) -> Self {
        let is_begun = draft.has_annotation(UPDATE_IN_PROGRESS);
        let is_pending = pending_hooks::is_pending(draft.annotations(), Hook::UpdateMachine.name());
        match (is_begun, is_pending) {
            (false, false) => Self::NotUpdating,
            (false, true) => Self::Finishing,
            (true, false) => waiting("waiting for the owner of the machine to hand the update over"),
            (true, true) => not_ready(draft).unwrap_or_else(|| begun(draft)),
        }
    }
}

fn waiting(what: impl Into<String>) -> Stage {
    Stage::WaitingForOthers { what: what.into() }
}

fn running(run: Run) -> Stage {
    Stage::Running(Box::new(run))
}

/// Why the update cannot go on yet: the machine must be up, and its objects must have their new spec.
fn not_ready(draft: &Draft<'_>) -> Option<Stage> {
    let status = &draft.machine.status;
    // Without a bootstrap configuration there is no flag to wait for: the user brought the Secret.
    let needs_bootstrap = draft.machine.spec.bootstrap.config_ref.is_some();
    let is_up = status.initialization.infrastructure_provisioned == Some(true)
        && (!needs_bootstrap || status.initialization.bootstrap_data_secret_created == Some(true))
        && status.node_ref.is_some();
    if !is_up {
        return Some(waiting("waiting for the machine to be up for the first time"));
    }
    match &draft.seen.infrastructure {
        External::Found { object, .. } if !is_marked(object, draft.seen.infrastructure_is_wanted) => {
            return Some(waiting("waiting for the infrastructure object to be marked for the update"));
        }
        External::Found { .. } => {}
        External::Missing => return Some(Stage::Impossible),
        External::Unreadable { .. } | External::NotReferenced => {
            return Some(waiting("waiting for the infrastructure object to be readable"));
        }
    }
    match &draft.seen.bootstrap {
        External::Found { object, .. } if !is_marked(object, draft.seen.bootstrap_is_wanted) => {
            Some(waiting("waiting for the bootstrap configuration to be marked for the update"))
        }
        External::Unreadable { .. } => Some(waiting("waiting for the bootstrap configuration to be readable")),
        External::Found { .. } | External::Missing | External::NotReferenced => None,
    }
}

/// Whether the owner has given the object its new spec: it says so by a mark, unless there was nothing to give.
fn is_marked(object: &Value, is_wanted: bool) -> bool {
    is_wanted || has_annotation(object, UPDATE_IN_PROGRESS)
}

fn begun(draft: &mut Draft<'_>) -> Stage {
    let plan = match draft.annotations().get(UPDATE_PLAN).map(|text| FrozenPlan::decode(text)).transpose() {
        Ok(plan) => plan,
        Err(error) => {
            return Stage::Stuck { why: format!("the annotation {UPDATE_PLAN} cannot be read: {}", error.words()) };
        }
    };
    let id = plan.as_ref().map(|plan| &plan.question);
    let mut progress = Progress::decode(draft.annotations().get(UPDATE_PROGRESS).map(String::as_str), id);
    let comes_back = absence::note(draft, plan.as_ref(), &mut progress);
    if let Some(failed) = draft.annotations().get(UPDATE_FAILED) {
        if failed == id.map_or("", ContentHash::as_str) {
            return Stage::GivenUp;
        }
        draft.annotate(UPDATE_FAILED, None);
    }
    if let Some(what) = comes_back {
        return Stage::WaitingForExtension { what };
    }
    if plan.as_ref().is_some_and(|plan| plan.next_extension().is_none()) {
        return Stage::Finishing;
    }
    let limits = limits(draft);
    let has_moved_on = has_moved_on(draft, plan.as_ref());
    match updater(&draft.seen.updaters, plan.as_ref()) {
        Updater::Known(updater) => running(Run { plan, updater: Ok(updater), has_moved_on, progress, limits }),
        Updater::NotDiscovered => waiting("waiting for the extensions to be discovered"),
        Updater::Absent { what } if progress.started_at.is_some() => {
            running(Run { plan, updater: Err(what), has_moved_on, progress, limits })
        }
        Updater::Absent { what } => Stage::WaitingForExtension { what },
    }
}

/// Whether somebody changed the objects after the plan was frozen. Only what was accepted is run.
fn has_moved_on(draft: &Draft<'_>, plan: Option<&FrozenPlan>) -> bool {
    matches!((&draft.seen.target_hash, plan), (Some(found), Some(plan)) if *found != plan.target)
}

/// An unreadable policy sets no limit.
fn limits(draft: &mut Draft<'_>) -> Limits {
    let control_plane = draft.seen.control_plane.object().filter(|_| draft.has_label(labels::CONTROL_PLANE));
    match limits_of(&draft.seen.cluster, draft.seen.machine_deployment.as_ref(), control_plane) {
        Ok(limits) => limits,
        Err(why) => {
            draft.wait(format!("the limits of the update cannot be read, so it has none: {why}"));
            Limits::NONE
        }
    }
}

enum Updater {
    Known(CanonicalName),
    /// The extension is not registered, or nobody can tell which it is.
    Absent {
        what: String,
    },
    NotDiscovered,
}

/// Whether an extension of a plan can be asked.
pub(super) fn is_registered(registered: &[CanonicalName], planned: &CanonicalName) -> bool {
    registered.contains(planned)
        || registered.iter().filter(|it| it.extension_config() == planned.extension_config()).count() == 1
}

/// Whose turn it is. A plan names the handler that accepted; the handler that updates is of the same extension.
fn updater(updaters: &Updaters, plan: Option<&FrozenPlan>) -> Updater {
    let Updaters::Registered(registered) = updaters else { return Updater::NotDiscovered };
    let next = plan.and_then(FrozenPlan::next_extension);
    if let Some(next) = next.filter(|next| registered.contains(next)) {
        return Updater::Known(next.clone());
    }
    let is_of_extension =
        |updater: &&CanonicalName| next.is_none_or(|next| next.extension_config() == updater.extension_config());
    let candidates: Vec<&CanonicalName> = registered.iter().filter(is_of_extension).collect();
    match (candidates.as_slice(), next) {
        ([only], _) => Updater::Known((*only).clone()),
        ([], Some(next)) => Updater::Absent {
            what: format!("waiting for extension {}, which is not registered any more", next.extension_config()),
        },
        ([], None) => Updater::Absent { what: "waiting for an extension that updates machines".to_owned() },
        (several, _) => Updater::Absent { what: format!("it is not clear which of {} is to run", listed(several)) },
    }
}

fn listed(names: &[&CanonicalName]) -> String {
    names.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
