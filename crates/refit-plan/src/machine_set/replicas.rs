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
            Replicas::Create { missing, scaffolding: scaffolding(observed).min(missing) }
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

/// How many of the machines that are made now are beyond those that the user wants.
fn scaffolding(observed: &Observed) -> usize {
    let is_there = || observed.machines.iter().any(|machine| is_scaffolding(machine, observed));
    match &observed.handover {
        handover if handover.surge => usize::MAX,
        handover => usize::from(handover.scaffolding.is_some() && !is_there()),
    }
}

/// Moves the surplus, as far as machines can move now.
fn start_move(observed: &Observed, target: &str, surplus: usize) -> Replicas {
    let accepts = observed.target.as_ref().filter(|found| found.name == target && target != observed.name);
    if !accepts.is_some_and(|found| found.receive_from.contains(&observed.name)) {
        let accepts = accepts.map(|MoveTarget { receive_from, .. }| receive_from.clone()).unwrap_or_default();
        return Replicas::Refused { target: target.to_owned(), accepts };
    }
    let (mut machines, mut delete, mut next, mut left) = (Vec::new(), Vec::new(), Vec::new(), surplus);
    for machine in in_order(observed) {
        match fate(machine, observed) {
            Fate::Stay => continue,
            Fate::Move if left == 0 => {
                next.push(machine.name.clone());
                continue;
            }
            Fate::Go | Fate::Wait | Fate::Delete if left == 0 => continue,
            Fate::Go | Fate::Wait => {}
            Fate::Delete => delete.push(machine.name.clone()),
            Fate::Move => machines.push(machine.name.clone()),
        }
        left -= 1;
    }
    if machines.is_empty() && delete.is_empty() {
        return Replicas::Settled;
    }
    Replicas::Move { to: target.to_owned(), machines, delete, next }
}

/// What a move means for one machine.
enum Fate {
    /// It cannot move yet, and another one moves in its place.
    Stay,
    /// It is being deleted already, and takes up a place.
    Go,
    /// Its update is tried again. The order may have been given for it while it was free, so it takes up a place: another one
    /// in its place would be one too many that is not available.
    Wait,
    /// It is broken: it goes instead of being updated.
    Delete,
    Move,
}

fn fate(machine: &MachineView, observed: &Observed) -> Fate {
    if machine.deleting {
        Fate::Go
    } else if machine.to_be_remediated {
        Fate::Delete
    } else if machine.update_retried {
        Fate::Wait
    } else if (machine.updating && !machine.update_over)
        || !machine.has_node
        || (observed.keeps_originals && is_scaffolding(machine, observed))
    {
        Fate::Stay
    } else {
        Fate::Move
    }
}

/// Deletes the surplus. What was moved here and not counted is no surplus: upstream deletes it, and loses the machine.
/// Those that wait are left out of the surplus already.
fn delete(observed: &Observed, surplus: usize, is_waiting: impl Fn(&&MachineView) -> bool) -> Replicas {
    let is_spared =
        |machine: &&MachineView| is_uncounted(machine) || (observed.keeps_originals && is_underway(machine));
    let spared = observed.machines.iter().filter(|machine| is_spared(machine) && !is_waiting(machine)).count();
    let mut left = surplus.saturating_sub(spared);
    let (mut allowed, mut names) = (allowed(observed), Vec::new());
    for machine in in_order(observed).into_iter().filter(|machine| !is_spared(machine)) {
        let is_free = machine.deleting || !observed.keeps_originals || is_scaffolding(machine, observed);
        if left == 0 || (!is_free && allowed == 0) {
            continue;
        }
        left -= 1;
        allowed -= usize::from(!is_free);
        names.extend((!machine.deleting).then(|| machine.name.clone()));
    }
    match (names.is_empty(), left) {
        (false, _) => Replicas::Delete(names),
        (true, 0) => Replicas::Settled,
        (true, left) => Replicas::Keep(left),
    }
}

/// How many machines may go that do not carry the mark of scaffolding. An order that was given under another policy says
/// nothing about it: where machines are not to be replaced, only the user's own wish lets them go.
fn allowed(observed: &Observed) -> usize {
    let replaced = if observed.is_required { 0 } else { observed.handover.replaced };
    let permitted = usize::try_from(observed.handover.scaled_down.saturating_add(replaced)).unwrap_or(usize::MAX);
    let least = usize::try_from(observed.handover.keep_at_least).unwrap_or(usize::MAX);
    let stays =
        |machine: &&MachineView| !machine.deleting && !is_uncounted(machine) && !is_scaffolding(machine, observed);
    permitted.min(observed.machines.iter().filter(stays).count().saturating_sub(least))
}

/// Whether a rollout has made it beyond those that the user wants. A MachineSet of an earlier version has not marked it, but
/// the MachineDeployment knows its name.
pub(super) fn is_scaffolding(machine: &MachineView, observed: &Observed) -> bool {
    machine.scaffolding || observed.handover.is_scaffolding(&machine.name)
}

/// It was moved here, and nobody has counted it.
fn is_uncounted(machine: &MachineView) -> bool {
    machine.pending_acknowledge && !machine.acknowledged
}

/// In the middle of an update it may be one that nobody has counted: the mark goes when the update begins.
fn is_underway(machine: &MachineView) -> bool {
    let is_busy = machine.updating && !machine.update_over;
    is_busy && !machine.deleting && !machine.delete_requested
}
