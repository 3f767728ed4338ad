//! The judge: what has happened so far, as far as it matters for what may happen next. It knows nothing of planning.
//!
//! What the user's own change makes so is no fault:
//!
//! - The most and the fewest machines are those of the laxest wish that the user has had: orders that were given under
//!   an earlier one may still be carried out.
//! - A machine that the user has deleted, or whose update has failed, is not held against refit.
//! - As many of the first machines may go as the user has taken back.

use std::collections::BTreeSet;

use crate::protocol::{Change, Protocol};
use crate::state::{Answer, Api, MachineId, Policy, Provider, Stage, Wish};
use crate::write::Write;

/// How many machines may be created in all: one of surge for every wish, and one for every machine that is replaced.
const MOST_CREATED: u8 = 8;

/// What is remembered of the past.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Ledger {
    /// The most machines that there may be.
    pub ceiling: u8,
    /// The fewest available machines.
    pub floor: u8,
    /// By how many machines the user has scaled down.
    pub taken_back: u8,
    /// How many of the first machines refit has deleted.
    pub lost: u8,
    /// Extensions have said at some time that they do not cover the change: then machines may be replaced where the policy
    /// allows it.
    pub was_uncovered: bool,
    /// Machines of which the provider has said at some time that only another host can become what is wanted.
    pub refused_for_good: BTreeSet<MachineId>,
    /// Machines that were moved and that no `spec.replicas` counts since.
    pub uncounted: BTreeSet<MachineId>,
    /// Machines that were moved and counted, and are not done with their update.
    pub counted: BTreeSet<MachineId>,
    /// Nothing happens after the first fault.
    pub fault: Option<Fault>,
}

/// What must never happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fault {
    /// I5: a machine was deleted that was moved and not counted.
    LostOnTheWay,
    /// I5: a machine was added to `spec.replicas` a second time.
    CountedTwice,
    /// I3: an update began, or a machine moved, in the middle of another update.
    UpdatedTwice,
    /// I2: a machine was created beyond replicas and surge.
    TooMany,
    /// I2: a machine was taken although too few are available.
    TooFew,
    /// I7: machines are created again and again.
    Churn,
    /// I1, I6: a machine that was there first was deleted for a rollout.
    OriginalLost,
}

impl Ledger {
    pub fn new(protocol: &Protocol, wish: Wish) -> Self {
        Self {
            ceiling: protocol.ceiling(wish),
            floor: protocol.floor(wish),
            taken_back: 0,
            lost: 0,
            was_uncovered: false,
            refused_for_good: BTreeSet::new(),
            uncounted: BTreeSet::new(),
            counted: BTreeSet::new(),
            fault: None,
        }
    }

    pub fn note_change(&mut self, protocol: &Protocol, change: Change, before: Wish, after: Wish) {
        self.ceiling = self.ceiling.max(protocol.ceiling(after));
        self.floor = self.floor.min(protocol.floor(after));
        self.taken_back += before.replicas.saturating_sub(after.replicas);
        match change {
            Change::Delete(_) => self.excuse_one(),
            Change::Provider(machine, Provider::RefusesForGood) => drop(self.refused_for_good.insert(machine)),
            _ => {}
        }
        self.was_uncovered |= after.answer == Answer::Uncovered;
    }

    /// A machine is not available, and refit cannot help it.
    pub fn excuse_one(&mut self) {
        self.floor = self.floor.saturating_sub(1);
    }

    /// The update of a machine is done, or the machine is gone.
    pub fn note_done(&mut self, machine: MachineId) {
        self.counted.remove(&machine);
    }

    pub fn note_gone(&mut self, machine: MachineId) {
        self.uncounted.remove(&machine);
        self.note_done(machine);
    }

    /// Judges a write that was taken.
    pub fn note_write(&mut self, protocol: &Protocol, write: &Write, before: &Api, after: &Api) {
        let fault = match write {
            Write::Report { .. } | Write::Unmark { .. } | Write::NoteRefusal { .. } => None,
            Write::Order { set, order } => {
                let known = &before.sets[set].order.acknowledged;
                let twice = self.count(order.acknowledged.difference(known), before);
                if after.machines_of(*set).count() <= order.replicas.into() {
                    let has_mark =
                        |machine| after.machines_of(*set).any(|(name, is)| name == machine && is.stage == Stage::Moved);
                    let elsewhere = |machine| after.machines[&machine].set != *set;
                    self.uncounted.retain(|&machine| elsewhere(machine) || has_mark(machine));
                }
                twice
            }
            Write::CreateSet { .. } => None,
            Write::Move { machine, as_read, .. } => {
                self.uncounted.insert(*machine);
                self.counted.remove(machine);
                let is_free = (!as_read.is_updating() || as_read.is_over()) && !as_read.deleting;
                (!is_free).then_some(Fault::UpdatedTwice).or_else(|| self.judge_available(before, after))
            }
            Write::Begin { machine } => {
                if !before.wish.policy.keeps_originals() {
                    self.uncounted.remove(machine);
                }
                (before.machines[machine].stage != Stage::Moved).then_some(Fault::UpdatedTwice)
            }
            Write::Create { .. } if after.last_machine > protocol.machines + MOST_CREATED => Some(Fault::Churn),
            Write::Create { .. } => (after.total() > self.ceiling.into()).then_some(Fault::TooMany),
            Write::Delete { machine, .. } if before.machines[machine].deleting => None,
            Write::Delete { machine, under } => self.judge_deletion(protocol, *machine, *under, before, after),
        };
        self.fault = fault;
    }

    fn count<'a>(&mut self, acknowledged: impl Iterator<Item = &'a MachineId>, api: &Api) -> Option<Fault> {
        let mut fault = None;
        for machine in acknowledged.filter(|machine| api.machines.contains_key(machine)) {
            let is_first = self.uncounted.remove(machine);
            if !is_first && self.counted.contains(machine) {
                fault = Some(Fault::CountedTwice);
            }
            if is_first {
                self.counted.insert(*machine);
            }
        }
        fault
    }

    /// I1, I6, I8: a machine that was there first goes where the policy lets it be replaced, and where that is known to be
    /// necessary. `under` is the policy that its MachineSet has read; what is under way then is carried out.
    fn judge_deletion(
        &mut self,
        protocol: &Protocol,
        machine: MachineId,
        under: Policy,
        before: &Api,
        after: &Api,
    ) -> Option<Fault> {
        let is_original = machine <= protocol.machines;
        let must_stay = match under {
            Policy::Upstream | Policy::Never => false,
            Policy::Keep => !self.was_uncovered && !self.refused_for_good.contains(&machine),
            Policy::Require => true,
        };
        self.lost += u8::from(is_original && must_stay);
        if self.uncounted.contains(&machine) {
            return Some(Fault::LostOnTheWay);
        }
        if self.lost > self.taken_back {
            return Some(Fault::OriginalLost);
        }
        self.judge_available(before, after)
    }

    /// What was too little before is nobody's fault again, unless it becomes less.
    fn judge_available(&self, before: &Api, after: &Api) -> Option<Fault> {
        let (was, is) = (before.available(), after.available());
        (is < was && is < self.floor.into()).then_some(Fault::TooFew)
    }
}
