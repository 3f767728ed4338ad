//! What is written down of a rollout.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use refit_api::conditions::{self, get};
use refit_api::rollout::{MachineRollout, MachineRolloutStatus, RolloutState};
use refit_api::vocabulary::refit::condition_types::ROLLOUT_BLOCKED;
use refit_api::vocabulary::refit::reasons::NOT_BLOCKED;

use super::{Observed, machines, progress, words};

/// The status of a rollout that is going on, or ends now.
pub(super) fn status(observed: &Observed<'_>, rollout: &MachineRollout) -> MachineRolloutStatus {
    let progress = progress::count(observed);
    let mut status = rollout.status.clone();
    // It is written down before anything is changed for it.
    let began = || rollout.metadata.creation_timestamp.clone().unwrap_or(Time(observed.now));
    status.start_time.get_or_insert_with(began);
    if progress::is_done(observed, &progress) {
        status.completion_time = Some(Time(observed.now));
    }
    status.progress = Some(progress);
    status.failures = machines::failures(observed);
    status.state = Some(words::state(observed, &status));
    status.message = Some(words::message(observed, &status)).filter(|words| !words.is_empty());
    status.waiting = machines::waiting(observed, status.message.as_deref());
    status.observed_generation = rollout.metadata.generation.filter(|number| *number > 0);
    let said = get(&observed.deployment.status.conditions, ROLLOUT_BLOCKED);
    let blocked = conditions::mirror(said, NOT_BLOCKED, conditions::refit::rollout_not_blocked());
    conditions::set(&mut status.conditions, blocked, rollout.metadata.generation, observed.now);
    status
}

/// The status of a rollout that will not be finished.
pub(super) fn overtaken(rollout: &MachineRollout, by: String, now: Timestamp) -> MachineRolloutStatus {
    MachineRolloutStatus {
        state: Some(RolloutState::Overtaken),
        message: Some(by),
        waiting: Vec::new(),
        completion_time: Some(Time(now)),
        ..rollout.status.clone()
    }
}
