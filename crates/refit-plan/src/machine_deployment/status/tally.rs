//! One pass over the machines of a MachineDeployment.

use std::collections::BTreeSet;

use jiff::Timestamp;
use refit_api::cluster::{Machine, MachineDeploymentStatus, MachineSet};
use refit_api::conditions::machine::not_up_to_date;
use refit_api::conditions::machine_deployment as ours;
use refit_api::conditions::{self, NewCondition, Source};
use refit_api::owners;
use refit_api::vocabulary::condition_types as types;

use super::Observed;
use crate::fleet::{self, Counters};

/// What one pass over the machines finds.
pub struct Tally<'a> {
    /// Those that a MachineSet of the MachineDeployment controls, each once.
    pub machines: Vec<&'a Machine>,
    pub machine_sets: usize,
    pub ready: Vec<Source<'a>>,
    counters: Counters,
    /// Whether any MachineSet has counted anything yet.
    is_reported: bool,
    up_to_date: Vec<Source<'a>>,
    outdated: Vec<Outdated<'a>>,
}

/// A machine that is not of the wanted template, or not yet.
struct Outdated<'a> {
    machine: &'a Machine,
    /// Says so, where the Machine controller has not noticed yet.
    condition: Option<NewCondition>,
}

impl<'a> Tally<'a> {
    pub fn of(sets: &'a [MachineSet], machines: &'a [Machine], observed: &Observed<'a>) -> Self {
        let uids: BTreeSet<&str> = sets.iter().filter_map(|set| set.metadata.uid.as_deref()).collect();
        let mut tally = Self {
            machines: Vec::new(),
            machine_sets: sets.len(),
            ready: Vec::new(),
            counters: Counters::default(),
            is_reported: sets.iter().any(|set| set.status.replicas.is_some()),
            up_to_date: Vec::new(),
            outdated: Vec::new(),
        };
        for machine in machines {
            if let Some(owner) = controller(machine).filter(|owner| uids.contains(owner)) {
                tally.add(machine, owner, observed);
            }
        }
        tally
    }

    fn add(&mut self, machine: &'a Machine, owner: &str, observed: &Observed<'a>) {
        let is_current = observed.current == Some(owner);
        self.machines.push(machine);
        self.counters.add(machine, is_current);
        self.ready.push(fleet::ready(machine));
        let found = conditions::get(&machine.status.conditions, types::UP_TO_DATE);
        let says_false = found.is_some_and(|condition| condition.status == "False");
        if !is_current && !says_false {
            let differences = observed.differences.get(owner).map(Vec::as_slice).unwrap_or_default();
            self.outdated.push(Outdated { machine, condition: Some(not_up_to_date(differences)) });
            return;
        }
        self.up_to_date.extend(fleet::up_to_date(machine, observed.now));
        if says_false {
            self.outdated.push(Outdated { machine, condition: None });
        }
    }

    /// Nobody has counted before the first MachineSet reports: then there are no numbers rather than zeros.
    pub fn write_counters(&self, status: &mut MachineDeploymentStatus) {
        let is_known = self.is_reported || !self.machines.is_empty();
        let count = |number: i32| is_known.then_some(number);
        status.replicas = count(self.counters.replicas);
        status.ready_replicas = count(self.counters.ready);
        status.available_replicas = count(self.counters.available);
        status.up_to_date_replicas = count(self.counters.up_to_date);
        status.versions = fleet::versions(self.machines.iter().copied());
    }

    pub fn rolling_out(&self) -> NewCondition {
        if self.outdated.is_empty() {
            return ours::not_rolling_out();
        }
        let lines = self.outdated.iter().flat_map(|outdated| outdated.message().lines());
        ours::rolling_out(self.outdated.len(), lines)
    }

    /// From `UpToDate` of the machines, and from what their Machine controller has not noticed yet.
    pub fn machines_up_to_date(&self) -> NewCondition {
        let unnoticed = self.outdated.iter().filter_map(|outdated| {
            let condition = outdated.condition.as_ref()?;
            Some(Source::new("Machine", &outdated.machine.metadata, Some(condition)))
        });
        ours::machines_up_to_date(&self.up_to_date.iter().copied().chain(unnoticed).collect::<Vec<_>>())
    }

    pub fn stale(&self, now: Timestamp) -> Option<String> {
        fleet::stale(self.machines.iter().copied(), now)
    }
}

impl Outdated<'_> {
    fn message(&self) -> &str {
        let said = || conditions::get(&self.machine.status.conditions, types::UP_TO_DATE);
        match &self.condition {
            Some(condition) => &condition.message,
            None => said().map_or("", |condition| &condition.message),
        }
    }
}

fn controller(machine: &Machine) -> Option<&str> {
    let references = machine.metadata.owner_references.as_deref().unwrap_or_default();
    owners::controller_of(references).map(|controller| controller.uid.as_str())
}
