//! Judges a whole history by the invariants I1 to I6 and I8, write by write.
//!
//! Who made a write follows from what it changed. [`refit_plan::check`] judges machines that come, move and go; how many
//! may be there and be away is judged by [`bounds`], because a write is less than a pass; what a machine is made of, here.
//! [`extensions`] says what was known at a moment, and [`silence`] finds rollouts that wait and do not say what for.

mod bounds;
mod extensions;
mod identity;
mod rules;
mod silence;
#[cfg(test)]
mod tests;
mod view;

use std::collections::BTreeSet;
use std::time::Duration;

use kube::ResourceExt;
use refit_api::cluster::{Machine, MachineDeployment, MachineSet};
use refit_plan::check::{Actor, Checker, Rules};

use crate::history::{Entry, Object};
use bounds::Bounds;
use extensions::Extensions;
use identity::Identities;
use silence::Silence;
use view::{View, controllers};

/// What is judged, and what is the user's own doing.
pub struct Case {
    pub rules: Rules,
    /// The machines are there since then.
    pub settled_at: u64,
    /// Machines that the user has deleted.
    pub deleted_by_user: BTreeSet<String>,
}

/// All that breaks an invariant, with the time since the beginning.
pub fn judge(case: &Case, entries: &[Entry]) -> Vec<String> {
    let mut judge = Judge::new(case);
    entries.iter().for_each(|entry| judge.step(entry));
    let Judge { wrong, checker, .. } = judge;
    let known = checker.as_ref().map_or(0, |checker| checker.violations().len());
    let at_the_end = checker.map(|checker| checker.finish(true)).unwrap_or_default();
    wrong.into_iter().chain(at_the_end.into_iter().skip(known)).collect()
}

struct Judge<'a> {
    case: &'a Case,
    view: View,
    identities: Identities,
    /// Since the machines are there, and until the MachineDeployment goes.
    checker: Option<Checker>,
    bounds: Bounds,
    extensions: Extensions,
    silence: Silence,
    /// The MachineDeployment is deleted, and all that belongs to it goes.
    is_over: bool,
    wrong: Vec<String>,
}

impl<'a> Judge<'a> {
    fn new(case: &'a Case) -> Self {
        let (view, identities, bounds) = (View::default(), Identities::default(), Bounds::new(case.rules));
        let (extensions, silence) = (Extensions::default(), Silence::default());
        Self { case, view, identities, checker: None, bounds, extensions, silence, is_over: false, wrong: Vec::new() }
    }

    fn step(&mut self, entry: &Entry) {
        if self.checker.is_none() && !self.is_over && entry.version > self.case.settled_at {
            self.checker = Some(Checker::new(self.case.rules, &self.view.world()));
            self.bounds.begin(&self.view);
        }
        self.follow_rules(entry.at);
        let silent = self.silence.judge(entry.at, &self.view);
        let found = match &entry.object {
            Object::Deployment(it) => self.deployment(it, entry.is_gone, entry.at),
            Object::Set(it) => self.set(it, entry.is_gone),
            Object::Machine(it) => self.machine(it, entry.is_gone),
            Object::Host(it) => self.identities.host(it, entry.is_gone, &self.view),
            Object::Bootstrap(it) => self.identities.bootstrap(it, entry.is_gone, &self.view),
            Object::Rollout(it) => self.view.note_rollout(it, entry.is_gone),
            Object::Extension(it) => {
                let is_there_first = entry.version <= self.case.settled_at;
                self.extensions.note(it, entry.is_gone, (!is_there_first).then_some(entry.at))
            }
        };
        self.silence.note(entry.at, &self.view);
        let at = |what: String| format!("{:.3}s, version {}: {what}", entry.at.as_secs_f64(), entry.version);
        self.wrong.extend(silent.into_iter().chain(found).map(at));
    }

    /// What is known may change with the time alone.
    fn follow_rules(&mut self, at: Duration) {
        let (Some(checker), Some(deployment)) = (&mut self.checker, &self.view.deployment) else { return };
        let is_known = self.extensions.are_known(at, rules::replace_after(deployment));
        checker.change(rules::in_force(Rules { is_known, ..self.case.rules }, deployment));
    }

    fn deployment(&mut self, new: &MachineDeployment, is_gone: bool, at: Duration) -> Vec<String> {
        let before = self.view.deployment.as_ref();
        let is_changed = before.is_none_or(|old| old.spec != new.spec || old.annotations() != new.annotations());
        self.is_over |= is_gone || new.metadata.deletion_timestamp.is_some();
        self.view.deployment = Some(new.clone());
        if self.is_over {
            self.checker = None;
            return Vec::new();
        }
        self.follow_rules(at);
        if is_changed { self.observe(&Actor::User) } else { Vec::new() }
    }

    fn set(&mut self, new: &MachineSet, is_gone: bool) -> Vec<String> {
        let name = new.name_any();
        if is_gone {
            self.view.sets.remove(&name);
        } else {
            self.view.sets.insert(name, new.clone());
        }
        self.observe(&Actor::Deployment)
    }

    fn machine(&mut self, new: &Machine, is_gone: bool) -> Vec<String> {
        let name = new.name_any();
        let mut wrong = self.identities.machine(new);
        let (old, owner) = (self.view.machines.get(&name).cloned(), controllers(new));
        if owner.len() != 1 {
            wrong.push(format!("I5: {name} is controlled by {owner:?}"));
        }
        let actor = self.who(&name, old.as_ref(), new, is_gone);
        self.view.note(new, is_gone, self.case.deleted_by_user.contains(&name));
        wrong.extend(self.observe(&actor));
        wrong
    }

    /// Who made this state of a machine out of the last one.
    fn who(&self, name: &str, old: Option<&Machine>, new: &Machine, is_gone: bool) -> Actor {
        let owner = |machine: &Machine| Actor::MachineSet(controllers(machine).into_iter().next().unwrap_or_default());
        let Some(old) = old else { return owner(new) };
        let is_new_deletion =
            old.metadata.deletion_timestamp.is_none() && (is_gone || new.metadata.deletion_timestamp.is_some());
        let by_user = self.case.deleted_by_user.contains(name);
        if is_new_deletion && by_user && !is_gone {
            Actor::User
        } else if (is_new_deletion && !by_user) || controllers(old) != controllers(new) {
            owner(old)
        } else {
            Actor::Machine(name.to_owned())
        }
    }

    /// Has the step judged, and gives what was found in it.
    fn observe(&mut self, actor: &Actor) -> Vec<String> {
        let Some(checker) = &mut self.checker else { return Vec::new() };
        let known = checker.violations().len();
        checker.observe(actor, &self.view.world());
        let mut found = checker.violations()[known..].to_vec();
        found.extend(self.bounds.observe(actor, &self.view));
        found
    }
}
