//! Random histories: users, crashes, late writers, any order. In the end all is as it should be.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use refit_api::cluster::{Machine, MachineSet};
use refit_api::vocabulary::annotations::{
    ACKNOWLEDGED_MOVE, MOVE_MACHINES_TO_MACHINESET, PENDING_ACKNOWLEDGE_MOVE, PENDING_HOOKS,
    RECEIVE_MACHINES_FROM_MACHINESETS, UPDATE_IN_PROGRESS,
};
use serde_json::{Value, json};

use super::world::World;
use crate::effect::{Delete, Effect, Part};
use crate::machine_set::reconcile::decide;
use crate::reading::{Listed, Read, Unreadable};

const SETS: [&str; 2] = ["old", "new"];

#[derive(Debug, Clone)]
enum Action {
    Pass(usize),
    /// The pass of a MachineSet that dies before this write.
    Crash(usize, usize),
    /// A pass that was decided before what the other action does, and is carried out after it.
    Late(usize, Box<Action>),
    Machines,
    Acknowledge,
    Scale(usize, i32),
    GiveUp(usize),
    Delete(usize),
}

fn action() -> impl Strategy<Value = Action> {
    let set = 0..SETS.len();
    let simple = prop_oneof![
        4 => set.clone().prop_map(Action::Pass),
        2 => Just(Action::Machines),
        2 => Just(Action::Acknowledge),
        1 => (set.clone(), 0..4).prop_map(|(set, replicas)| Action::Scale(set, replicas)),
        1 => (0..4_usize).prop_map(Action::GiveUp),
        1 => (0..4_usize).prop_map(Action::Delete),
        2 => (set.clone(), 0..12_usize).prop_map(|(set, write)| Action::Crash(set, write)),
    ];
    let late = (set, simple.clone()).prop_map(|(set, other)| Action::Late(set, Box::new(other)));
    prop_oneof![4 => simple, 1 => late]
}

fn act(world: &mut World, action: &Action) {
    match action {
        Action::Pass(set) => world.carry_out(&world.decide(SETS[*set])),
        Action::Crash(set, write) => {
            world.crash_after = Some(*write);
            world.pass(SETS[*set]);
            world.crash_after = None;
        }
        Action::Late(set, other) => {
            let decision = world.decide(SETS[*set]);
            // There is one worker for a MachineSet.
            if !matches!(**other, Action::Pass(same) | Action::Crash(same, _) if same == *set) {
                act(world, other);
            }
            world.carry_out(&decision);
        }
        Action::Machines => world.run_machines(),
        Action::Acknowledge => world.acknowledge(),
        Action::Scale(set, replicas) => world.scale(SETS[*set], *replicas),
        Action::GiveUp(index) => {
            if let Some(machine) = world.machines().get(*index) {
                world.give_up(crate::fleet::name(machine));
            }
        }
        Action::Delete(index) => {
            if let Some(machine) = world.machines().get(*index) {
                world.store.carry_out(&[Effect::Delete(Delete::as_seen(machine))]);
            }
        }
    }
}

/// No machine is lost or counted twice, and none loses its host.
fn check_machines(world: &World) -> Result<(), TestCaseError> {
    for machine in world.machines() {
        let name = crate::fleet::name(&machine);
        let owners = machine.metadata.owner_references.as_deref().unwrap_or_default();
        prop_assert_eq!(owners.len(), 1, "{} belongs to one MachineSet", name);
        if !crate::fleet::is_deleting(&machine) {
            let is_there = world.store.get("Host", name).is_some() && world.store.get("Boot", name).is_some();
            prop_assert!(is_there, "{name} has lost an object");
        }
    }
    Ok(())
}

/// Every MachineSet has what it asks for, and nothing is left over.
fn check_end(world: &World) -> Result<(), TestCaseError> {
    for name in SETS {
        let wanted = usize::try_from(world.set(name).spec.replicas.unwrap_or(0)).unwrap_or(0);
        prop_assert_eq!(world.names_of(name).len(), wanted, "{}", name);
    }
    let machines = world.machines();
    prop_assert!(!machines.iter().any(crate::fleet::is_updating));
    for kind in ["Host", "Boot"] {
        prop_assert_eq!(world.store.list(kind).len(), machines.len(), "{} without a Machine", kind);
    }
    Ok(())
}

fn nonsense() -> impl Strategy<Value = String> {
    prop_oneof![Just(""), Just("old"), Just("new"), Just("new,old"), Just("nowhere"), Just(",,"), Just("{}")]
        .prop_map(str::to_owned)
}

/// Objects of providers as nobody should make them.
fn object() -> impl Strategy<Value = Read<Value>> {
    prop_oneof![
        Just(Read::Missing),
        Just(Read::Unreadable(Unreadable { what: "it".to_owned(), why: "timeout".to_owned() })),
        Just(Read::Found(json!(null))),
        Just(Read::Found(json!({ "kind": 3, "metadata": [], "spec": "x" }))),
        Just(Read::Found(json!({ "apiVersion": "x.io/v1", "kind": "HostTemplate", "metadata": { "uid": "u" } }))),
    ]
}

fn annotated(machine: &mut Machine, keys: &[&str], values: &[String]) {
    let annotations = keys.iter().zip(values).filter(|(_, value)| *value != "{}");
    let map: BTreeMap<String, String> = annotations.map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
    machine.metadata.annotations = Some(map);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn every_history_ends_well(actions in prop::collection::vec(action(), 1..16), is_moving: bool) {
        let mut world = World::running(&[("old", 2), ("new", 1)]);
        if is_moving {
            world.annotate_set("new", RECEIVE_MACHINES_FROM_MACHINESETS, "old");
            world.annotate_set("old", MOVE_MACHINES_TO_MACHINESET, "new");
            world.scale("old", 0);
        }
        for action in &actions {
            act(&mut world, action);
            check_machines(&world)?;
        }
        world.settle();
        check_end(&world)?;
    }

    #[test]
    fn no_input_panics(
        replicas: Option<i32>,
        of_set in prop::collection::vec(nonsense(), 3),
        of_machine in prop::collection::vec(nonsense(), 3),
        objects in prop::collection::vec(object(), 6),
        deleting: bool,
        version in prop_oneof![Just(None), nonsense().prop_map(Some)],
    ) {
        let mut observed = World::running(&[("old", 2), ("new", 0)]).observe("old");
        let keys = [MOVE_MACHINES_TO_MACHINESET, RECEIVE_MACHINES_FROM_MACHINESETS, ACKNOWLEDGED_MOVE];
        let annotations = keys.iter().zip(&of_set).map(|(key, value)| ((*key).to_owned(), value.clone()));
        let set: &mut MachineSet = &mut observed.machine_set;
        set.metadata.annotations.get_or_insert_default().extend(annotations);
        set.spec.replicas = replicas;
        set.spec.template.spec.version = version;
        set.metadata.deletion_timestamp = set.metadata.creation_timestamp.clone().filter(|_| deleting);
        let Listed::All(machines) = &mut observed.machines else { panic!("they were read") };
        annotated(Arc::make_mut(&mut machines[0].machine), &[UPDATE_IN_PROGRESS, PENDING_ACKNOWLEDGE_MOVE, PENDING_HOOKS], &of_machine);
        machines[0].infrastructure = objects[0].clone().into();
        machines[1].bootstrap = Some(objects[1].clone().into());
        observed.templates.infrastructure = objects[2].clone();
        observed.templates.bootstrap = Some(objects[3].clone());
        observed.control_plane = Some(objects[4].clone());
        if let Read::Found(object) = &objects[5] {
            observed.provider_objects.infrastructure = Listed::All(vec![object.clone()]);
        }
        let decision = decide(&observed);
        prop_assert!(decision.status.conditions.len() <= 32, "more conditions than the CRD takes");
    }
}

/// A user or a backup tool takes the owner off: the history above does not have that.
#[test]
fn a_machine_that_lost_its_owner_in_the_middle_of_a_move_is_not_lost() {
    let mut world = super::stories::moving(1);
    world.pass("old");
    let machine = world.machines().remove(0);
    world.patch_machine(&machine, Part::Object, json!({ "metadata": { "ownerReferences": null } }));
    world.settle();
    assert_eq!((world.names_of("old").len(), world.names_of("new").len()), (0, 1));
    assert!(!crate::fleet::is_updating(&world.machines()[0]));
}
