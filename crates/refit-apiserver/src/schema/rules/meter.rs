//! What evaluating rules costs, and how much it may: Kubernetes' limits.

use std::cell::Cell;

use crate::budget::Budget;

/// What one evaluation of one rule may cost. On the real server that is about a tenth of a second.
pub const CALL_COST_LIMIT: u64 = 1_000_000;

/// What all rules may cost for one object.
pub const OBJECT_COST_LIMIT: u64 = 10_000_000;

/// A unit of cost is at most this many steps: ten million of them are half of what a decision may take.
const STEPS_PER_UNIT: u64 = 2;

/// Texts are looked through ten characters at a unit.
const CHARACTERS_PER_UNIT: u64 = 10;

/// Why an evaluation was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// It costs more than one rule may.
    Call,
    /// The rules of the object cost more than they may together.
    Object,
}

/// Counts what evaluations cost.
pub struct Meter<'a> {
    budget: &'a Budget,
    object: Cell<u64>,
    call: Cell<u64>,
}

impl<'a> Meter<'a> {
    pub fn new(budget: &'a Budget) -> Self {
        Self { budget, object: Cell::new(OBJECT_COST_LIMIT), call: Cell::new(CALL_COST_LIMIT) }
    }

    /// Begins the next evaluation.
    pub fn begin(&self) {
        self.call.set(CALL_COST_LIMIT);
    }

    /// Charges for what is about to be done.
    pub fn charge(&self, units: u64) -> Result<(), Stopped> {
        self.call.set(self.call.get().checked_sub(units).ok_or(Stopped::Call)?);
        let left = self.object.get().checked_sub(units);
        self.object.set(left.unwrap_or(0));
        left.ok_or(Stopped::Object)?;
        let steps = usize::try_from(units.saturating_mul(STEPS_PER_UNIT)).unwrap_or(usize::MAX);
        self.budget.take_steps(steps).map_err(|_| Stopped::Object)
    }

    /// Charges for looking at every character of texts, or item of lists, of this size.
    pub fn charge_size(&self, size: u64) -> Result<(), Stopped> {
        self.charge(units(size))
    }

    /// Whether nothing more may be evaluated.
    pub fn is_used_up(&self) -> bool {
        self.object.get() == 0 || self.budget.refusal().is_err()
    }

    /// Keeps everything else from being evaluated.
    pub fn use_up(&self) {
        self.object.set(0);
    }

    pub fn budget(&self) -> &'a Budget {
        self.budget
    }
}

/// What looking through a text costs.
pub fn units(size: u64) -> u64 {
    size.div_ceil(CHARACTERS_PER_UNIT)
}
