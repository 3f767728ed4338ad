//! Step C: old MachineSets shrink as far as availability allows.
//!
//! Which machine a MachineSet gives up is its own choice. So every machine that goes counts as an available one, as long
//! as the MachineSet has any.

use super::rollout::{Rollout, Set};

/// What may still go, in this pass.
struct Budget {
    /// Replicas that may go.
    replicas: i64,
    /// Machines that are available.
    available: i64,
    min_available: i64,
}

/// Shrinks all old MachineSets that roll out, and the others as far as the user wants fewer machines.
pub fn old_machine_sets(rollout: &mut Rollout<'_>) {
    scale_down(rollout, i64::MAX, |set| !set.frozen);
    let surplus = rollout.sum(Set::target) - rollout.wanted();
    if surplus > 0 && rollout.old.iter().any(|set| set.frozen) {
        scale_down(rollout, surplus, |set| set.frozen);
    }
}

/// The user wants fewer machines: those whose update failed go first, wherever they are. They are not available, so that it
/// costs nothing. Returns how many more there are to go.
pub fn failed(rollout: &mut Rollout<'_>, surplus: i64) -> i64 {
    let mut left = surplus;
    for set in rollout.all_mut() {
        let failed = set.machines.iter().filter(|machine| machine.update_failed && !machine.deleting).count();
        let failed = i64::try_from(failed).unwrap_or(i64::MAX).min(set.target()).min(left);
        if failed > 0 {
            set.scale_to(set.target() - failed, "machines whose update failed go first".to_owned());
            left -= failed;
        }
    }
    left
}

/// Shrinks some of the old MachineSets, by no more than `at_most` together.
pub fn scale_down(rollout: &mut Rollout<'_>, at_most: i64, which: impl Fn(&Set<'_>) -> bool) {
    if rollout.old.iter().map(|set| set.spec).sum::<i64>() == 0 {
        return;
    }
    let mut budget = budget(rollout);
    budget.replicas = budget.replicas.min(at_most);
    if budget.replicas <= 0 {
        return;
    }
    // The oldest go first. The order stays for the step that breaks deadlocks, as it does upstream.
    rollout.old.sort_by(|a, b| (a.view.created, a.name()).cmp(&(b.view.created, b.name())));
    for only_unavailable in [true, false] {
        for set in rollout.old.iter_mut().filter(|set| which(set)) {
            budget.spend_on(set, only_unavailable);
        }
    }
}

fn budget(rollout: &Rollout<'_>) -> Budget {
    // Replicas that go already, and may be available ones.
    let going = rollout.sum(|set| (set.replicas - set.spec.min(set.target())).max(0));
    // A new MachineSet whose machines do not become available slows the rollout down, so that not all break.
    let new_unavailable = (rollout.new.spec - rollout.new.available).max(0);
    let min_available = rollout.min_available();
    Budget {
        replicas: rollout.sum(|set| set.spec) - going - min_available - new_unavailable,
        available: rollout.sum(|set| set.available),
        min_available,
    }
}

impl Budget {
    fn spend_on(&mut self, set: &mut Set<'_>, only_unavailable: bool) {
        let replicas = set.target();
        if self.replicas <= 0 || replicas <= 0 {
            return;
        }
        let candidates = if only_unavailable { (replicas - set.available).max(0) } else { replicas };
        let wanted = candidates.min(self.replicas).min(replicas - set.staying());
        if wanted <= 0 {
            return;
        }
        let (available, scale_down) = (self.available, self.affordable(set, replicas, wanted));
        if scale_down > 0 {
            set.scale_to(replicas - scale_down, self.reason(available));
            self.replicas -= scale_down;
        }
    }

    /// How much of `scale_down` keeps enough machines available. Takes what it costs.
    fn affordable(&mut self, set: &Set<'_>, replicas: i64, scale_down: i64) -> i64 {
        let to_delete = (set.replicas - (replicas - scale_down)).max(0);
        if set.available <= 0 || to_delete == 0 {
            return scale_down;
        }
        let spare = (self.available - self.min_available).max(0);
        let target = if spare < to_delete { (set.replicas - spare).min(replicas) } else { replicas - scale_down };
        self.available -= set.available.min((set.replicas - target).max(0));
        (replicas - target).max(0)
    }

    fn reason(&self, available_before: i64) -> String {
        if available_before == self.available {
            "only replicas go that are not available, or have no machine yet".to_owned()
        } else {
            format!("{available_before} machines are available, {} must be", self.min_available)
        }
    }
}
