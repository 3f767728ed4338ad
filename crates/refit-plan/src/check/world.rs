//! What the checker sees.

use std::collections::BTreeMap;

/// What a run is held to, until the user or the world changes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// The user deletes machines; refit replaces none by itself.
    pub on_delete: bool,
    /// Nothing rolls out, and the number of machines follows the user.
    pub is_paused: bool,
    /// Extensions cover every change.
    pub is_covered: bool,
    /// All extensions have answered. If not, nobody knows what they cover.
    pub is_known: bool,
    /// No machine may be replaced for a rollout.
    pub is_required: bool,
    /// Updates in place are allowed.
    pub may_update: bool,
    pub keep_originals: bool,
}

/// Who made a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Actor {
    /// The user, or the world.
    User,
    Deployment,
    MachineSet(String),
    /// The machine itself, which ends when it is deleted.
    Machine(String),
}

/// All there is after a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct World {
    pub replicas: i32,
    pub max_surge: i32,
    pub max_unavailable: i32,
    pub template: String,
    pub sets: BTreeMap<String, Set>,
    pub machines: BTreeMap<String, Machine>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Set {
    pub template: String,
    /// How many machines it is to have.
    pub replicas: i32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// The MachineSet that has it.
    pub set: String,
    pub is_updating: bool,
    /// Its update began in an earlier step of its MachineSet, which may find it done in the next.
    pub is_started: bool,
    /// Moved, and counted by nobody yet.
    pub is_unacknowledged: bool,
    /// Its update failed, for good or until the next try, and nobody is at work on it. It counts as being updated.
    pub is_failed: bool,
    /// The provider does not let it become something else.
    pub refusal: Option<Refusal>,
    /// Its MachineSet says that it stands in for others while they are updated.
    pub is_scaffolding: bool,
    /// The world has made it unavailable.
    pub is_made_unavailable: bool,
    pub is_deleting: bool,
}

/// A provider says no to a change of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal {
    /// Only another host can become what is wanted.
    pub for_good: bool,
}

impl Machine {
    pub fn is_refused_for_good(&self) -> bool {
        self.refusal.is_some_and(|refusal| refusal.for_good)
    }
}

impl Rules {
    /// Whether a machine that was there at the start must be there at the end.
    pub fn keeps_originals(&self) -> bool {
        let may_cover = self.is_covered || !self.is_known;
        self.is_required || (self.keep_originals && may_cover && self.may_update)
    }

    /// I8: whether machines may be replaced, and it is known that they have to be.
    pub fn may_replace(&self) -> bool {
        !self.is_required && (!self.may_update || self.is_known)
    }

    /// Whether the steps are upstream's, with what is wrong about them.
    pub fn is_upstream(&self) -> bool {
        self.may_update && !self.is_required && !self.keep_originals
    }

    /// Whether all machines become those of the wanted template without the user's help.
    pub fn must_complete(&self, world: &World) -> bool {
        let templates = || world.sets.values().filter(|set| set.template == world.template);
        let rolls_out = !self.on_delete && !self.is_paused && (self.is_known || !self.may_update);
        // Under `Require` a second MachineSet of the wanted template stays as it is, which is as it should be.
        rolls_out && (!self.is_required || (self.is_covered && templates().count() <= 1))
    }
}

impl World {
    pub fn total(&self) -> i64 {
        count(self.machines.values(), |_| true)
    }

    pub fn available(&self) -> i64 {
        count(self.machines.values(), |machine| !machine.is_updating && !machine.is_made_unavailable)
    }

    pub fn scaffolding(&self) -> i64 {
        count(self.machines.values(), |machine| machine.is_scaffolding)
    }

    /// Whether a MachineSet has all machines that it is to have, without those that nobody has counted yet.
    pub fn is_fulfilled(&self, set: &str) -> bool {
        let counted = count(self.machines.values(), |machine| machine.set == set && !machine.is_unacknowledged);
        self.sets.get(set).is_some_and(|set| counted >= i64::from(set.replicas))
    }

    /// Whether the provider keeps it from being updated, and it is not known that it has to be replaced: that holds when all
    /// machines that are left in its MachineSet are refused for good, and the policy allows it.
    pub fn must_wait(&self, machine: &Machine, rules: Rules) -> bool {
        let mates = || self.machines.values().filter(|mate| mate.set == machine.set && !mate.is_deleting);
        machine.refusal.is_some() && (rules.is_required || !mates().all(Machine::is_refused_for_good))
    }

    pub fn is_wanted(&self, machine: &Machine) -> bool {
        self.sets.get(&machine.set).is_some_and(|set| set.template == self.template)
    }
}

pub fn count<'a>(machines: impl Iterator<Item = &'a Machine>, which: impl Fn(&Machine) -> bool) -> i64 {
    i64::try_from(machines.filter(|machine| which(machine)).count()).unwrap_or(i64::MAX)
}
