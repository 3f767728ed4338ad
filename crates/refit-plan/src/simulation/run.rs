//! Plays a scenario.

use super::deployment;
use super::entry::Entry;
use super::machine_set;
use super::number::SetNumber;
use super::random::SplitMix64;
use super::scenario::{Scenario, ScenarioError};
use super::trace::{Final, Line, Trace, World as FinalWorld};
use super::world::{Outcome, World};
use crate::check::Checker;

/// How many rounds there are at most. A rollout of a few machines needs about three for each.
pub const MAX_ROUNDS: usize = 200;

/// Plays the schedule and then rounds, until one changes nothing.
pub fn run(scenario: &Scenario) -> Result<Trace, ScenarioError> {
    scenario.validate()?;
    let mut simulation = Simulation::new(scenario);
    scenario.schedule.iter().for_each(|entry| simulation.step(entry));
    let is_settled = simulation.rounds();
    Ok(simulation.finish(is_settled))
}

struct Simulation<'a> {
    scenario: &'a Scenario,
    world: World,
    checker: Checker,
    start: FinalWorld,
    lines: Vec<Line>,
    waiting_on: Vec<String>,
}

impl<'a> Simulation<'a> {
    fn new(scenario: &'a Scenario) -> Self {
        let world = World::new(scenario);
        let checker = Checker::new(world.rules(), &world.judged(scenario));
        let start = FinalWorld { machine_sets: world.states() };
        Self { scenario, world, checker, start, lines: Vec::new(), waiting_on: Vec::new() }
    }

    fn rounds(&mut self) -> bool {
        let mut random = self.scenario.seed.map(SplitMix64::new);
        (0..MAX_ROUNDS).any(|_| {
            let before = self.world.clone();
            match &mut random {
                Some(random) => self.random_round(random),
                None => self.round(),
            }
            before == self.world
        })
    }

    /// The MachineDeployment, every MachineSet, and every machine that is being deleted, by number.
    fn round(&mut self) {
        self.step(&Entry::Deployment);
        self.reconcile_sets(0);
        self.world.deleting().into_iter().for_each(|machine| self.step(&Entry::Machine(machine)));
    }

    /// The same in random order. MachineSets that come in the round come last.
    fn random_round(&mut self, random: &mut SplitMix64) {
        let newest = self.world.last_set;
        let sets = self.world.sets.keys().copied().map(Entry::MachineSet);
        let machines = self.world.deleting().into_iter().map(Entry::Machine);
        let mut entries: Vec<Entry> = [Entry::Deployment].into_iter().chain(sets).chain(machines).collect();
        random.shuffle(&mut entries);
        entries.iter().for_each(|entry| self.step(entry));
        self.reconcile_sets(newest + 1);
    }

    fn reconcile_sets(&mut self, from: u32) {
        let sets: Vec<SetNumber> = self.world.sets.range(SetNumber(from)..).map(|(&number, _)| number).collect();
        sets.into_iter().for_each(|set| self.step(&Entry::MachineSet(set)));
    }

    fn step(&mut self, entry: &Entry) {
        let outcome = match entry {
            Entry::Deployment => deployment::reconcile(&mut self.world, self.scenario),
            Entry::MachineSet(number) => machine_set::reconcile(&mut self.world, *number),
            _ => self.world.apply(entry),
        };
        self.checker.change(self.world.rules());
        self.checker.observe(&entry.judged(), &self.world.judged(self.scenario));
        self.record(entry, outcome);
    }

    fn record(&mut self, entry: &Entry, outcome: Outcome) {
        if *entry == Entry::Deployment {
            self.waiting_on = outcome.waiting_on;
        }
        self.lines.push(Line {
            iteration: self.lines.len() + 1,
            reconcile: entry.to_string(),
            machine_sets: self.world.states(),
            created: outcome.created.into_iter().collect(),
            deleted: outcome.deleted.into_iter().collect(),
            moved: outcome.moved,
            notes: outcome.notes,
        });
    }

    fn finish(self, is_settled: bool) -> Trace {
        let world = FinalWorld { machine_sets: self.world.states() };
        let violations = self.checker.finish(is_settled);
        let last = Final { world, iterations: self.lines.len(), violations };
        Trace { start: self.start, lines: self.lines, last, is_settled, waiting_on: self.waiting_on }
    }
}
