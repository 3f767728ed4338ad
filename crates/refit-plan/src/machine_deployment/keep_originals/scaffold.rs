//! The surge machine that stands in while others are updated.
//!
//! The MachineSet that has it says so in an annotation, from the request until the machine is gone. So every pass knows
//! which machine is no original, and the MachineSet knows which one to give up, in the same write that asks for it.

use crate::handover::Scaffolding;
use crate::machine_deployment::in_place::is_quiet;
use crate::machine_deployment::rollout::{Rollout, Set};

/// Takes over what the last pass knew, and gives the machine its name once it exists.
///
/// `is_surplus` says that there are more machines than the user wants. Then one that is gone was not taken down: the user
/// has deleted it, and its MachineSet has made another.
pub fn carry_over(rollout: &mut Rollout<'_>, is_surplus: bool) {
    let mut is_known = false;
    // The new MachineSet is last. There is one scaffolding at most; if there were two, the older would be it.
    for set in rollout.all_mut() {
        let carried = set.view.handover.scaffolding.as_ref().and_then(|before| carried(set, before, is_surplus));
        if carried.is_some() && !is_known {
            set.handover.scaffolding = carried;
            is_known = true;
        }
    }
}

fn carried(set: &Set<'_>, before: &Scaffolding, is_surplus: bool) -> Option<Scaffolding> {
    let is_there = |name: &str| set.machines.iter().any(|machine| machine.name == name);
    match before {
        Scaffolding::Machine(name) if is_there(name) => Some(before.clone()),
        _ if set.present() < set.spec => Some(Scaffolding::Requested),
        Scaffolding::Machine(_) if !is_surplus => None,
        Scaffolding::Machine(_) | Scaffolding::Requested => newest(set).map(Scaffolding::Machine),
    }
}

/// The youngest machine that was not moved here: the one that was created last.
fn newest(set: &Set<'_>) -> Option<String> {
    let created_here = set.machines.iter().filter(|machine| !machine.updating);
    created_here.max_by_key(|machine| machine.created).map(|machine| machine.name.clone())
}

/// Whether there is scaffolding, or will be.
pub fn is_up(rollout: &Rollout<'_>) -> bool {
    rollout.all().any(|set| set.handover.scaffolding.is_some())
}

/// How many of the machines that count are scaffolding. One that the new MachineSet gives up counts no more.
pub fn counted(rollout: &Rollout<'_>) -> i64 {
    let old: i64 = rollout.old.iter().filter(|set| set.handover.scaffolding.is_some()).map(|_| 1).sum();
    old + rollout.new.reserved()
}

/// It is a machine like the others from now on: the user wants as many. One that is on its way out keeps its mark, so
/// that no other goes in its place.
pub fn forget(rollout: &mut Rollout<'_>) {
    for set in rollout.all_mut().filter(|set| set.present() <= set.target()) {
        set.handover.scaffolding = None;
    }
}

/// One machine more, when nothing moves without it.
pub fn put_up_if_needed(rollout: &mut Rollout<'_>) {
    let is_allowed = rollout.deployment.keep_originals && rollout.max_surge() > 0;
    if !is_allowed || is_up(rollout) || rollout.has_intents() || !is_quiet(rollout) {
        return;
    }
    let why = "one machine more, so that the others can be updated; it goes when they are".to_owned();
    rollout.new.scale_to(rollout.new.spec + 1, why);
    rollout.new.handover.scaffolding = Some(Scaffolding::Requested);
}

/// All originals are updated: the machine that stood in for them goes.
pub fn take_down(rollout: &mut Rollout<'_>) {
    let is_updating = rollout.machines.iter().any(|machine| machine.updating);
    let spare = rollout.sum(|set| set.available) - rollout.min_available();
    for set in rollout.all_mut().filter(|set| set.reserved() > 0) {
        let scaffold = set.machines.iter().find(|machine| set.handover.is_scaffolding(&machine.name));
        let cost = i64::from(scaffold.is_some_and(|machine| machine.available));
        if !is_updating && cost <= spare {
            set.scale_to(set.target() - 1, "the originals are updated, the machine that stood in goes".to_owned());
        }
    }
}
