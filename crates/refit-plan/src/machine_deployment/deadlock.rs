//! Step E: a rollout that is stuck on an old machine that is not available.
//!
//! Step C takes every machine for an available one, so an unavailable one can block it for ever: nobody repairs the
//! machines of old MachineSets. Then one replica goes although that may cost an available machine.

use super::rollout::{Rollout, Set};

/// Upstream's step.
pub fn break_it(rollout: &mut Rollout<'_>, which: impl Fn(&Set<'_>) -> bool) {
    if !is_stuck(rollout) {
        return;
    }
    let is_broken = |set: &&mut Set<'_>| which(set) && set.available != set.replicas && set.spec > set.staying();
    if let Some(set) = rollout.old.iter_mut().find(is_broken) {
        set.scale_to(set.spec - 1, "one machine less, as the rollout is stuck on an unavailable one".to_owned());
    }
}

/// The same, but not while a machine is being updated. Upstream takes that for being stuck when the template changes in
/// the middle of it. An update that failed is not over either: it uses up the budget until somebody tries again, so that a
/// second change does not cost a second machine.
pub fn break_unless_updating(rollout: &mut Rollout<'_>, which: impl Fn(&Set<'_>) -> bool) {
    if !rollout.machines.iter().any(|machine| machine.updating) {
        break_it(rollout, which);
    }
}

fn is_stuck(rollout: &Rollout<'_>) -> bool {
    let replicas: i64 = rollout.old.iter().map(|set| set.replicas).sum();
    let available: i64 = rollout.old.iter().map(|set| set.available).sum();
    let is_scaling = rollout.all().any(|set| set.spec != set.replicas || set.intent.is_some());
    replicas > 0 && replicas != available && !is_scaling && rollout.new.available == rollout.new.replicas
}
