//! When a status may wait.
//!
//! In a rollout every Machine is out of date for a moment, and being updated for another. Where that passes by itself,
//! telling it would cost two writes for each machine of the fleet. So it is told when it lasts.

use jiff::{SignedDuration, Timestamp};
use refit_api::cluster::MachineStatus;
use refit_api::conditions::get;
use refit_api::vocabulary::condition_types as types;

use super::draft::Draft;

/// What will pass by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Passing {
    /// The Machine is of a template that is not wanted any more: it will be moved, or replaced.
    OutOfDate,
    /// Its update is on its way to the first answer of an extension.
    Update,
}

impl Passing {
    /// How long it must last to be told. Of Machines that are out of date there are as many as there are Machines, and
    /// their MachineDeployment has counted them; an update that does not begin is rare.
    pub(super) fn patience(self) -> SignedDuration {
        SignedDuration::from_secs(match self {
            Self::OutOfDate => 60,
            Self::Update => 20,
        })
    }

    /// The conditions that follow from it.
    fn conditions(self) -> &'static [&'static str] {
        match self {
            Self::OutOfDate => &[types::UP_TO_DATE],
            Self::Update => &[types::UPDATING, types::UP_TO_DATE, types::READY, types::AVAILABLE],
        }
    }
}

/// What is not told, and since when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quiet {
    pub about: Passing,
    pub since: Timestamp,
}

/// Until when the status may stay as it is. Nothing if it must be told now: too much time has passed, or there is more to
/// tell.
///
/// A Machine that has to be ready for a while before it counts must be seen to be updated, or its time would not begin anew.
pub(super) fn until(draft: &Draft<'_>) -> Option<Timestamp> {
    let passing = draft.passing?;
    let needs_time = draft.machine.spec.min_ready_seconds.unwrap_or_default() > 0;
    let (seen, now) = (&draft.seen.machine.status, draft.seen.now);
    let since = draft.seen.quiet.filter(|quiet| quiet.about == passing).map_or(now, |quiet| quiet.since);
    let end = since.checked_add(passing.patience()).unwrap_or(Timestamp::MAX);
    let is_all = || without(&draft.machine.status, passing, seen) == *seen;
    (draft.machine.status != *seen && !needs_time && now < end && is_all()).then_some(end)
}

/// The status, with what was seen in the place of what will pass.
fn without(status: &MachineStatus, passing: Passing, seen: &MachineStatus) -> MachineStatus {
    let mut status = status.clone();
    for condition in &mut status.conditions {
        if passing.conditions().contains(&condition.type_.as_str()) {
            *condition = get(&seen.conditions, &condition.type_).unwrap_or(condition).clone();
        }
    }
    status.observed_generation = seen.observed_generation;
    if passing == Passing::Update {
        status.phase = seen.phase;
        status.last_updated = seen.last_updated.clone();
    }
    status
}
