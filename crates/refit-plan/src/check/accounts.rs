//! What the user and the world have done, as far as it excuses what follows.

use std::collections::{BTreeMap, BTreeSet};

use super::world::{Actor, Machine, World, count};

/// Kept from step to step.
#[derive(Debug, Clone)]
pub struct Accounts {
    /// Machines of the start that no user has deleted, and whether updates in place could keep them.
    originals: BTreeMap<String, bool>,
    /// Machines of the start that refit has deleted.
    replaced: Vec<String>,
    /// Machines that were there when the rollout began, at the start or with the last change of the template. A machine
    /// that stood in for others then is not one of them.
    there_before: BTreeSet<String>,
    /// Machines that MachineSets have deleted and that were no scaffolding, and whether they were there before.
    deleted: Vec<(String, bool)>,
    /// How many machines the user has deleted: two MachineSets may both make up for one.
    deleted_by_user: i64,
    /// By how many machines the user has scaled down, or began with more than were wanted.
    taken_back: i64,
    /// The limits that the MachineDeployment saw last.
    seen: Limits,
    /// For each MachineSet the laxest limits under which its orders were given since it last carried them out.
    ordered: BTreeMap<String, Limits>,
    /// Machines that went or became unavailable through no fault of refit since their MachineSet has counted.
    unseen: BTreeMap<String, i64>,
    /// Machines that the user has deleted and that their MachineSet has not replaced yet.
    gone: BTreeMap<String, i64>,
    /// Machines that were on their way when the user changed the template and are not done since, and how often he did.
    overtaken: BTreeMap<String, i64>,
    /// Those of them that were in a MachineSet of another template when the MachineDeployment planned last.
    left_behind: BTreeSet<String>,
}

#[derive(Debug, Clone, Copy)]
struct Limits {
    ceiling: i64,
    floor: i64,
    /// How many machines were unavailable through no fault of refit.
    excused: i64,
    /// How many machines were overtaken by a change of the template when these limits were looked at.
    overtaken: i64,
}

impl Limits {
    fn of(world: &World) -> Self {
        let replicas = i64::from(world.replicas);
        let unavailable = count(world.machines.values(), |machine| machine.is_made_unavailable);
        // One more goes when the rollout is stuck on an unavailable one.
        let given_up = i64::from(unavailable > 0);
        let floor = (replicas - i64::from(world.max_unavailable)).max(0);
        Self { ceiling: replicas + i64::from(world.max_surge), floor, excused: unavailable + given_up, overtaken: 0 }
    }

    /// What either of the two allows.
    fn or(self, other: Self) -> Self {
        Self {
            ceiling: self.ceiling.max(other.ceiling),
            floor: self.floor.min(other.floor),
            excused: self.excused.max(other.excused),
            overtaken: self.overtaken.max(other.overtaken),
        }
    }
}

impl Accounts {
    pub fn new(start: &World) -> Self {
        let mut templates = BTreeMap::<&str, usize>::new();
        for set in start.sets.values() {
            *templates.entry(&set.template).or_default() += 1;
        }
        // Of two MachineSets of one template one is never updated in place.
        let is_single = |machine: &Machine| templates.get(start.sets[&machine.set].template.as_str()) == Some(&1);
        let originals = start.machines.iter().map(|(name, machine)| (name.clone(), is_single(machine)));
        Self {
            originals: originals.collect(),
            replaced: Vec::new(),
            there_before: start.machines.keys().cloned().collect(),
            deleted: Vec::new(),
            deleted_by_user: 0,
            taken_back: (start.total() - i64::from(start.replicas)).max(0),
            seen: Limits::of(start),
            ordered: start.sets.keys().map(|name| (name.clone(), Limits::of(start))).collect(),
            unseen: BTreeMap::new(),
            gone: BTreeMap::new(),
            overtaken: BTreeMap::new(),
            left_behind: BTreeSet::new(),
        }
    }

    pub fn note(&mut self, actor: &Actor, before: &World, after: &World) {
        match actor {
            Actor::User => self.note_user(before, after),
            Actor::Machine(_) => self.note_gone(before, after),
            Actor::Deployment => self.note_plan(after),
            Actor::MachineSet(_) => self.note_deleted(before, after),
        }
    }

    fn note_deleted(&mut self, before: &World, after: &World) {
        for (name, was) in before.machines.iter().filter(|(name, _)| !after.machines.contains_key(*name)) {
            if self.originals.contains_key(name) {
                self.replaced.push(name.clone());
            }
            let was_there = self.there_before.contains(name);
            if was_there || !was.is_scaffolding {
                self.deleted.push((name.clone(), was_there));
            }
        }
    }

    fn note_plan(&mut self, world: &World) {
        let is_overtaken = |machine: &Machine| machine.is_updating && !world.is_wanted(machine);
        let overtaken = world.machines.iter().filter(|(_, machine)| is_overtaken(machine));
        let overtaken: BTreeSet<String> = overtaken.map(|(name, _)| name.clone()).collect();
        for name in overtaken.difference(&self.left_behind) {
            *self.overtaken.entry(name.clone()).or_default() += 1;
        }
        self.left_behind = overtaken;
        let limits = Limits::of(world);
        let excused = limits.excused + self.unseen.values().sum::<i64>();
        self.seen = Limits { excused, overtaken: self.still_overtaken(), ..limits };
        for name in world.sets.keys() {
            let ordered = self.ordered.entry(name.clone()).or_insert(self.seen);
            *ordered = ordered.or(self.seen);
        }
    }

    /// A MachineSet has carried out its orders and counted its machines.
    pub fn note_done(&mut self, actor: &Actor, world: &World) {
        self.overtaken.retain(|name, _| world.machines.get(name).is_some_and(|machine| machine.is_updating));
        if let Actor::MachineSet(name) = actor {
            self.unseen.remove(name);
            // A machine that has just arrived may stand in the place of one that is still to be created.
            if world.is_fulfilled(name) {
                self.gone.remove(name);
                self.ordered.insert(name.clone(), self.seen);
            }
        }
    }

    fn note_user(&mut self, before: &World, after: &World) {
        self.taken_back += i64::from((before.replicas - after.replicas).max(0));
        if before.template != after.template {
            let stays = after.machines.iter().filter(|(_, machine)| !machine.is_scaffolding);
            self.there_before.extend(stays.map(|(name, _)| name.clone()));
        }
        for (name, machine) in &after.machines {
            let was = before.machines.get(name);
            if machine.is_made_unavailable && was.is_some_and(|was| !was.is_made_unavailable) {
                self.note_loss(&machine.set);
            }
            if machine.is_deleting {
                self.originals.remove(name);
                self.there_before.remove(name);
            }
        }
    }

    /// A machine is not available any more. Whoever carries out orders from before does not know.
    fn note_loss(&mut self, set: &str) {
        *self.unseen.entry(set.to_owned()).or_default() += 1;
        let orders = self.ordered.values_mut().chain([&mut self.seen]);
        orders.for_each(|limits| limits.excused += 1);
    }

    fn note_gone(&mut self, before: &World, after: &World) {
        let gone: BTreeSet<&String> =
            before.machines.keys().filter(|name| !after.machines.contains_key(*name)).collect();
        for name in gone {
            let set = &before.machines[name].set;
            self.note_loss(set);
            self.deleted_by_user += 1;
            *self.gone.entry(set.clone()).or_default() += 1;
            self.originals.remove(name);
        }
    }

    /// The most machines that there may be after a step.
    pub fn ceiling(&self, actor: &Actor, world: &World) -> i64 {
        self.limits(actor, world).ceiling
    }

    /// How many machines a MachineSet may create to make up for what the user has deleted.
    pub fn replacements(&self, actor: &Actor) -> i64 {
        match actor {
            Actor::MachineSet(name) => self.gone.get(name).copied().unwrap_or(0),
            Actor::User | Actor::Deployment | Actor::Machine(_) => 0,
        }
    }

    /// How many machines upstream's sequence has lost count of, because the template changed while they moved: now, or
    /// when the MachineSet got its orders.
    pub fn overtaken(&self, actor: &Actor, world: &World) -> i64 {
        self.limits(actor, world).overtaken.max(self.still_overtaken())
    }

    /// Nobody counts such a machine, and when the template changes back it is counted once more each time.
    fn still_overtaken(&self) -> i64 {
        self.overtaken.values().map(|times| times + 1).sum()
    }

    /// The fewest machines that must be available after a step.
    pub fn floor(&self, actor: &Actor, world: &World) -> i64 {
        let limits = self.limits(actor, world);
        limits.floor - limits.excused
    }

    fn limits(&self, actor: &Actor, world: &World) -> Limits {
        let ordered = match actor {
            Actor::MachineSet(name) => self.ordered.get(name).copied(),
            Actor::User | Actor::Deployment | Actor::Machine(_) => None,
        };
        Limits::of(world).or(ordered.unwrap_or(self.seen))
    }

    /// A machine that refit has deleted under `Require` although the user wanted as many and it was no scaffolding, and
    /// whether it was there before the rollout.
    pub fn deleted_for_rollout(&mut self) -> Option<(String, bool)> {
        let count = |which: &dyn Fn(&(String, bool)) -> bool| {
            i64::try_from(self.deleted.iter().filter(|one| which(one)).count()).unwrap_or(i64::MAX)
        };
        let is_excess = count(&|(_, was_there)| *was_there) > self.taken_back
            || count(&|_| true) > self.taken_back + self.deleted_by_user;
        let found = self.deleted.last().filter(|_| is_excess).cloned()?;
        // Each is reported once.
        self.taken_back += 1;
        Some(found)
    }

    /// An original that refit has replaced although the user wanted as many.
    pub fn replaced_original(&mut self) -> Option<String> {
        let must_stay = |name: &&String| self.originals.get(*name) == Some(&true);
        let lost: Vec<&String> = self.replaced.iter().filter(must_stay).collect();
        // A machine that has to be replaced may find its successor there when the template changes back, and then another
        // one goes instead.
        let replaceable = self.originals.values().filter(|must| !**must).count();
        let lost_count = i64::try_from(lost.len().saturating_sub(replaceable)).unwrap_or(i64::MAX);
        let excess = lost_count > self.taken_back;
        let name = lost.last().filter(|_| excess).map(|name| (*name).clone())?;
        // Each is reported once.
        self.taken_back += 1;
        Some(name)
    }
}
