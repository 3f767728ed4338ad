//! The MachineSet and Machine controllers, played: just enough of them for a MachineDeployment to have a counterpart.

use refit_api::cluster::{Machine, MachineSet};
use refit_api::conditions::{self, is_true};
use refit_api::hooks::Hook;
use refit_api::pending_hooks::{mark_done, mark_pending};
use refit_api::vocabulary::annotations::{DISABLE_MACHINE_CREATE, PENDING_ACKNOWLEDGE_MOVE, UPDATE_IN_PROGRESS};
use refit_api::vocabulary::condition_types as types;
use refit_api::vocabulary::labels::MACHINE_TEMPLATE_HASH;
use refit_api::vocabulary::refit::annotations::SCAFFOLDING;
use serde_json::json;

use super::World;
use crate::effect::{Delete, Effect, Part, Patch, Target};
use crate::fleet;
use crate::handover::Handover;
use crate::machine_set::refusal::MoveRefusal;
use crate::testing::{at, condition, machine_of};

/// One pass of a MachineSet and of its machines: updates end, others begin, machines come, move and go.
pub fn pass(world: &mut World, set: &MachineSet) {
    let Some(set) = world.store.typed::<MachineSet>(name(set)) else { return };
    let handover = set.metadata.annotations.as_ref().map(Handover::read).unwrap_or_default();
    for mut machine in machines(world, &set) {
        if advance(&mut machine, &handover) {
            world.store.insert_typed(&machine);
        }
    }
    if handover.hold.is_none() {
        scale(world, &set, &handover);
    }
    report(world, &set, &handover);
}

pub fn is_any_pending(world: &World) -> bool {
    world.store.list_typed::<Machine>().iter().any(fleet::is_pending_acknowledge)
}

pub fn is_available(machine: &Machine) -> bool {
    is_true(&machine.status.conditions, types::AVAILABLE) && !fleet::is_updating(machine)
}

/// The next step of an update. Tells whether there is one.
fn advance(machine: &mut Machine, handover: &Handover) -> bool {
    let name = fleet::name(machine).to_owned();
    let annotations = machine.metadata.annotations.get_or_insert_default();
    if mark_done(annotations, Hook::UpdateMachine.name()) {
        return annotations.remove(UPDATE_IN_PROGRESS).is_some();
    }
    let is_released = handover.acknowledged.contains(&name) || !handover.receives();
    if annotations.contains_key(PENDING_ACKNOWLEDGE_MOVE) && is_released {
        annotations.remove(PENDING_ACKNOWLEDGE_MOVE);
        return mark_pending(annotations, Hook::UpdateMachine.name());
    }
    false
}

fn scale(world: &mut World, set: &MachineSet, handover: &Handover) {
    let mut machines = machines(world, set);
    // Who came and is not counted yet is no surplus.
    machines.retain(|machine| !fleet::is_pending_acknowledge(machine));
    let wanted = usize::try_from(set.spec.replicas.unwrap_or_default()).expect("nobody asks for less than none");
    let is_disabled = set.metadata.annotations.as_ref().is_some_and(|it| it[DISABLE_MACHINE_CREATE] == "true");
    for _ in machines.len()..wanted {
        if !is_disabled {
            let is_marked = machines.iter().any(fleet::is_scaffolding);
            create(world, set, handover.surge || (handover.scaffolding.is_some() && !is_marked));
        }
    }
    // The scaffolding goes first, then the youngest.
    machines.sort_by_key(|machine| handover.is_scaffolding(fleet::name(machine)) || fleet::is_scaffolding(machine));
    if let Some(target) = &handover.move_to {
        refuse(world, target, &machines);
        machines.sort_by_key(|machine| !world.refuses.contains_key(fleet::name(machine)));
    }
    for machine in machines.split_off(wanted.min(machines.len())) {
        match &handover.move_to {
            Some(_) if world.refuses.contains_key(fleet::name(&machine)) => {}
            Some(target) => move_to(world, target, set, machine),
            None => delete(world, &machine),
        }
    }
}

/// The dry runs of a move, as the MachineSet notes what came of them.
fn refuse(world: &mut World, target: &str, machines: &[Machine]) {
    for machine in machines {
        let words = format!("Host {} would be refused: spec.cpus is immutable", fleet::name(machine));
        let effect = match world.refuses.get(fleet::name(machine)) {
            Some((for_good, since)) => MoveRefusal::note(machine, target, at(*since), *for_good, &words),
            None => MoveRefusal::forget(machine),
        };
        effect.iter().for_each(|effect| world.store.carry_out(std::slice::from_ref(effect)));
    }
}

fn create(world: &mut World, set: &MachineSet, is_scaffolding: bool) {
    world.made += 1;
    let mut machine = machine_of(set, &format!("m{}", world.made));
    if is_scaffolding {
        machine.metadata.annotations.get_or_insert_default().insert(SCAFFOLDING.to_owned(), String::new());
    }
    machine.metadata.resource_version = None;
    for type_ in [types::READY, types::AVAILABLE, types::UP_TO_DATE] {
        machine.status.conditions.push(condition(type_, "True"));
    }
    world.store.insert_typed(&machine);
}

fn delete(world: &mut World, machine: &Machine) {
    world.deleted.push(fleet::name(machine).to_owned());
    world.store.carry_out(&[Effect::Delete(Delete::as_seen(machine))]);
}

/// Both sides must agree.
fn move_to(world: &mut World, target: &str, from: &MachineSet, machine: Machine) {
    let target: MachineSet = world.store.typed(target).expect("machines must move to what is there");
    let accepts = Handover::read(target.metadata.annotations.as_ref().expect("it must have annotations")).receive_from;
    if !accepts.contains(name(from)) || (fleet::is_updating(&machine) && !fleet::is_free(&machine)) {
        return;
    }
    let mut moved = machine_of(&target, fleet::name(&machine));
    moved.status = machine.status;
    let marks = [PENDING_ACKNOWLEDGE_MOVE, UPDATE_IN_PROGRESS].map(|key| (key.to_owned(), String::new()));
    moved.metadata.annotations = Some(marks.into());
    moved.metadata.labels.get_or_insert_default().extend(
        target
            .metadata
            .labels
            .and_then(|labels| labels.get_key_value(MACHINE_TEMPLATE_HASH).map(|(k, v)| (k.clone(), v.clone()))),
    );
    world.store.insert_typed(&moved);
}

fn report(world: &mut World, set: &MachineSet, handover: &Handover) {
    let machines = machines(world, set);
    let count = |which: &dyn Fn(&Machine) -> bool| machines.iter().filter(|machine| which(machine)).count();
    let mut conditions = Vec::new();
    if let Some(hold) = &handover.hold {
        conditions::set(&mut conditions, conditions::refit::held(hold.clone()), None, at(0));
    }
    let status = json!({
        "conditions": conditions,
        "replicas": machines.len(),
        "availableReplicas": count(&is_available),
        "upToDateReplicas": count(&is_available),
        "observedGeneration": set.metadata.generation,
    });
    let Some(set) = world.store.typed::<MachineSet>(name(set)) else { return };
    let patch = Patch { part: Part::Status, ..Patch::object(Target::of(&set), json!({ "status": status })) };
    world.store.carry_out(&[Effect::Patch(patch)]);
}

/// By age.
fn machines(world: &World, set: &MachineSet) -> Vec<Machine> {
    let mut machines: Vec<Machine> = world.store.list_typed();
    machines.retain(|machine| {
        machine.metadata.owner_references.iter().flatten().any(|owner| Some(&owner.uid) == set.metadata.uid.as_ref())
    });
    machines.sort_by_key(|machine| fleet::name(machine)[1..].parse::<u32>().expect("machines must be numbered"));
    machines
}

fn name(set: &MachineSet) -> &str {
    set.metadata.name.as_deref().unwrap_or_default()
}
