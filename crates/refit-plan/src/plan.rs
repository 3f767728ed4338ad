//! What a decision comes to: what to write, and why nothing more.

use std::time::Duration;

use crate::effect::Effect;
use crate::waiting::WaitingOn;

/// What to do about one object now.
#[derive(Debug, Clone, Default, PartialEq)]
#[must_use = "an unread plan is not acted on"]
pub struct Plan {
    /// In this order, up to the first that fails.
    pub effects: Vec<Effect>,
    /// Why the decision stops where it does. Empty when all is as it should be.
    pub waiting_on: Vec<WaitingOn>,
    /// When to decide again even if nothing is heard of before.
    pub requeue_after: Option<Duration>,
}

impl Plan {
    /// Asks to decide again after `delay`, or sooner if somebody asked for that already.
    pub fn requeue(&mut self, delay: Duration) {
        self.requeue_after = Some(self.requeue_after.map_or(delay, |earlier| earlier.min(delay)));
    }
}
