//! How many machines come, move or go.

use std::collections::BTreeSet;

use super::priority::in_order;
use super::{MachineView, MoveTarget, Observed, Replicas};

/// `released` are the pending machines that may begin with their update; they are pending no more.
pub fn decide(observed: &Observed, released: &[String]) -> Replicas {
    // A number below zero is nonsense, and no reason to delete anything.
    let Ok(wanted) = usize::try_from(observed.spec_replicas) else { return Replicas::Settled };
    if observed.handover.hold.is_some() {
        return Replicas::Settled;
    }
    let present = observed.machines.len();
    if present < wanted {
        let missing = wanted - present;
        return if observed.disable_machine_create {
            Replicas::CreateDisabled(missing)
        } else {
            Replicas::Create(missing)
        };
    }
    let released: BTreeSet<&str> = released.iter().map(String::as_str).collect();
    let is_waiting = |machine: &&MachineView| machine.pending_acknowledge && !released.contains(machine.name.as_str());
    let waiting = observed.machines.iter().filter(is_waiting).count();
    let surplus = present.saturating_sub(waiting).saturating_sub(wanted);
    match (&observed.handover.move_to, surplus) {
        (_, 0) => Replicas::Settled,
        (Some(target), _) => start_move(observed, target, surplus),
        (None, _) => delete(observed, surplus, is_waiting),
    }
}

/// Moves the surplus, as far as machines can move now.
fn start_move(observed: &Observed, target: &str, surplus: usize) -> Replicas {
    let accepts = observed.target.as_ref().filter(|found| found.name == target && target != observed.name);
    if !accepts.is_some_and(|found| found.receive_from.contains(&observed.name)) {
        let accepts = accepts.map(|MoveTarget { receive_from, .. }| receive_from.clone()).unwrap_or_default();
        return Replicas::Refused { target: target.to_owned(), accepts };
    }
    let (mut machines, mut delete, mut left) = (Vec::new(), Vec::new(), surplus);
    for machine in in_order(observed) {
        if left == 0 {
            break;
        }
        match fate(machine, observed) {
            Fate::Stay => continue,
            Fate::Go => {}
            Fate::Delete => delete.push(machine.name.clone()),
            Fate::Move => machines.push(machine.name.clone()),
        }
        left -= 1;
    }
    if machines.is_empty() && delete.is_empty() {
        return Replicas::Settled;
    }
    Replicas::Move { to: target.to_owned(), machines, delete }
}

/// What a move means for one machine.
enum Fate {
    /// It cannot move yet, and another one moves in its place.
    Stay,
    /// It is being deleted already, and takes up a place.
    Go,
    /// It is broken: it goes instead of being updated.
    Delete,
    Move,
}

fn fate(machine: &MachineView, observed: &Observed) -> Fate {
    if machine.deleting {
        Fate::Go
    } else if machine.to_be_remediated {
        Fate::Delete
    } else if is_busy(machine) || !machine.has_node || observed.handover.is_scaffolding(&machine.name) {
        Fate::Stay
    } else {
        Fate::Move
    }
}

/// Whether an update is under way. One that failed for good is over where the machine is to become something else: there is
/// no other way out of it.
fn is_busy(machine: &MachineView) -> bool {
    machine.updating && !machine.update_failed
}

/// Deletes the surplus. What was moved here and not counted is no surplus: upstream deletes it, and loses the machine.
/// Those that wait are left out of the surplus already.
fn delete(observed: &Observed, surplus: usize, is_waiting: impl Fn(&&MachineView) -> bool) -> Replicas {
    let is_spared =
        |machine: &&MachineView| is_uncounted(machine) || (observed.keeps_originals && is_underway(machine));
    let spared = observed.machines.iter().filter(|machine| is_spared(machine) && !is_waiting(machine)).count();
    let surplus = surplus.saturating_sub(spared);
    let candidates = in_order(observed).into_iter().filter(|machine| !is_spared(machine));
    let names: Vec<String> =
        candidates.take(surplus).filter(|machine| !machine.deleting).map(|machine| machine.name.clone()).collect();
    if names.is_empty() { Replicas::Settled } else { Replicas::Delete(names) }
}

/// It was moved here, and nobody has counted it.
fn is_uncounted(machine: &MachineView) -> bool {
    machine.pending_acknowledge && !machine.acknowledged
}

/// In the middle of an update it may be one that nobody has counted: the mark goes when the update begins.
fn is_underway(machine: &MachineView) -> bool {
    is_busy(machine) && !machine.deleting && !machine.delete_requested
}
