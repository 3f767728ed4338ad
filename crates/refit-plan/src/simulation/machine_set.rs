//! The reconcile of a MachineSet, and what becomes of its machines.

use refit_api::cluster::MachineSetDeletionOrder;
use refit_api::policy::InPlacePolicy;

use super::deployment::age;
use super::number::{MachineNumber, SetNumber};
use super::refusals;
use super::scenario::Strategy;
use super::trace::Move;
use super::world::{Machine, Outcome, State, World};
use crate::machine_set::{self as decider, MachineView, MoveTarget, Observed, Replicas};

/// Finishes updates, begins updates, creates, moves or deletes, and counts. Nothing, if it is not there.
pub fn reconcile(world: &mut World, number: SetNumber) -> Outcome {
    let mut outcome = Outcome::default();
    if !world.sets.contains_key(&number) {
        return outcome;
    }
    finish_updates(world, number);
    let decision = decider::decide(&observe(world, number));
    for name in &decision.start_updates {
        with_machine(world, name, |machine| machine.state = State::Started);
    }
    change_replicas(world, number, decision.replicas, &mut outcome);
    refusals::look_again(world, number);
    world.take_counters(number);
    outcome
}

fn finish_updates(world: &mut World, number: SetNumber) {
    for (_, machine) in world.machines_of_mut(number) {
        machine.finish_update();
    }
}

fn observe(world: &World, number: SetNumber) -> Observed {
    let set = &world.sets[&number];
    let target = set.handover.move_to.as_deref().and_then(SetNumber::parse);
    let target = target.and_then(|target| world.sets.get(&target).map(|set| (target, set)));
    Observed {
        name: number.to_string(),
        now: age(u32::MAX),
        spec_replicas: set.spec_replicas,
        handover: set.handover.clone(),
        disable_machine_create: set.disable_machine_create,
        order: MachineSetDeletionOrder::Random,
        keeps_originals: world.keeps_originals(),
        is_required: world.policy == InPlacePolicy::Require,
        target: target.map(|(target, set)| MoveTarget {
            name: target.to_string(),
            receive_from: set.handover.receive_from.clone(),
        }),
        machines: world.machines_of(number).map(|(number, machine)| view(number, machine)).collect(),
    }
}

fn view(number: MachineNumber, machine: &Machine) -> MachineView {
    MachineView {
        name: number.to_string(),
        created: Some(age(number.0)),
        pending_acknowledge: machine.is_pending(),
        acknowledged: machine.state == State::Pending { acknowledged: true },
        scaffolding: machine.scaffolding,
        updating: machine.is_updating(),
        update_failed: machine.has_failed(),
        update_over: machine.is_over(),
        update_retried: machine.state == State::TriedAgain,
        deleting: machine.deleting,
        delete_requested: false,
        has_node: true,
        unhealthy: false,
        to_be_remediated: false,
    }
}

fn change_replicas(world: &mut World, number: SetNumber, replicas: Replicas, outcome: &mut Outcome) {
    match replicas {
        Replicas::Settled => {}
        Replicas::CreateDisabled(missing) => {
            let when = if world.strategy == Strategy::OnDelete { " under OnDelete" } else { "" };
            outcome.notes.push(format!("{number}: {missing} missing, but it creates no machines{when}"));
        }
        Replicas::Create { missing, scaffolding } => {
            let staying = missing - scaffolding;
            outcome.created.extend((0..missing).map(|made| world.create_machine(number, made >= staying)));
        }
        Replicas::Keep(count) => {
            outcome.notes.push(format!("{number}: {count} too many, and nothing says which may go"));
        }
        Replicas::Delete(names) => delete(world, &names, outcome),
        Replicas::Move { to, machines, delete: broken, next } => {
            delete(world, &broken, outcome);
            let to = SetNumber::parse(&to).expect("a target must be a MachineSet of the world");
            let (accepted, notes) = refusals::accepted(world, to, &machines, &next);
            outcome.notes.extend(notes);
            for machine in accepted {
                with_machine(world, &machine.to_string(), |machine| {
                    (machine.set, machine.refused) = (to, None);
                    machine.state = State::Pending { acknowledged: false };
                });
                outcome.moved.push(Move { machine, from: number, to });
            }
            outcome.moved.sort_by_key(|moved| moved.machine);
        }
        Replicas::Refused { target, .. } => {
            outcome.notes.push(format!("{number}: {target} takes no machines from it"));
        }
    }
}

fn delete(world: &mut World, names: &[String], outcome: &mut Outcome) {
    for number in names.iter().filter_map(|name| MachineNumber::parse(name)) {
        world.machines.remove(&number);
        outcome.deleted.insert(number);
    }
}

fn with_machine(world: &mut World, name: &str, change: impl FnOnce(&mut Machine)) {
    if let Some(machine) = MachineNumber::parse(name).and_then(|number| world.machines.get_mut(&number)) {
        change(machine);
    }
}
