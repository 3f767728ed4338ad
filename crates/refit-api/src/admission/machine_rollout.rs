//! Rules of MachineRollouts: what a rollout was about is history, and history stays.

#[cfg(test)]
mod tests;

use super::{Admission, FieldPath, Verdict};
use crate::rollout::MachineRollout;

impl Admission for MachineRollout {
    /// Whoever records a rollout says everything about it; there is nothing to fill in.
    fn set_defaults(&mut self, _old: Option<&Self>) {}

    fn validate(&self, old: Option<&Self>) -> Verdict {
        let is_rewritten = old.is_some_and(|old| old.spec != self.spec);
        let rewritten =
            is_rewritten.then(|| FieldPath::new("spec").forbidden("what a rollout is about cannot be changed"));
        rewritten.into_iter().collect::<Vec<_>>().into()
    }
}
