//! The surge machine that stands in while others are updated.
//!
//! It says so itself, from the write that created it, and whoever moves it or changes the template does not change that. The
//! MachineSet that has it says so, too, from the request until the machine is gone. So every pass knows which machine is no
//! original, and the MachineSet knows which one to give up, in the same write that asks for it.

use crate::handover::Scaffolding;
use crate::machine_deployment::MachineView;
use crate::machine_deployment::in_place::is_quiet;
use crate::machine_deployment::rollout::{Rollout, Set};

/// Takes over what the last pass knew and what the machines say, and gives the machine its name once it exists.
pub fn carry_over(rollout: &mut Rollout<'_>) {
    take_over_mark(rollout);
    take_over_surge(rollout);
    let surplus = rollout.surplus() - rollout.sum(|set| set.awaited);
    let named = |machine: &&MachineView<'_>| rollout.all().any(|set| set.handover.is_scaffolding(&machine.name));
    let mut extras: Vec<&MachineView<'_>> = rollout.machines.iter().filter(named).collect();
    let marked = youngest_first(rollout.machines).into_iter().filter(|machine| !extras.contains(machine));
    let more = usize::try_from(surplus).unwrap_or(0).saturating_sub(extras.len());
    let marked: Vec<&MachineView<'_>> = marked.take(more).collect();
    extras.extend(marked);
    for set in rollout.all_mut() {
        let own = extras.iter().filter(|machine| machine.machine_set == set.name()).count();
        set.standing_in = i64::try_from(own).unwrap_or(i64::MAX);
    }
    let is_named = rollout.all().any(|set| set.handover.scaffolding.is_some());
    if let Some(first) = extras.first().filter(|_| !is_named) {
        let set = rollout.all_mut().find(|set| set.name() == first.machine_set);
        set.into_iter().for_each(|set| set.handover.scaffolding = Some(Scaffolding::Machine(first.name.to_string())));
    }
}

/// A MachineSet that was asked for more machines than the user wants, and has not made them yet, still makes them with their
/// mark.
fn take_over_surge(rollout: &mut Rollout<'_>) {
    let mut left = rollout.surplus().max(0);
    for set in rollout.all_mut() {
        let is_requested = set.handover.scaffolding == Some(Scaffolding::Requested);
        let missing = missing(set);
        set.handover.surge = set.view.handover.surge && missing > 0;
        let missing = if set.handover.surge { missing.min(left) } else { 0 };
        set.awaited = missing.max(i64::from(is_requested));
        left = (left - set.awaited).max(0);
    }
}

/// How many machines it is going to make. It makes another one for each that is going.
fn missing(set: &Set<'_>) -> i64 {
    let staying = set.machines.iter().filter(|machine| !machine.deleting).count();
    set.spec - i64::try_from(staying).unwrap_or(i64::MAX)
}

/// The machines that carry the mark and stay.
fn youngest_first<'a>(machines: &'a [MachineView<'a>]) -> Vec<&'a MachineView<'a>> {
    let mut marked: Vec<_> = machines.iter().filter(|machine| machine.scaffolding && !machine.deleting).collect();
    marked.sort_by(|a, b| (b.created, &b.name).cmp(&(a.created, &a.name)));
    marked
}

/// Takes over the mark that there still is: of a machine that is there, or else of one that was asked for. There is one at most; if
/// there were two, the one of the older MachineSet would be it, and the new MachineSet is last. What else was asked for is
/// not made any more.
fn take_over_mark(rollout: &mut Rollout<'_>) {
    let marks: Vec<Option<Scaffolding>> = rollout
        .all()
        .map(|set| set.view.handover.scaffolding.as_ref().and_then(|before| carried(set, before)))
        .collect();
    let is_there = |mark: &Option<Scaffolding>| matches!(mark, Some(Scaffolding::Machine(_)));
    let first = marks.iter().position(is_there).or_else(|| marks.iter().position(Option::is_some));
    for (at, (set, mark)) in rollout.all_mut().zip(marks).enumerate() {
        if Some(at) == first {
            set.handover.scaffolding = mark;
        } else if mark == Some(Scaffolding::Requested) {
            set.spec -= 1;
        }
    }
}

fn carried(set: &Set<'_>, before: &Scaffolding) -> Option<Scaffolding> {
    let is_there = |name: &str| set.machines.iter().any(|machine| machine.name == name);
    match before {
        Scaffolding::Machine(name) if is_there(name) => Some(before.clone()),
        // An old MachineSet does not make it any more.
        _ if set.present() < set.spec && set.is_covered() => None,
        _ if set.present() < set.spec => Some(Scaffolding::Requested),
        // It is there, and says so itself; in the place of one that the user has deleted, too.
        _ => youngest_marked(set).map(Scaffolding::Machine),
    }
}

fn youngest_marked(set: &Set<'_>) -> Option<String> {
    let marked = set.machines.iter().filter(|machine| machine.scaffolding && !machine.deleting);
    marked.max_by_key(|machine| (machine.created, &machine.name)).map(|machine| machine.name.clone().into_owned())
}

/// Whether there is scaffolding, or will be.
pub fn is_up(rollout: &Rollout<'_>) -> bool {
    rollout.all().any(|set| set.handover.scaffolding.is_some() || set.extras() > 0)
}

/// How many of the machines that count are beyond those wanted: scaffolding, and what nobody can explain. Scaffolding that the
/// new MachineSet gives up counts no more.
pub fn counted(rollout: &Rollout<'_>) -> i64 {
    let old: i64 = rollout.old.iter().map(Set::extras).sum();
    old + rollout.new.reserved() + rollout.unexplained
}

/// It is a machine like the others from now on: the user wants as many. One that is on its way out keeps its mark, so
/// that no other goes in its place. So does one of a MachineSet that has not reported the machines that it has: it may be about
/// to make another in the place of one that is gone.
pub fn forget(rollout: &mut Rollout<'_>) {
    for set in rollout.all_mut().filter(|set| set.present() <= set.target() && set.has_reported()) {
        (set.handover.scaffolding, set.standing_in, set.awaited) = (None, 0, 0);
    }
}

/// One machine more, when nothing moves without it.
pub fn put_up_if_needed(rollout: &mut Rollout<'_>) {
    if rollout.max_surge() <= 0 || is_up(rollout) || rollout.has_intents() || !is_quiet(rollout) {
        return;
    }
    let why = "one machine more, so that the others can be updated; it goes when they are".to_owned();
    rollout.new.scale_to(rollout.new.spec + 1, why);
    (rollout.new.handover.scaffolding, rollout.new.awaited) = (Some(Scaffolding::Requested), 1);
}

/// All originals are updated: the machine that stood in for them goes.
pub fn take_down(rollout: &mut Rollout<'_>) {
    let is_updating = rollout.machines.iter().any(|machine| machine.updating);
    let mut spare = rollout.sum(|set| set.available) - rollout.min_available();
    for set in rollout.all_mut().filter(|set| set.reserved() > 0) {
        let goes = |machine: &&&MachineView<'_>| set.handover.is_scaffolding(&machine.name) || machine.scaffolding;
        let cost = i64::from(set.machines.iter().find(goes).is_some_and(|machine| machine.available));
        if !is_updating && cost <= spare {
            set.scale_to(set.target() - 1, "the originals are updated, the machine that stood in goes".to_owned());
            spare -= cost;
        }
    }
}

/// In a sequence that replaces machines, all that the new MachineSet makes while there are more than wanted is marked. If the
/// policy changes in the middle, it is known which machines were not there first.
pub fn mark_surge(rollout: &mut Rollout<'_>) {
    let is_rolling = rollout.old.iter().any(|set| set.target().max(set.present()) > 0);
    rollout.new.handover.surge = is_rolling && beyond_wanted(rollout) > 0;
    for set in &mut rollout.old {
        set.handover.surge = set.view.handover.surge && missing(set) > 0;
    }
}

/// The same where all MachineSets grow: upstream scales them in proportion while a rollout is paused.
pub fn mark_surge_everywhere(rollout: &mut Rollout<'_>) {
    mark_surge(rollout);
    let surge = rollout.new.handover.surge;
    rollout.old.iter_mut().for_each(|set| set.handover.surge = surge);
}

/// The machines whose mark is out of date: the rollout has made them, and by now they are among those that the user wants.
pub fn wanted(rollout: &Rollout<'_>) -> Vec<String> {
    if !rollout.all().all(Set::has_reported) {
        return Vec::new();
    }
    // What is made from now on beyond those wanted gets a mark of its own.
    let there = |set: &Set<'_>| if set.view.handover.surge { set.present() } else { set.spec.max(set.present()) };
    let beyond = usize::try_from(rollout.sum(there) - rollout.wanted()).unwrap_or(0);
    youngest_first(rollout.machines).into_iter().skip(beyond).map(|machine| machine.name.clone().into_owned()).collect()
}

fn beyond_wanted(rollout: &Rollout<'_>) -> i64 {
    rollout.sum(|set| set.target().max(set.present())) - rollout.wanted()
}
