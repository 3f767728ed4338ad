//! The state of a simulation.

use std::collections::{BTreeMap, BTreeSet};

use refit_api::policy::InPlacePolicy;

use super::entry::{Answer, Entry};
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
    pub strategy: Strategy,
    pub policy: InPlacePolicy,
    pub keep_originals: bool,
    pub paused: bool,
    /// What extensions say to a change.
    pub answer: Answer,
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
    /// How many machines the user wanted when it was written to last.
    pub desired_replicas: Option<i32>,
    pub disable_machine_create: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    pub set: SetNumber,
    /// It carries the mark of a machine that a rollout has made beyond those wanted.
    pub scaffolding: bool,
    pub state: State,
    /// The world has made it unavailable.
    pub unavailable: bool,
    /// What the world lets become of its updates.
    pub updates: Updates,
    /// What the provider says to a change of it.
    pub provider: Provider,
    /// It carries the mark of a move that was refused: to which MachineSet, and whether for good.
    pub refused: Option<(SetNumber, bool)>,
    /// The user has deleted it, and it is still there.
    pub deleting: bool,
}

/// What becomes of the updates of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Updates {
    Succeed,
    /// They fail for good.
    Fail,
    /// Each try fails, and there will be another one.
    GetIntoTrouble,
}

/// What a provider says to a change of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    Accepts,
    Refuses { for_good: bool },
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
    /// A try failed, and the next one has not begun. Nobody is at work on it.
    Tried,
    /// The next try is under way; the next reconcile of its MachineSet finds it done, or failed.
    TriedAgain,
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
            strategy: scenario.strategy,
            policy: scenario.policy,
            keep_originals: scenario.keep_originals,
            paused: false,
            answer: if scenario.in_place { Answer::Covered } else { Answer::Uncovered },
            sets: BTreeMap::new(),
            machines: BTreeMap::new(),
            last_set: 0,
            last_machine: 0,
        };
        for initial in &scenario.machine_sets {
            world.add_set(initial.name, initial.template.clone());
            initial.machines.iter().for_each(|&machine| world.add_machine(machine, initial.name, false));
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
            desired_replicas: None,
            disable_machine_create: false,
        };
        self.sets.insert(number, set);
    }

    /// Whether machines that were there first stay, as far as they can be updated in place.
    pub fn keeps_originals(&self) -> bool {
        policy::keeps_originals(self.policy, self.keep_originals)
    }

    fn add_machine(&mut self, number: MachineNumber, set: SetNumber, scaffolding: bool) {
        self.last_machine = self.last_machine.max(number.0);
        self.machines.insert(number, Machine { scaffolding, ..Machine::new(set) });
    }

    pub fn create_machine(&mut self, set: SetNumber, scaffolding: bool) -> MachineNumber {
        let number = MachineNumber(self.last_machine + 1);
        self.add_machine(number, set, scaffolding);
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
            Entry::Fail(number) => self.with_machine(*number, |machine| machine.updates = Updates::Fail),
            Entry::Trouble(number) => self.with_machine(*number, |machine| machine.updates = Updates::GetIntoTrouble),
            Entry::Try(number) => self.with_machine(*number, Machine::try_again),
            Entry::Retry(number) => self.with_machine(*number, Machine::retry),
            Entry::Refuse { machine, for_good } => {
                let says = Provider::Refuses { for_good: *for_good };
                self.with_machine(*machine, |machine| machine.provider = says);
            }
            Entry::Accept(number) => self.with_machine(*number, |machine| machine.provider = Provider::Accepts),
            Entry::Replicas(replicas) => self.replicas = *replicas,
            Entry::Template(template) => self.template.clone_from(template),
            Entry::Paused(paused) => self.paused = *paused,
            Entry::Strategy(strategy) => self.strategy = *strategy,
            Entry::Policy(policy) => self.policy = *policy,
            Entry::KeepOriginals(keep) => self.keep_originals = *keep,
            Entry::Extensions(answer) => self.answer = *answer,
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
        Self {
            set,
            scaffolding: false,
            state: State::Idle,
            unavailable: false,
            updates: Updates::Succeed,
            provider: Provider::Accepts,
            refused: None,
            deleting: false,
        }
    }

    /// An update that had begun has come to its end.
    pub fn finish_update(&mut self) {
        if self.is_under_update() {
            self.state = match self.updates {
                Updates::Succeed => State::Idle,
                Updates::Fail => State::Failed,
                Updates::GetIntoTrouble => State::Tried,
            };
        }
    }

    fn retry(&mut self) {
        self.updates = Updates::Succeed;
        if self.has_failed() {
            self.state = State::Started;
        }
        self.try_again();
    }

    fn try_again(&mut self) {
        if self.state == State::Tried {
            self.state = State::TriedAgain;
        }
    }

    /// An extension is at work on it.
    pub fn is_under_update(&self) -> bool {
        matches!(self.state, State::Started | State::TriedAgain)
    }

    /// Its update is not done, and nobody is at work on it.
    pub fn is_over(&self) -> bool {
        matches!(self.state, State::Tried | State::Failed)
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
