//! The model: which steps there are in a state, and where they lead.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::sync::Mutex;

use refit_plan::machine_deployment::{Observed, Plan};
use stateright::{Model, Property};

use crate::deployment::{self, Seen};
use crate::healing::{self, Order};
use crate::ledger::{Fault, Ledger};
use crate::machine_set;
use crate::state::{Actor, Answer, Api, Lag, Late, MachineId, Policy, Provider, SetId, Stage, State, Wish};
use crate::write::Write;

/// A configuration of the model.
#[derive(Debug)]
pub struct Protocol {
    /// The policy at the start.
    pub policy: Policy,
    pub max_surge: u8,
    pub max_unavailable: u8,
    /// How many machines there are at the start.
    pub machines: u8,
    /// What the user may do, each once, at any time and in any order.
    pub changes: Vec<Change>,
    /// How many updates may fail for good.
    pub failures: u8,
    /// How many machines may get into trouble: each try of their update fails, and is made again.
    pub troubles: u8,
    /// The caches that may stop following the API, one at a time.
    pub lags: Vec<Kind>,
    /// What is known to be possible when the user's change meets a write that was decided before it. Such a path ends there,
    /// and is no counterexample.
    pub excused: Vec<Fault>,
    /// How the MachineDeployment decides.
    pub plan: fn(&Observed<'_>) -> Plan,
    /// Worlds that are known to come to their end, by the order of the rounds.
    pub healed: Mutex<BTreeSet<(Order, Api)>>,
}

/// What the user does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Change {
    Pause,
    Resume,
    OnDelete,
    RollingUpdate,
    Template(u8),
    Replicas(u8),
    Delete(MachineId),
    Policy(Policy),
    /// The world: what extensions say from now on.
    Answer(Answer),
    /// The world: what the provider says to a change of this machine from now on.
    Provider(MachineId, Provider),
}

/// What a cache holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    Machines,
    /// The MachineDeployment and its MachineSets.
    Sets,
}

/// One step of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// Reads everything, and decides.
    Look(Actor),
    /// A cache stops following the API.
    FallBehind(Kind),
    /// It is up to date again.
    CatchUp,
    /// Carries out the next write of the pass.
    Write(Actor),
    /// The pass ends where it is. The next one reads anew.
    Crash(Actor),
    /// The update is done.
    Finish(MachineId),
    /// The update has failed for good.
    Fail(MachineId),
    /// A try of the update has failed. There will be another one.
    Trouble(MachineId),
    /// The next try begins.
    TryAgain(MachineId),
    /// A machine that is being deleted is gone.
    Gone(MachineId),
    User(Change),
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (surge, unavailable) = (self.max_surge, self.max_unavailable);
        write!(f, "{:?}, surge {surge}, unavailable {unavailable}, ", self.policy)?;
        write!(f, "changes {:?}, lags {:?}, ", self.changes, self.lags)?;
        write!(f, "failures {}, troubles {}", self.failures, self.troubles)
    }
}

impl Protocol {
    pub fn ceiling(&self, wish: Wish) -> u8 {
        wish.replicas + self.max_surge
    }

    pub fn floor(&self, wish: Wish) -> u8 {
        // Under OnDelete the user takes machines as he likes.
        if wish.on_delete { 0 } else { wish.replicas.saturating_sub(self.max_unavailable) }
    }

    /// The writes that an actor would make about what it sees.
    pub fn decide(&self, actor: Actor, seen: Seen<'_>) -> VecDeque<Write> {
        match actor {
            Actor::Deployment => deployment::pass(self, seen),
            Actor::MachineSet(set) => machine_set::pass(set, seen),
        }
    }

    /// What must never happen, as properties.
    fn never(&self) -> [(Fault, Property<Self>); 7] {
        fn has(state: &State, fault: Fault) -> bool {
            state.ledger.fault == Some(fault)
        }
        [
            (
                Fault::LostOnTheWay,
                Property::always("no machine is deleted on its way", |_, state| !has(state, Fault::LostOnTheWay)),
            ),
            (
                Fault::CountedTwice,
                Property::always("no machine is counted twice", |_, state| !has(state, Fault::CountedTwice)),
            ),
            (
                Fault::UpdatedTwice,
                Property::always("a machine has one update at a time", |_, state| !has(state, Fault::UpdatedTwice)),
            ),
            (
                Fault::TooMany,
                Property::always("machines stay within replicas and surge", |_, state| !has(state, Fault::TooMany)),
            ),
            (Fault::TooFew, Property::always("enough machines stay available", |_, state| !has(state, Fault::TooFew))),
            (
                Fault::Churn,
                Property::always("machines are not created again and again", |_, state| !has(state, Fault::Churn)),
            ),
            (
                Fault::OriginalLost,
                Property::always("the first machines stay", |_, state| !has(state, Fault::OriginalLost)),
            ),
        ]
    }

    fn look(&self, state: &mut State, actor: Actor) {
        let api = &state.api;
        let (wish, sets, machines) = (api.wish, &api.sets, &api.machines);
        let seen = match state.lag.as_ref().map(|lag| &lag.seen) {
            None => Seen { wish, sets, machines },
            Some(Late::Machines(machines)) => Seen { wish, sets, machines },
            Some(Late::Sets(wish, sets)) => Seen { wish: *wish, sets, machines },
        };
        let writes = self.decide(actor, seen);
        if !writes.is_empty() {
            state.passes.insert(actor, writes);
        }
    }

    fn write(&self, state: &mut State, actor: Actor) {
        let Some(mut left) = state.passes.remove(&actor) else { return };
        let Some(write) = left.pop_front() else { return };
        let mut api = state.api.clone();
        if write.carry_out(&mut api).is_err() {
            return;
        }
        state.ledger.note_write(self, &write, &state.api, &api);
        state.api = api;
        if let Some(lag) = state.lag.as_mut().filter(|lag| lag.lacks(&write)) {
            lag.waiting.insert(actor);
        }
        if !left.is_empty() {
            state.passes.insert(actor, left);
        }
    }

    fn change(&self, state: &mut State, change: Change) {
        if let Some(at) = state.changes.iter().position(|&left| left == change) {
            state.changes.remove(at);
        }
        let before = state.api.wish;
        let wish = &mut state.api.wish;
        match change {
            Change::Pause => wish.paused = true,
            Change::Resume => wish.paused = false,
            Change::OnDelete => wish.on_delete = true,
            Change::RollingUpdate => wish.on_delete = false,
            Change::Template(template) => wish.template = template,
            Change::Replicas(replicas) => wish.replicas = replicas,
            Change::Policy(policy) => wish.policy = policy,
            Change::Answer(answer) => wish.answer = answer,
            Change::Delete(machine) => {
                state.api.machines.get_mut(&machine).into_iter().for_each(|machine| machine.deleting = true);
            }
            Change::Provider(machine, says) => {
                state.api.machines.get_mut(&machine).into_iter().for_each(|machine| machine.provider = says);
            }
        }
        state.ledger.note_change(self, change, before, state.api.wish);
    }

    /// Whether the user would change anything by it.
    fn is_a_change(api: &Api, change: Change) -> bool {
        match change {
            Change::Pause => !api.wish.paused,
            Change::Resume => api.wish.paused,
            Change::OnDelete => !api.wish.on_delete,
            Change::RollingUpdate => api.wish.on_delete,
            Change::Template(template) => api.wish.template != template,
            Change::Replicas(replicas) => api.wish.replicas != replicas,
            Change::Policy(policy) => api.wish.policy != policy,
            Change::Answer(answer) => api.wish.answer != answer,
            Change::Delete(machine) => api.machines.get(&machine).is_some_and(|machine| !machine.deleting),
            Change::Provider(machine, says) => api.machines.get(&machine).is_some_and(|is| is.provider != says),
        }
    }

    fn steps_of(actor: Actor, state: &State, steps: &mut Vec<Step>) {
        let is_waiting = state.lag.as_ref().is_some_and(|lag| lag.waiting.contains(&actor));
        match state.passes.get(&actor) {
            Some(_) => steps.extend([Step::Write(actor), Step::Crash(actor)]),
            None if is_waiting => {}
            None => steps.push(Step::Look(actor)),
        }
    }
}

impl Lag {
    /// Whether the cache would hold what was written.
    fn lacks(&self, write: &Write) -> bool {
        let is_about_machines = match write {
            Write::Order { .. } | Write::CreateSet { .. } | Write::Report { .. } => false,
            Write::Move { .. }
            | Write::Begin { .. }
            | Write::Create { .. }
            | Write::Delete { .. }
            | Write::Unmark { .. }
            | Write::NoteRefusal { .. } => true,
        };
        match self.seen {
            Late::Machines(_) => is_about_machines,
            Late::Sets(..) => !is_about_machines,
        }
    }
}

impl Late {
    fn of(kind: Kind, api: &Api) -> Self {
        match kind {
            Kind::Machines => Self::Machines(api.machines.clone()),
            Kind::Sets => Self::Sets(api.wish, api.sets.clone()),
        }
    }
}

impl Model for Protocol {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        let api = Api::new(self.machines, self.max_surge, self.policy);
        let ledger = Ledger::new(self, api.wish);
        let (changes, failures, troubles) = (self.changes.clone(), self.failures, self.troubles);
        vec![State { api, passes: BTreeMap::new(), lag: None, changes, failures, troubles, ledger }]
    }

    fn actions(&self, state: &State, steps: &mut Vec<Step>) {
        if state.ledger.fault.is_some() {
            return;
        }
        match state.lag {
            Some(_) => steps.push(Step::CatchUp),
            None => steps.extend(self.lags.iter().map(|&kind| Step::FallBehind(kind))),
        }
        let sets = state.api.sets.keys().map(|&set: &SetId| Actor::MachineSet(set));
        for actor in [Actor::Deployment].into_iter().chain(sets) {
            Self::steps_of(actor, state, steps);
        }
        for (&name, machine) in &state.api.machines {
            let runs = machine.is_under_update() && !machine.deleting;
            steps.extend(runs.then_some(Step::Finish(name)));
            steps.extend((runs && state.failures > 0).then_some(Step::Fail(name)));
            steps.extend((runs && state.troubles > 0).then_some(Step::Trouble(name)));
            let rests = machine.stage == Stage::Tried && !machine.deleting;
            steps.extend(rests.then_some(Step::TryAgain(name)));
            steps.extend(machine.deleting.then_some(Step::Gone(name)));
        }
        let useful = state.changes.iter().filter(|&&change| Self::is_a_change(&state.api, change));
        steps.extend(useful.map(|&change| Step::User(change)));
    }

    fn next_state(&self, last: &State, step: Step) -> Option<State> {
        let mut state = last.clone();
        match step {
            Step::Look(actor) => self.look(&mut state, actor),
            Step::FallBehind(kind) => {
                state.lag = Some(Lag { seen: Late::of(kind, &last.api), waiting: BTreeSet::new() })
            }
            Step::CatchUp => state.lag = None,
            Step::Write(actor) => self.write(&mut state, actor),
            Step::Crash(actor) => {
                state.passes.remove(&actor);
            }
            Step::Finish(name) => {
                state.api.machines.get_mut(&name)?.stage = Stage::Settled;
                state.ledger.note_done(name);
            }
            Step::Fail(name) => {
                state.api.machines.get_mut(&name)?.stage = Stage::Failed;
                state.failures -= 1;
            }
            Step::Trouble(name) => {
                state.api.machines.get_mut(&name)?.stage = Stage::Tried;
                state.troubles -= 1;
            }
            Step::TryAgain(name) => state.api.machines.get_mut(&name)?.stage = Stage::TriedAgain,
            Step::Gone(name) => {
                state.api.machines.remove(&name);
                state.ledger.note_gone(name);
            }
            Step::User(change) => self.change(&mut state, change),
        }
        (state != *last).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let never = self.never().into_iter().filter(|(fault, _)| !self.excused.contains(fault));
        let others = [
            Property::always("it gets there once it is left alone", healing::heals),
            Property::sometimes("a machine is moved", |_, state: &State| !state.ledger.uncounted.is_empty()),
            Property::sometimes("a rollout ends", |_, state: &State| {
                state.passes.is_empty() && state.api.sets[&1].order.replicas == 0 && state.api.wish.template == 2
            }),
        ];
        never.map(|(_, property)| property).chain(others).collect()
    }
}
