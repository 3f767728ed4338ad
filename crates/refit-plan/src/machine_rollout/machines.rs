//! The machines that are named: those whose update fails, and the first few that wait.

use refit_api::cluster::Machine;
use refit_api::conditions::machine::updating_in_place;
use refit_api::conditions::{Status, get};
use refit_api::rollout::{MachineFailure, WaitingMachine};
use refit_api::vocabulary::condition_types::{PAUSED, UPDATING};
use refit_api::vocabulary::reasons::IN_PLACE_UPDATE_FAILED;
use refit_api::vocabulary::refit::annotations::{UPDATE_PLAN, UPDATE_PROGRESS};
use refit_api::vocabulary::refit::condition_types::UPDATE_FAILED;

use super::Observed;
use super::progress::{is_busy, is_failed, is_of_new};
use crate::coverage::{FrozenPlan, MAX_WORDS, shortened};
use crate::fleet;
use crate::machine::progress::Progress;

/// As many failures as the schema takes.
const MAX_FAILURES: usize = 100;
/// How many machines that wait are named; the others are counted. As many as a person reads.
const MAX_WAITING: usize = 10;
/// How much is said of what one of them waits for: the line of the rollout has room for all of it.
const MAX_ON: usize = 256;

/// Machines whose update fails, for now or for good, with what is said of that.
pub(super) fn failures(observed: &Observed<'_>) -> Vec<MachineFailure> {
    let mut failures: Vec<MachineFailure> = observed.machines.iter().filter_map(|machine| failure(machine)).collect();
    failures.sort_by(|one, other| one.machine.cmp(&other.machine));
    failures.truncate(MAX_FAILURES);
    failures
}

/// The first machines that wait, and on what. What holds up the whole rollout is what those wait for whose turn it is not.
pub(super) fn waiting(observed: &Observed<'_>, held_up: Option<&str>) -> Vec<WaitingMachine> {
    let waits = |machine: &&&Machine| !is_failed(machine) && (is_busy(machine) || !is_of_new(observed, machine));
    let mut waiting: Vec<&Machine> = observed.machines.iter().filter(waits).copied().collect();
    waiting.sort_by_key(|machine| (!is_busy(machine), fleet::name(machine)));
    let named = waiting.into_iter().take(MAX_WAITING).map(|machine| WaitingMachine {
        machine: fleet::name(machine).to_owned(),
        on: shortened(waits_for(machine, held_up), MAX_ON),
    });
    named.collect()
}

fn failure(machine: &Machine) -> Option<MachineFailure> {
    let conditions = &machine.status.conditions;
    let is_true = |type_| get(conditions, type_).filter(|it| Status::of(it) == Status::True);
    let for_now = || is_true(UPDATING).filter(|it| it.reason == IN_PLACE_UPDATE_FAILED);
    let condition = is_true(UPDATE_FAILED).or_else(for_now)?;
    let words = if condition.message.is_empty() { &condition.reason } else { &condition.message };
    let annotation = |key: &str| machine.metadata.annotations.as_ref()?.get(key).map(String::as_str);
    let plan = annotation(UPDATE_PLAN).and_then(|text| FrozenPlan::decode(text).ok());
    let progress = Progress::decode(annotation(UPDATE_PROGRESS), plan.as_ref().map(|plan| &plan.question));
    let extension = plan.as_ref().and_then(FrozenPlan::next_extension);
    Some(MachineFailure {
        machine: machine.metadata.name.clone()?,
        extension: extension.map(|name| name.extension_config().to_string()),
        attempts: i32::try_from(progress.attempts).unwrap_or(i32::MAX),
        message: shortened(words.clone(), MAX_WORDS),
        since: condition.last_transition_time.clone(),
    })
}

fn waits_for(machine: &Machine, held_up: Option<&str>) -> String {
    if fleet::is_deleting(machine) {
        return "its deletion".to_owned();
    }
    if let Some(paused) = get(&machine.status.conditions, PAUSED).filter(|it| Status::of(it) == Status::True) {
        return paused.message.clone();
    }
    if !is_busy(machine) {
        return held_up.unwrap_or("its turn").to_owned();
    }
    let updating = get(&machine.status.conditions, UPDATING).filter(|it| Status::of(it) == Status::True);
    match updating.map(|it| it.message.as_str()).filter(|words| *words != updating_in_place("").message) {
        Some(words) => words.to_owned(),
        None => "the first answer of its extension".to_owned(),
    }
}
