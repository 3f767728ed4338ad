//! Judges what happens to the machines of a MachineDeployment by the invariants of refit.
//!
//! It shares no code with the planner and does not know how that decides: it sees one world after another and who made
//! the step between them. It judges steps of refit. What the user or the world does is never a violation, and what
//! follows from it is not one either, as far as that is named here:
//!
//! - A step is held to the limits in force now, or to those under which the MachineSet got its orders since it last
//!   carried them out, whichever allow more: it cannot know that the user has changed the number meanwhile.
//! - Machines that the world makes unavailable, or the user deletes, do not count against the budget; nor does the one
//!   machine that is given up when a rollout is stuck on an unavailable one. Machines whose updates fail do: a bad change
//!   stops by itself.
//! - A MachineSet may replace a machine that the user has deleted, however many there are.
//! - As many machines may go as the user has taken back, or as have to be replaced because their MachineSet is a second
//!   one of its template.
//! - Under `Require` a MachineSet may delete the machine that stands in for others, if that came after the rollout began;
//!   and as many new ones as the user has deleted, since two MachineSets may both have made up for one.
//! - A MachineSet may carry out an order to replace machines that was given while that was known to be right. The policy
//!   `Require` it obeys at once.
//! - A machine that the provider refuses to change for good may be replaced where the policy allows it, also by an order that
//!   was given while that was so. One that it refuses for the moment stays.
//! - Upstream's sequence loses count of machines that are on their way when the template changes again: their MachineSet
//!   is not the new one any more, nobody acknowledges them, and its counters do not have them yet. When the template
//!   changes back, they are counted a second time. As many machines may be too many, or unavailable, until their updates
//!   are done. With keep-originals nothing of this is excused.

mod accounts;
mod world;

pub use world::{Actor, Machine, Refusal, Rules, Set, World};

use accounts::Accounts;

/// Watches a run and collects what breaks an invariant.
#[derive(Debug, Clone)]
pub struct Checker {
    rules: Rules,
    accounts: Accounts,
    last: World,
    violations: Vec<String>,
}

impl Checker {
    pub fn new(rules: Rules, start: &World) -> Self {
        Self { rules, accounts: Accounts::new(start), last: start.clone(), violations: Vec::new() }
    }

    /// The user or the world has changed what the run is held to.
    pub fn change(&mut self, rules: Rules) {
        if rules.is_required && !self.rules.is_required {
            self.accounts.note_required(&self.last);
        }
        self.rules = rules;
    }

    /// Judges one step.
    pub fn observe(&mut self, actor: &Actor, world: &World) {
        let before = std::mem::replace(&mut self.last, world.clone());
        self.accounts.note(actor, self.rules, &before, world);
        if *actor != Actor::User {
            self.judge_owners(actor, &before);
        }
        if matches!(actor, Actor::MachineSet(_)) {
            self.judge_limits(actor, &before);
            self.judge_originals();
        }
        self.accounts.note_done(actor, &self.last);
    }

    /// What was found so far.
    pub fn violations(&self) -> &[String] {
        &self.violations
    }

    /// Judges the end, and gives all violations.
    pub fn finish(mut self, is_settled: bool) -> Vec<String> {
        if is_settled {
            self.judge_end();
        } else {
            self.violation("I7", "it does not settle".to_owned());
        }
        self.violations
    }

    /// I3 and I5: who may make, move and remove machines, and which.
    fn judge_owners(&mut self, actor: &Actor, before: &World) {
        let world = self.last.clone();
        for (name, was) in &before.machines {
            match world.machines.get(name) {
                None => self.judge_removal(actor, name, was),
                Some(is) if is.set != was.set => self.judge_move(actor, name, was, is),
                Some(_) => {}
            }
        }
        let came = world.machines.iter().filter(|(name, _)| !before.machines.contains_key(*name));
        for (name, machine) in came {
            if *actor != Actor::MachineSet(machine.set.clone()) {
                self.violation("I5", format!("{name} was not created by its own MachineSet"));
            }
        }
        if let Some((name, _)) = world.machines.iter().find(|(_, machine)| !world.sets.contains_key(&machine.set)) {
            self.violation("I5", format!("{name} has no owner"));
        }
    }

    fn judge_removal(&mut self, actor: &Actor, name: &str, was: &Machine) {
        match actor {
            Actor::Machine(own) if own == name && was.is_deleting => {}
            Actor::MachineSet(owner) if *owner == was.set => {
                if was.is_unacknowledged {
                    self.violation("I5", format!("{name} was deleted on its way from one MachineSet to another"));
                }
            }
            Actor::User | Actor::Deployment | Actor::Machine(_) | Actor::MachineSet(_) => {
                self.violation("I5", format!("{name} was lost"));
            }
        }
    }

    fn judge_move(&mut self, actor: &Actor, name: &str, was: &Machine, is: &Machine) {
        if *actor != Actor::MachineSet(was.set.clone()) {
            self.violation("I5", format!("{name} was taken from {} by another", was.set));
        }
        let may_have_finished = was.is_started;
        // An update that failed is over when something else is wanted.
        let is_over = was.is_failed && !self.last.is_wanted(was);
        if (was.is_updating && !may_have_finished && !is_over) || !is.is_updating {
            self.violation("I3", format!("{name} was moved in the middle of an update, or without one"));
        }
    }

    /// I2: not too many machines, and not too few that are available.
    fn judge_limits(&mut self, actor: &Actor, before: &World) {
        let overtaken = if self.rules.is_upstream() { self.accounts.overtaken(actor, &self.last) } else { 0 };
        let (total, ceiling) = (self.last.total(), self.accounts.ceiling(actor, &self.last) + overtaken);
        if total > before.total() + self.accounts.replacements(actor) && total > ceiling {
            self.violation("I2", format!("there are {total} machines, at most {ceiling} are allowed"));
        }
        let available = self.last.available();
        // What was excused before is not held against the next step, but excuses nothing more.
        let floor = self.accounts.floor(actor, &self.last).min(before.available()) - overtaken - self.given_up();
        if !self.rules.on_delete && available < floor {
            self.violation("I2", format!("{available} machines are available, at least {floor} must be"));
        }
    }

    /// Upstream's sequence gives up a machine for one whose update failed, once the template has changed again.
    fn given_up(&self) -> i64 {
        let is_stuck = self.last.machines.values().any(|machine| machine.is_failed && !self.last.is_wanted(machine));
        i64::from(self.rules.is_upstream() && is_stuck)
    }

    /// I1 and I6: machines stay, as long as the user wants that many.
    fn judge_originals(&mut self) {
        if let Some(name) = self.accounts.deleted_unknown() {
            self.violation("I8", format!("{name} was deleted, and nobody knew that it had to be"));
        }
        if self.rules.is_required {
            self.judge_required();
        } else if let Some(name) = self.accounts.replaced_original() {
            self.violation("I6", format!("{name} was there at the start and was replaced"));
        }
    }

    /// I1: a rollout deletes no machine but the one that it made to stand in for others.
    fn judge_required(&mut self) {
        match self.accounts.deleted_for_rollout() {
            Some((name, true)) => {
                self.violation("I1", format!("{name} was there before the rollout and was deleted"));
            }
            Some((name, false)) => {
                self.violation("I1", format!("{name} was deleted for the rollout and was no scaffolding"));
            }
            None => {}
        }
    }

    /// I7: the end is what was asked for.
    fn judge_end(&mut self) {
        let world = &self.last;
        let mut wrong = Vec::new();
        let is_endless = |machine: &Machine| machine.is_updating && !machine.is_failed;
        if let Some(name) = world.machines.iter().find(|(_, machine)| is_endless(machine)).map(|(name, _)| name) {
            wrong.push(format!("the update of {name} never ends"));
        }
        let must_complete = self.rules.must_complete(world);
        // A machine whose update failed waits for a person, unless something else is wanted of it by now.
        let is_stuck = |machine: &Machine| machine.is_failed && (world.is_wanted(machine) || !must_complete);
        let is_disturbed = world.machines.values().any(|machine| machine.is_made_unavailable || is_stuck(machine));
        // Upstream makes machines of surge then.
        let surge = if self.rules.keeps_originals() { 0 } else { i64::from(world.max_surge) };
        let spare = if self.rules.is_paused { world.scaffolding().max(surge) } else { 0 };
        // While nothing rolls out, nobody makes the first MachineSet.
        let cannot_begin = self.rules.is_paused && world.sets.is_empty();
        let is_whole = cannot_begin || (0..=spare).contains(&(world.total() - i64::from(world.replicas)));
        if !is_disturbed && !is_whole {
            wrong.push(format!("there are {} machines, {} are wanted", world.total(), world.replicas));
        }
        let is_outdated = |machine: &Machine| !world.is_wanted(machine) && !world.must_wait(machine, self.rules);
        let outdated = world.machines.iter().find(|(_, machine)| is_outdated(machine));
        if let Some((name, _)) = outdated.filter(|_| !is_disturbed && must_complete) {
            wrong.push(format!("{name} is not of the wanted template"));
        }
        wrong.into_iter().for_each(|what| self.violation("I7", what));
    }

    fn violation(&mut self, invariant: &str, what: String) {
        self.violations.push(format!("{invariant}: {what}"));
    }
}

#[cfg(test)]
mod tests;
