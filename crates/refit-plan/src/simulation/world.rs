//! The state of a simulation.

use std::collections::{BTreeMap, BTreeSet};

use super::entry::Entry;
use super::number::{MachineNumber, SetNumber};
use super::scenario::{Scenario, Strategy};
use super::trace::{Move, SetState};
use crate::handover::Handover;
use crate::machine_deployment::Counters;
use crate::policy;

/// All there is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct World {
    pub replicas: i32,
    pub template: String,
    pub on_delete: bool,
    pub keeps_originals: bool,
    pub sets: BTreeMap<SetNumber, MachineSet>,
    pub machines: BTreeMap<MachineNumber, Machine>,
    /// The highest numbers that there ever were.
    pub last_set: u32,
    pub last_machine: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineSet {
    pub template: String,
    pub spec_replicas: i32,
    pub counters: Counters,
    pub handover: Handover,
    pub disable_machine_create: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    pub set: SetNumber,
    pub state: State,
    /// The world has made it unavailable.
    pub unavailable: bool,
    /// The world lets every update of it fail.
    pub fails: bool,
    /// The user has deleted it, and it is still there.
    pub deleting: bool,
}

/// How far the update of a machine is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It is not being updated.
    Idle,
    /// It was moved; `acknowledged` once the MachineDeployment has counted it. Its MachineSet takes it on from here.
    Pending { acknowledged: bool },
    /// Its MachineSet has begun with the update; the next reconcile finds it done, or failed.
    Started,
    /// Its update failed for good. It stays in it until somebody tries again.
    Failed,
}

/// What one entry has done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    pub created: BTreeSet<MachineNumber>,
    pub deleted: BTreeSet<MachineNumber>,
    pub moved: Vec<Move>,
    pub notes: Vec<String>,
    pub waiting_on: Vec<String>,
}

impl World {
    pub fn new(scenario: &Scenario) -> Self {
        let mut world = Self {
            replicas: scenario.replicas,
            template: scenario.template.clone(),
            on_delete: scenario.strategy == Strategy::OnDelete,
            keeps_originals: policy::keeps_originals(scenario.policy, scenario.keep_originals),
            sets: BTreeMap::new(),
            machines: BTreeMap::new(),
            last_set: 0,
            last_machine: 0,
        };
        for initial in &scenario.machine_sets {
            world.add_set(initial.name, initial.template.clone());
            initial.machines.iter().for_each(|&machine| world.add_machine(machine, initial.name));
            world.take_counters(initial.name);
            let set = world.sets.get_mut(&initial.name).expect("the MachineSet must have been added");
            set.spec_replicas = set.counters.replicas;
        }
        world
    }

    pub fn add_set(&mut self, number: SetNumber, template: String) {
        self.last_set = self.last_set.max(number.0);
        let set = MachineSet {
            template,
            spec_replicas: 0,
            counters: Counters::default(),
            handover: Handover::default(),
            disable_machine_create: false,
        };
        self.sets.insert(number, set);
    }

    fn add_machine(&mut self, number: MachineNumber, set: SetNumber) {
        self.last_machine = self.last_machine.max(number.0);
        self.machines.insert(number, Machine::new(set));
    }

    pub fn create_machine(&mut self, set: SetNumber) -> MachineNumber {
        let number = MachineNumber(self.last_machine + 1);
        self.add_machine(number, set);
        number
    }

    pub fn machines_of(&self, set: SetNumber) -> impl Iterator<Item = (MachineNumber, &Machine)> {
        self.machines.iter().filter(move |(_, machine)| machine.set == set).map(|(&number, machine)| (number, machine))
    }

    pub fn machines_of_mut(&mut self, set: SetNumber) -> impl Iterator<Item = (MachineNumber, &mut Machine)> {
        self.machines
            .iter_mut()
            .filter(move |(_, machine)| machine.set == set)
            .map(|(&number, machine)| (number, machine))
    }

    pub fn deleting(&self) -> Vec<MachineNumber> {
        self.machines.iter().filter(|(_, machine)| machine.deleting).map(|(&number, _)| number).collect()
    }

    /// The MachineSet looks at its machines.
    pub fn take_counters(&mut self, number: SetNumber) {
        let Some(set) = self.sets.get(&number) else { return };
        let is_wanted = set.template == self.template;
        let mut counters = Counters::default();
        for (_, machine) in self.machines_of(number) {
            counters.replicas += 1;
            counters.available += i32::from(machine.is_available());
            counters.up_to_date += i32::from(is_wanted && !machine.is_updating());
        }
        if let Some(set) = self.sets.get_mut(&number) {
            set.counters = counters;
        }
    }

    /// What the user or the world does; a machine also goes by its own reconcile. Of what is not there, nothing happens.
    pub fn apply(&mut self, entry: &Entry) -> Outcome {
        let mut outcome = Outcome::default();
        match entry {
            Entry::Deployment | Entry::MachineSet(_) => {}
            Entry::Machine(number) => {
                if self.machines.get(number).is_some_and(|machine| machine.deleting) {
                    self.machines.remove(number);
                    outcome.deleted.insert(*number);
                }
            }
            Entry::Delete(number) => self.with_machine(*number, |machine| machine.deleting = true),
            Entry::Unavailable(number) => self.with_machine(*number, |machine| machine.unavailable = true),
            Entry::Available(number) => self.with_machine(*number, |machine| machine.unavailable = false),
            Entry::Fail(number) => self.with_machine(*number, |machine| machine.fails = true),
            Entry::Retry(number) => self.with_machine(*number, Machine::retry),
            Entry::Replicas(replicas) => self.replicas = *replicas,
            Entry::Template(template) => self.template.clone_from(template),
        }
        outcome
    }

    fn with_machine(&mut self, number: MachineNumber, change: impl FnOnce(&mut Machine)) {
        if let Some(machine) = self.machines.get_mut(&number) {
            change(machine);
        }
    }

    pub fn states(&self) -> Vec<SetState> {
        let mut states: BTreeMap<SetNumber, SetState> =
            self.sets.iter().map(|(&name, set)| (name, set.state(name))).collect();
        for (&number, machine) in &self.machines {
            let Some(state) = states.get_mut(&machine.set) else { continue };
            state.machines.push(number);
            let lists = [
                (machine.is_updating(), &mut state.updating),
                (machine.state == State::Pending { acknowledged: false }, &mut state.pending_acknowledge),
                (machine.deleting, &mut state.deleting),
                (machine.has_failed(), &mut state.failed),
            ];
            lists.into_iter().filter(|(belongs, _)| *belongs).for_each(|(_, list)| list.push(number));
        }
        states.into_values().collect()
    }
}

impl MachineSet {
    fn state(&self, name: SetNumber) -> SetState {
        SetState {
            name,
            spec_replicas: self.spec_replicas,
            replicas: self.counters.replicas,
            available: self.counters.available,
            up_to_date: self.counters.up_to_date,
            machines: Vec::new(),
            updating: Vec::new(),
            pending_acknowledge: Vec::new(),
            deleting: Vec::new(),
            failed: Vec::new(),
        }
    }
}

impl Machine {
    fn new(set: SetNumber) -> Self {
        Self { set, state: State::Idle, unavailable: false, fails: false, deleting: false }
    }

    /// An update that had begun has come to its end.
    pub fn finish_update(&mut self) {
        if self.state == State::Started {
            self.state = if self.fails { State::Failed } else { State::Idle };
        }
    }

    fn retry(&mut self) {
        self.fails = false;
        if self.has_failed() {
            self.state = State::Started;
        }
    }

    pub fn has_failed(&self) -> bool {
        self.state == State::Failed
    }

    pub fn is_updating(&self) -> bool {
        self.state != State::Idle
    }

    pub fn is_pending(&self) -> bool {
        matches!(self.state, State::Pending { .. })
    }

    pub fn is_available(&self) -> bool {
        !self.is_updating() && !self.unavailable
    }
}
