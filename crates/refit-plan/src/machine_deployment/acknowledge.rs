//! Step A: machines that were moved are counted by the MachineSet that has them now.
//!
//! A machine carries a mark from its move until its new MachineSet takes note of the acknowledgement. The list of
//! acknowledged names keeps a machine from being counted in a second pass.

use refit_api::name_set::NameSet;

use super::rollout::{Rollout, Set};

/// Acknowledges the machines of the new MachineSet, as upstream does.
pub fn by_new(rollout: &mut Rollout<'_>) {
    acknowledge(&mut rollout.new);
}

/// Acknowledges machines wherever they are.
///
/// Upstream leaves out a MachineSet that has stopped being the new one, and with it the machines that were on their way
/// to it: they count nowhere, and go as surplus.
pub fn everywhere(rollout: &mut Rollout<'_>) {
    rollout.all_mut().for_each(acknowledge);
}

/// A MachineSet goes on receiving as long as one of its machines carries the mark. Upstream stops when the old ones are
/// empty, which is safe only for controllers that share one cache.
pub fn keep_receiving(rollout: &mut Rollout<'_>) {
    for set in rollout.all_mut() {
        let is_pending = set.pending().next().is_some() && !set.handover.acknowledged.is_empty();
        if is_pending && !set.handover.receives() {
            set.handover.receive_from = set.view.handover.receive_from.clone();
        }
    }
}

/// A MachineSet that takes no more machines still waits for those that are on their way: a move that was decided before
/// this pass may be carried out after it, as long as there are machines elsewhere.
///
/// It then receives from itself alone. So nobody moves anything to it any more, and what arrives all the same is counted
/// here and not taken for surplus.
pub fn close(rollout: &mut Rollout<'_>) {
    let all: i64 = rollout.all().map(Set::present).sum();
    for set in rollout.all_mut().filter(|set| set.view.handover.receives() && !set.handover.receives()) {
        if set.present() < all || set.pending().next().is_some() {
            set.handover.receive_from.insert(set.view.name.as_str());
        }
    }
}

pub fn acknowledge(set: &mut Set<'_>) {
    let before = &set.view.handover.acknowledged;
    let (mut pending, mut count) = (NameSet::default(), 0);
    for machine in set.pending() {
        pending.insert(&machine.name);
        count += i64::from(!before.contains(&machine.name));
    }
    if count > 0 {
        set.spec += count;
        let names: Vec<&str> = set.pending().map(|machine| &*machine.name).collect();
        set.note(format!("counts {} now, moved from an old MachineSet", names.join(", ")));
    }
    set.handover.acknowledged = pending;
}
