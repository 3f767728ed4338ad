//! What a decision about a MachineSet comes to.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use refit_api::cluster::{Machine, MachineSet, MachineSetStatus};

use super::problem::Problem;
use crate::effect::{Effect, Target};
use crate::machine_set::start_move::Rehearsal;
use crate::waiting::WaitingOn;

/// What to do about a MachineSet now.
///
/// It is more than a [`Plan`](crate::plan::Plan), as its machines do not wait for each other.
#[derive(Debug, Clone, Default, PartialEq)]
#[must_use = "an unread decision is not acted on"]
pub struct Decision {
    /// All are begun, in this order, whatever becomes of the others.
    pub tasks: Vec<Task>,
    /// Dry runs to make, by Machine. With what came of them, decide again.
    pub rehearse: BTreeMap<String, Rehearsal>,
    /// Extensions must be asked about the change from this MachineSet to the one that its machines move to. With their
    /// answers, decide again.
    pub ask: bool,
    /// Machines that have everything that reaches them without a rollout, and whose objects have. Who remembers that
    /// spares the next pass to look.
    pub synced: BTreeSet<String>,
    /// Machines that nobody controls are adopted. The shell asks the API server first whether the MachineSet is still there and not
    /// on its way out: the cache may know that they were set free, and not yet why.
    pub adopts: bool,
    /// What is told of the MachineSet, after the tasks and whatever became of them. Nothing if it says so already.
    pub report: Option<Effect>,
    /// What the status should be.
    pub status: MachineSetStatus,
    /// Why the decision stops where it does. Empty when all is as it should be.
    pub waiting_on: Vec<WaitingOn>,
    /// When to decide again even if nothing is heard of before.
    pub requeue_after: Option<Duration>,
    /// What went wrong. The shell logs it, and comes back with growing delays.
    pub problems: Vec<Problem>,
}

/// Writes that belong together, in this order, up to the first that fails.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// The object that all of it is for, as in `Machine m1`.
    pub about: String,
    pub effects: Vec<Effect>,
}

impl Decision {
    /// All writes of the tasks, one task after another.
    pub fn effects(&self) -> impl Iterator<Item = &Effect> {
        self.tasks.iter().flat_map(|task| &task.effects)
    }
}

impl Task {
    pub(super) fn of_machine(machine: &Machine, effects: Vec<Effect>) -> Self {
        Self { about: format!("Machine {}", crate::fleet::name(machine)), effects }
    }

    pub(super) fn of_set(set: &MachineSet, effects: Vec<Effect>) -> Self {
        Self { about: format!("MachineSet {}", crate::machine_set::objects::name_of(set)), effects }
    }

    pub(super) fn of_target(target: &Target, effects: Vec<Effect>) -> Self {
        Self { about: format!("{} {}", target.kind, target.name), effects }
    }
}
