//! What the user and the world have done, as far as it excuses what follows.

use std::collections::{BTreeMap, BTreeSet};

use super::world::{Actor, Machine, Rules, World, count};

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
    /// Machines of another template that MachineSets have deleted although nobody knew that they had to be replaced.
    unknown: Vec<String>,
    /// MachineSets that were given an order, since they last carried one out, while machines were known to be replaceable.
    may_replace: BTreeSet<String>,
    /// The same while machines that were there at the start were not to stay.
    need_not_keep: BTreeSet<String>,
    /// Machines that the provider refused to change for good, when the MachineDeployment planned or since.
    refused_for_good: BTreeSet<String>,
    /// What the MachineDeployment was held to when it planned last.
    planned_under: Option<Rules>,
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
            unknown: Vec::new(),
            may_replace: BTreeSet::new(),
            need_not_keep: BTreeSet::new(),
            refused_for_good: BTreeSet::new(),
            planned_under: None,
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

    pub fn note(&mut self, actor: &Actor, rules: Rules, before: &World, after: &World) {
        match actor {
            Actor::User => self.note_user(before, after),
            Actor::Machine(_) => self.note_gone(before, after),
            Actor::Deployment => self.note_plan(rules, after),
            Actor::MachineSet(set) => self.note_deleted(set, rules, before, after),
        }
    }

    /// From now on no machine that is there goes, save scaffolding.
    pub fn note_required(&mut self, world: &World) {
        let stays = world.machines.iter().filter(|(_, machine)| !machine.is_scaffolding);
        self.there_before.extend(stays.map(|(name, _)| name.clone()));
    }

    fn note_deleted(&mut self, set: &str, rules: Rules, before: &World, after: &World) {
        if after.replicas == 0 {
            // Who wants none has taken all back.
            return;
        }
        let must_keep = rules.keeps_originals() && (rules.is_required || !self.need_not_keep.contains(set));
        let may_replace = rules.may_replace() || (!rules.is_required && self.may_replace.contains(set));
        for (name, was) in before.machines.iter().filter(|(name, _)| !after.machines.contains_key(*name)) {
            let may_go = !rules.is_required && self.refused_for_good.contains(name);
            if self.originals.contains_key(name) && must_keep && !may_go {
                self.replaced.push(name.clone());
            }
            let was_there = self.there_before.contains(name);
            if rules.is_required && (was_there || !was.is_scaffolding) {
                self.deleted.push((name.clone(), was_there));
            }
            if !may_replace && !rules.is_required && !before.is_wanted(was) && !was.is_scaffolding {
                self.unknown.push(name.clone());
            }
        }
    }

    fn note_plan(&mut self, rules: Rules, world: &World) {
        self.planned_under = Some(rules);
        let refused = world.machines.iter().filter(|(_, machine)| machine.is_refused_for_good());
        self.refused_for_good = refused.map(|(name, _)| name.clone()).collect();
        let sets = || world.sets.keys().cloned();
        if rules.may_replace() {
            self.may_replace.extend(sets());
        }
        if !rules.keeps_originals() {
            self.need_not_keep.extend(sets());
        }
        let is_overtaken = |machine: &Machine| machine.is_updating && !world.is_wanted(machine);
        let overtaken = world.machines.iter().filter(|(_, machine)| is_overtaken(machine));
        let overtaken: BTreeSet<String> = overtaken.map(|(name, _)| name.clone()).collect();
        for name in overtaken.difference(&self.left_behind) {
            *self.overtaken.entry(name.clone()).or_default() += 1;
        }
        self.left_behind = overtaken;
        let mut limits = Limits::of(world);
        if rules.is_paused && !rules.keeps_originals() {
            // Upstream scales all MachineSets then, and looks at nothing else.
            (limits.ceiling, limits.floor) = (i64::from(i32::MAX), 0);
        }
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
            if self.planned_under.is_none_or(|rules| !rules.may_replace()) {
                self.may_replace.remove(name);
            }
            if self.planned_under.is_none_or(|rules| rules.keeps_originals()) {
                self.need_not_keep.remove(name);
            }
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

    /// I8: a machine that refit has deleted although the user wanted as many and nobody knew that it had to be replaced.
    pub fn deleted_unknown(&mut self) -> Option<String> {
        let count = i64::try_from(self.unknown.len()).unwrap_or(i64::MAX);
        let name = self.unknown.last().filter(|_| count > self.taken_back)?.clone();
        // Each is reported once.
        self.taken_back += 1;
        Some(name)
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
