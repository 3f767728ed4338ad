//! The update of a Machine in place: who is asked next, and what becomes of the answer.
//!
//! The owner begins the update: it gives the objects their new spec and marks them, the Machine last. From there the
//! extensions of the plan run one after another, each until it says that it is done. A Machine without a plan was
//! marked by upstream's controllers; for it there must be exactly one extension.

mod absence;
mod answer;
mod completion;
mod limits;
mod run;
mod stage;
mod tell;

use std::collections::BTreeMap;

use jiff::Timestamp;
use refit_api::cluster::Machine;
use refit_api::conditions::machine::{
    in_place_update_failed, in_place_update_without_infrastructure, updating_in_place,
};
use refit_api::conditions::{NewCondition, Status, get, refit};
use refit_api::hooks::Hook;
use refit_api::pending_hooks;
use refit_api::vocabulary::annotations::UPDATE_IN_PROGRESS;
use refit_api::vocabulary::condition_types::UPDATING;
use refit_api::vocabulary::refit::annotations::UPDATE_FAILED;
use refit_api::vocabulary::refit::{condition_types, events, reasons};

use super::draft::Draft;
use super::problem::Problem;
use super::quiet::Passing;
use crate::effect::Event;
use crate::fleet;
use crate::waiting::WaitingOn;
pub use limits::{Limits, limits_of};
use stage::Stage;

/// What the conditions say of the update. What is nothing stays as it is.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Report {
    pub updating: Option<NewCondition>,
    pub failed: Option<NewCondition>,
}

impl Report {
    fn updating(condition: NewCondition) -> Self {
        Self { updating: Some(condition), failed: None }
    }
}

/// Whether an update is going on: it has begun and is not cleaned up after yet.
pub(crate) fn is_updating(annotations: &BTreeMap<String, String>) -> bool {
    annotations.contains_key(UPDATE_IN_PROGRESS) || pending_hooks::is_pending(annotations, Hook::UpdateMachine.name())
}

/// When the update began that is going on: when it was handed over, where that was written down, or else when the
/// Machine first said that it is being updated.
pub(crate) fn update_began(machine: &Machine) -> Option<Timestamp> {
    let updating = get(&machine.status.conditions, UPDATING).filter(|it| Status::of(it) == Status::True);
    fleet::progress_of(machine).started_at.or_else(|| updating.map(|it| it.last_transition_time.0))
}

/// Takes the next step of the update.
pub(super) fn reconcile(draft: &mut Draft<'_>) -> Report {
    match Stage::of(draft) {
        Stage::NotUpdating => Report::default(),
        Stage::WaitingForOthers { what } => {
            draft.wait(what);
            draft.will_pass(Passing::Update);
            Report::default()
        }
        Stage::WaitingForExtension { what } => {
            draft.wait(what.clone());
            tell::at_work(draft, &what);
            Report::updating(updating_in_place(&what))
        }
        Stage::Impossible => {
            draft.problems.push(Problem::Update { why: "the infrastructure object is gone".to_owned() });
            Report::updating(in_place_update_without_infrastructure())
        }
        Stage::Stuck { why } => {
            draft.problems.push(Problem::Update { why: why.clone() });
            Report::updating(in_place_update_failed(why))
        }
        Stage::GivenUp => {
            let machines = vec![draft.name()];
            draft.waiting_on.push(WaitingOn::FailedUpdates { machines });
            Report::default()
        }
        Stage::Finishing => completion::complete(draft),
        Stage::Running(run) => {
            let report = run::go_on(draft, *run);
            if report.updating.is_some() {
                completion::mark(draft);
            }
            report
        }
    }
}

/// A Machine that is being deleted is not updated any further. Says so once.
pub(super) fn abort(draft: &mut Draft<'_>) -> Report {
    if !is_updating(draft.annotations()) || draft.has_annotation(UPDATE_FAILED) {
        return Report::default();
    }
    const WORDS: &str = "the machine is being deleted";
    let said = get(&draft.seen.machine.status.conditions, condition_types::UPDATE_FAILED);
    if said.is_none_or(|said| said.reason != reasons::ABORTED) {
        let event = Event::warning(draft.target(), events::ABORTED_IN_PLACE_UPDATE, WORDS);
        draft.events.push(event);
    }
    Report { updating: None, failed: Some(refit::update_aborted(WORDS)) }
}
