//! One pass over the machines of a MachineDeployment.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use refit_api::cluster::{Machine, MachineDeploymentStatus, MachineSet};
use refit_api::conditions::machine::not_up_to_date;
use refit_api::conditions::machine_deployment as ours;
use refit_api::conditions::{self, NewCondition, Source};
use refit_api::owners;
use refit_api::vocabulary::condition_types as types;

use super::Observed;
use crate::fleet::{self, Counters, Versions};

/// What one pass over the machines finds.
///
/// A large fleet does not fit into any cache, so every machine is looked at once, and only what differs from the usual
/// is kept of it.
pub struct Tally<'a> {
    /// Those that a MachineSet of the MachineDeployment controls, each once.
    pub machines: Vec<&'a Machine>,
    pub machine_sets: usize,
    /// The machines with their `Ready`. Of those that are ready and say nothing more, one stands for all.
    pub ready: Vec<Source<'a>>,
    pub unhealthy: Vec<&'a Machine>,
    counters: Counters,
    versions: Versions<'a>,
    /// Whether any MachineSet has counted anything yet.
    is_reported: bool,
    /// The same for `UpToDate`, of machines that know better than anybody whether they are.
    up_to_date: Vec<Source<'a>>,
    /// Machines that are not of the wanted template and have not noticed, by the uid of their MachineSet.
    unnoticed: BTreeMap<&'a str, Unnoticed<'a>>,
    /// The messages of those that have.
    noticed: Vec<&'a str>,
}

/// The machines of a MachineSet that do not say yet that they are not of the wanted template.
struct Unnoticed<'a> {
    machines: Vec<&'a Machine>,
    condition: NewCondition,
}

impl<'a> Tally<'a> {
    pub fn of(sets: &[&'a MachineSet], machines: &[&'a Machine], observed: &Observed<'a>) -> Self {
        let uids: BTreeSet<&str> = sets.iter().filter_map(|set| set.metadata.uid.as_deref()).collect();
        let mut tally = Self {
            machines: Vec::with_capacity(machines.len()),
            machine_sets: sets.len(),
            ready: Vec::new(),
            unhealthy: Vec::new(),
            counters: Counters::default(),
            versions: Versions::default(),
            is_reported: sets.iter().any(|set| set.status.replicas.is_some()),
            up_to_date: Vec::new(),
            unnoticed: BTreeMap::new(),
            noticed: Vec::new(),
        };
        for machine in machines {
            if let Some(owner) = controller(machine).filter(|owner| uids.contains(owner)) {
                tally.add(machine, owner, observed);
            }
        }
        tally
    }

    fn add(&mut self, machine: &'a Machine, owner: &'a str, observed: &Observed<'a>) {
        let is_current = observed.current == Some(owner);
        self.machines.push(machine);
        self.counters.add(machine, is_current);
        self.versions.add(machine);
        if self.ready.is_empty() || !fleet::is_plain(machine, types::READY) {
            self.ready.push(fleet::ready(machine));
        }
        if fleet::is_unhealthy(machine) {
            self.unhealthy.push(machine);
        }
        let said = conditions::get(&machine.status.conditions, types::UP_TO_DATE);
        let outdated = said.filter(|condition| condition.status == "False");
        if outdated.is_none() && !is_current {
            let differences = || observed.differences.get(owner).map(Vec::as_slice).unwrap_or_default();
            let unnoticed = || Unnoticed { machines: Vec::new(), condition: not_up_to_date(differences()) };
            self.unnoticed.entry(owner).or_insert_with(unnoticed).machines.push(machine);
            return;
        }
        self.noticed.extend(outdated.map(|condition| condition.message.as_str()));
        if self.up_to_date.is_empty() || !fleet::is_plain(machine, types::UP_TO_DATE) {
            self.up_to_date.extend(fleet::up_to_date(machine, observed.now));
        }
    }

    /// Nobody has counted before the first MachineSet reports: then there are no numbers rather than zeros.
    pub fn write_counters(&mut self, status: &mut MachineDeploymentStatus) {
        let is_known = self.is_reported || !self.machines.is_empty();
        let count = |number: i32| is_known.then_some(number);
        status.replicas = count(self.counters.replicas);
        status.ready_replicas = count(self.counters.ready);
        status.available_replicas = count(self.counters.available);
        status.up_to_date_replicas = count(self.counters.up_to_date);
        status.versions = std::mem::take(&mut self.versions).into_status();
    }

    pub fn rolling_out(&self) -> NewCondition {
        let unnoticed: usize = self.unnoticed.values().map(|unnoticed| unnoticed.machines.len()).sum();
        let outdated = unnoticed + self.noticed.len();
        if outdated == 0 {
            return ours::not_rolling_out();
        }
        let messages = self.unnoticed.values().map(|unnoticed| &*unnoticed.condition.message);
        ours::rolling_out(outdated, messages.chain(self.noticed.iter().copied()).flat_map(str::lines))
    }

    /// From `UpToDate` of the machines, and from what their Machine controller has not noticed yet.
    pub fn machines_up_to_date(&self) -> NewCondition {
        let unnoticed = self.unnoticed.values().flat_map(|Unnoticed { machines, condition }| {
            machines.iter().map(move |machine| Source::new("Machine", &machine.metadata, Some(condition)))
        });
        ours::machines_up_to_date(&self.up_to_date.iter().copied().chain(unnoticed).collect::<Vec<_>>())
    }

    pub fn stale(&self, now: Timestamp) -> Option<String> {
        fleet::stale(self.machines.iter().copied(), now)
    }
}

fn controller(machine: &Machine) -> Option<&str> {
    let references = machine.metadata.owner_references.as_deref().unwrap_or_default();
    owners::controller_of(references).map(|controller| controller.uid.as_str())
}
