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
    if !carry_over_by(rollout, carried) && is_surplus {
        let youngest = rollout.machines.iter().max_by_key(|machine| (machine.created, &machine.name));
        let Some(youngest) = youngest.map(|machine| machine.name.clone()) else { return };
        carry_over_by(rollout, |set, before| replaced(set, before, &youngest));
    }
}

/// Takes over the first mark that there still is. There is one scaffolding at most; if there were two, the one of the older
/// MachineSet would be it, and the new MachineSet is last.
fn carry_over_by(rollout: &mut Rollout<'_>, carried: impl Fn(&Set<'_>, &Scaffolding) -> Option<Scaffolding>) -> bool {
    for set in rollout.all_mut() {
        let carried = set.view.handover.scaffolding.as_ref().and_then(|before| carried(set, before));
        if carried.is_some() {
            set.handover.scaffolding = carried;
            return true;
        }
    }
    false
}

fn carried(set: &Set<'_>, before: &Scaffolding) -> Option<Scaffolding> {
    let is_there = |name: &str| set.machines.iter().any(|machine| machine.name == name);
    match before {
        Scaffolding::Machine(name) if is_there(name) => Some(before.clone()),
        // An old MachineSet does not make it any more.
        _ if set.present() < set.spec && set.is_covered() => None,
        _ if set.present() < set.spec => Some(Scaffolding::Requested),
        Scaffolding::Machine(_) => None,
        Scaffolding::Requested => newest(set).map(Scaffolding::Machine),
    }
}

/// What a MachineSet has made in the place of scaffolding that is gone. It is younger than all others.
fn replaced(set: &Set<'_>, before: &Scaffolding, youngest: &str) -> Option<Scaffolding> {
    let is_named = matches!(before, Scaffolding::Machine(_));
    newest(set).filter(|newest| is_named && newest == youngest).map(Scaffolding::Machine)
}

/// The youngest machine that was not moved here: the one that was created last.
fn newest(set: &Set<'_>) -> Option<String> {
    let created_here = set.machines.iter().filter(|machine| !machine.updating);
    created_here.max_by_key(|machine| (machine.created, &machine.name)).map(|machine| machine.name.clone().into_owned())
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
/// that no other goes in its place. So does one of a MachineSet that has not reported the machines that it has: it may be about
/// to make another in the place of one that is gone.
pub fn forget(rollout: &mut Rollout<'_>) {
    let has_reported = |set: &Set<'_>| i64::from(set.view.counters.replicas) == set.present();
    for set in rollout.all_mut().filter(|set| set.present() <= set.target() && has_reported(set)) {
        set.handover.scaffolding = None;
    }
}

/// One machine more, when nothing moves without it.
pub fn put_up_if_needed(rollout: &mut Rollout<'_>) {
    if rollout.max_surge() <= 0 || is_up(rollout) || rollout.has_intents() || !is_quiet(rollout) {
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
