//! What a MachineSet tells about its machines.

use jiff::Timestamp;
use refit_api::cluster::{Machine, MachineSet, MachineSetStatus};
use refit_api::conditions::machine_set as ours;
use refit_api::conditions::{self, NewCondition, Source};
use refit_api::selector::{Selector, SelectorError};
use refit_api::vocabulary::condition_types as types;
use refit_api::vocabulary::refit::condition_types::HELD;

use crate::effect::Effect;
use crate::fleet::{self, Counters};
use crate::reading::Listed;
use crate::status_patch::status_patch;

/// What a status is made from.
#[derive(Debug, Clone, Copy)]
pub struct Observed<'a> {
    pub set: &'a MachineSet,
    pub machines: &'a Listed<&'a Machine>,
    /// Whether a MachineDeployment, if it has one, wants its machines to be as they are here.
    pub is_current: bool,
    /// What keeps machines from being created, in words.
    pub blockers: &'a [&'a str],
    /// The kinds of the templates that do not exist, bootstrap first.
    pub missing_templates: &'a [&'a str],
    /// Whether the pass went through: only then has it dealt with the generation.
    pub succeeded: bool,
    /// The value of the annotation that puts it on hold, if nothing is under way.
    pub held: Option<&'a str>,
    pub now: Timestamp,
}

/// The conditions that every pass sets. `Paused` is set before it.
const OWNED: [&str; 6] = [
    types::SCALING_UP,
    types::SCALING_DOWN,
    types::MACHINES_READY,
    types::MACHINES_UP_TO_DATE,
    types::REMEDIATING,
    types::DELETING,
];

/// The write that brings the status up to date. Nothing if it is.
pub fn write(observed: Observed<'_>) -> Result<Option<Effect>, SelectorError> {
    let new = status(observed)?;
    Ok(status_patch(observed.set, &observed.set.status, &new))
}

/// The status as it should be.
///
/// Machines that could not be listed leave the counters as they are: nobody knows better.
pub fn status(observed: Observed<'_>) -> Result<MachineSetStatus, SelectorError> {
    let set = observed.set;
    let mut status = set.status.clone();
    status.selector = Some(Selector::from_field(Some(&set.spec.selector))?.to_string()).filter(|text| !text.is_empty());
    let told: Vec<NewCondition> = match observed.machines {
        Listed::All(machines) => {
            let machines = Tally::of(machines, observed.is_current, observed.now);
            machines.write_counters(&mut status);
            machines.conditions(&observed).into()
        }
        Listed::Unreadable(_) => OWNED.map(conditions::internal_error).into(),
    };
    status.conditions.retain(|condition| condition.type_ != HELD);
    let held = observed.held.map(|hold| conditions::refit::held(hold.to_owned()));
    for condition in told.into_iter().chain(held) {
        conditions::set(&mut status.conditions, condition, set.metadata.generation, observed.now);
    }
    if observed.succeeded {
        status.observed_generation = set.metadata.generation.filter(|generation| *generation > 0);
    }
    Ok(status)
}

/// What one pass over the machines finds.
struct Tally<'a> {
    machines: &'a [&'a Machine],
    counters: Counters,
    /// Machines that came from elsewhere and are not counted here yet.
    pending: usize,
    ready: Vec<Source<'a>>,
    up_to_date: Vec<Source<'a>>,
}

impl<'a> Tally<'a> {
    fn of(machines: &'a [&'a Machine], is_current: bool, now: Timestamp) -> Self {
        let mut tally =
            Self { machines, counters: Counters::default(), pending: 0, ready: Vec::new(), up_to_date: Vec::new() };
        for &machine in machines {
            tally.counters.add(machine, is_current);
            tally.pending += usize::from(fleet::is_pending_acknowledge(machine));
            tally.ready.push(fleet::ready(machine));
            tally.up_to_date.extend(fleet::up_to_date(machine, now));
        }
        tally
    }

    fn write_counters(&self, status: &mut MachineSetStatus) {
        status.replicas = Some(self.counters.replicas);
        status.ready_replicas = Some(self.counters.ready);
        status.available_replicas = Some(self.counters.available);
        status.up_to_date_replicas = Some(self.counters.up_to_date);
        status.versions = fleet::versions(self.machines.iter().copied());
    }

    fn conditions(&self, observed: &Observed<'_>) -> [NewCondition; OWNED.len()] {
        [
            self.scaling_up(observed),
            self.scaling_down(observed),
            ours::machines_ready(&self.ready),
            ours::machines_up_to_date(&self.up_to_date),
            self.remediating(),
            self.deleting(observed),
        ]
    }

    fn scaling_up(&self, observed: &Observed<'_>) -> NewCondition {
        let Some(desired) = desired(observed.set) else { return ours::waiting_for_replicas(types::SCALING_UP) };
        let current = self.machines.len();
        let missing = if is_deleting(observed.set) { &[] } else { observed.missing_templates };
        if current < desired {
            ours::scaling_up(current, desired, observed.blockers, missing)
        } else {
            ours::not_scaling_up(missing)
        }
    }

    /// A machine that is not counted here yet is not too many.
    fn scaling_down(&self, observed: &Observed<'_>) -> NewCondition {
        let Some(desired) = desired(observed.set) else { return ours::waiting_for_replicas(types::SCALING_DOWN) };
        let current = self.machines.len() - self.pending;
        if current > desired {
            ours::scaling_down(current, desired, self.stale(observed).as_deref())
        } else {
            ours::not_scaling_down()
        }
    }

    fn remediating(&self) -> NewCondition {
        let (replaced, unhealthy) = fleet::remediating(self.machines.iter().copied());
        if replaced.is_empty() { ours::not_remediating(&unhealthy) } else { ours::remediating(&replaced) }
    }

    fn deleting(&self, observed: &Observed<'_>) -> NewCondition {
        if is_deleting(observed.set) {
            ours::deleting(self.machines.len(), self.stale(observed).as_deref())
        } else {
            ours::not_deleting()
        }
    }

    fn stale(&self, observed: &Observed<'_>) -> Option<String> {
        fleet::stale(self.machines.iter().copied(), observed.now)
    }
}

/// How many machines are wanted: none of a MachineSet that is going. A negative number says nothing.
fn desired(set: &MachineSet) -> Option<usize> {
    let replicas = usize::try_from(set.spec.replicas?).ok()?;
    Some(if is_deleting(set) { 0 } else { replicas })
}

fn is_deleting(set: &MachineSet) -> bool {
    set.metadata.deletion_timestamp.is_some()
}

#[cfg(test)]
mod tests;
