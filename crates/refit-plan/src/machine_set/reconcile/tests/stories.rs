//! Whole lives, each to a fixpoint.

use refit_api::cluster::{Machine, MachineSetDeletionOrder};
use refit_api::conditions::get;
use refit_api::vocabulary::annotations::{
    DELETE_MACHINE, MOVE_MACHINES_TO_MACHINESET, RECEIVE_MACHINES_FROM_MACHINESETS,
};
use refit_api::vocabulary::condition_types as types;
use serde_json::json;

use super::world::World;
use crate::effect::{Delete, Effect, Part, Target};
use crate::waiting::WaitingOn;

/// A MachineSet `old` whose machines move to `new`, which has none yet.
pub fn moving(old: i32) -> World {
    let mut world = World::running(&[("old", old), ("new", 0)]);
    world.annotate_set("new", RECEIVE_MACHINES_FROM_MACHINESETS, "old");
    world.annotate_set("old", MOVE_MACHINES_TO_MACHINESET, "new");
    world.scale("old", 0);
    world
}

fn delete_set(world: &mut World, name: &str) {
    let target = Target::of(&world.set(name));
    world.store.carry_out(&[Effect::Delete(Delete::at_any_version(target))]);
}

#[test]
fn a_machine_set_scales_up_from_nothing() {
    let world = World::running(&[("ms", 3)]);
    assert_eq!(world.names_of("ms"), ["ms-bbbbb", "ms-cbbbb", "ms-dbbbb"]);
    assert_eq!((world.store.list("Host").len(), world.store.list("Boot").len()), (3, 3));
    let status = world.set("ms").status;
    let counters = [status.replicas, status.ready_replicas, status.available_replicas, status.up_to_date_replicas];
    assert_eq!(counters, [Some(3); 4]);
    assert_eq!(status.observed_generation, Some(1));
    let told: Vec<&str> = status.conditions.iter().map(|condition| condition.type_.as_str()).collect();
    for type_ in [
        types::SCALING_UP,
        types::SCALING_DOWN,
        types::MACHINES_READY,
        types::MACHINES_UP_TO_DATE,
        types::REMEDIATING,
        types::DELETING,
        types::PAUSED,
    ] {
        assert!(told.contains(&type_), "{type_} is not told");
    }
    let created = world.store.events.iter().filter(|event| event.reason == "SuccessfulCreate").count();
    assert_eq!(created, 3);
}

#[test]
fn scaling_down_follows_the_priorities() {
    let mut world = World::running(&[("ms", 4)]);
    world.change_set("ms", |set| set.spec.deletion.order = Some(MachineSetDeletionOrder::Oldest));
    let unwanted: Machine = world.store.typed("ms-fbbbb").expect("it must be there");
    world.patch_machine(&unwanted, Part::Object, json!({ "metadata": { "annotations": { DELETE_MACHINE: "" } } }));
    let sick: Machine = world.store.typed("ms-dbbbb").expect("it must be there");
    let mut conditions = sick.status.conditions.clone();
    conditions.push(crate::testing::condition(types::NODE_HEALTHY, "False"));
    world.patch_machine(&sick, Part::Status, json!({ "status": { "conditions": conditions } }));
    world.scale("ms", 2);
    world.settle();
    assert_eq!(world.names_of("ms"), ["ms-bbbbb", "ms-cbbbb"]);
    assert_eq!(world.store.list("Host").len(), 2, "no host is left behind");
}

#[test]
fn machines_move_out_are_counted_updated_and_stay() {
    let mut world = moving(3);
    let before = world.names_of("old");
    world.settle();
    assert_eq!((world.names_of("old"), world.names_of("new")), (Vec::new(), before));
    for machine in world.machines() {
        let name = crate::fleet::name(&machine);
        assert!(!crate::fleet::is_updating(&machine), "{name}");
        let host = world.store.get("Host", name).expect("it must be there");
        assert_eq!(host["spec"], json!({ "cpus": 1 }), "{name}");
        assert_eq!(host["metadata"]["annotations"]["cluster.x-k8s.io/cloned-from-name"], "new-host");
        assert_eq!(host["metadata"]["labels"]["cluster.x-k8s.io/set-name"], "new");
    }
    assert_eq!(world.set("new").spec.replicas, Some(3));
    assert_eq!(world.set("old").status.replicas, Some(0));
}

/// The machines of `from` move to `to`, whose Machines are of this version and failure domain, and are updated.
fn change(world: &mut World, from: &str, to: &str, version: &str, domain: Option<&str>) {
    world.change_set(to, |set| {
        set.spec.template.spec.version = Some(version.to_owned());
        set.spec.template.spec.failure_domain = domain.map(str::to_owned);
        set.metadata.annotations.get_or_insert_default().remove(MOVE_MACHINES_TO_MACHINESET);
    });
    world.annotate_set(to, RECEIVE_MACHINES_FROM_MACHINESETS, from);
    world.annotate_set(from, MOVE_MACHINES_TO_MACHINESET, to);
    world.scale(from, 0);
    world.settle();
    for machine in world.machines() {
        assert_eq!(machine.spec.version.as_deref(), Some(version), "{from} to {to}");
        assert_eq!(machine.spec.failure_domain.as_deref(), domain, "{from} to {to}");
    }
}

#[test]
fn a_machine_is_changed_many_times_in_its_life() {
    let mut world = World::running(&[("a", 2), ("b", 0), ("c", 0)]);
    let machines = world.names_of("a");
    change(&mut world, "a", "b", "v1.31.0", None); // only the host
    change(&mut world, "b", "c", "v1.31.2", None);
    change(&mut world, "c", "a", "v1.31.3", None);
    change(&mut world, "a", "b", "v1.31.3", Some("fd2"));
    change(&mut world, "b", "c", "v1.31.3", Some("fd1"));
    change(&mut world, "c", "b", "v1.31.2", None);
    change(&mut world, "b", "a", "v1.31.3", Some("fd2"));
    assert_eq!(world.names_of("a"), machines, "they are the same machines");
}

#[test]
fn a_moved_machine_waits_for_its_acknowledgement_and_is_not_surplus() {
    let mut world = moving(1);
    world.pass("old");
    for _ in 0..3 {
        world.pass("new");
        world.run_machines();
    }
    let waiting = world.decide("new").waiting_on;
    let machines = world.names_of("new");
    assert_eq!(waiting, [WaitingOn::Acknowledgement { machines: machines.clone() }]);
    assert_eq!(machines.len(), 1);
    let machine: Machine = world.store.typed(&machines[0]).expect("it must be there");
    assert!(crate::fleet::is_pending_acknowledge(&machine) && !crate::fleet::is_hook_pending(&machine));
    world.acknowledge();
    world.pass("new");
    let machine: Machine = world.store.typed(&machines[0]).expect("it must be there");
    assert!(!crate::fleet::is_pending_acknowledge(&machine) && crate::fleet::is_hook_pending(&machine));
}

#[test]
fn what_a_crash_left_of_a_creation_is_finished_or_goes() {
    for crash in 1..6 {
        let mut world = World::new(&[("ms", 0)]);
        world.settle();
        world.scale("ms", 1);
        world.crash_after = Some(crash);
        world.pass("ms");
        let mut smaller = world.clone();
        world.settle();
        assert_eq!(world.names_of("ms"), ["ms-bbbbb"], "after {crash} writes");
        assert_eq!((world.store.list("Host").len(), world.store.list("Boot").len()), (1, 1));
        smaller.scale("ms", 0);
        smaller.settle();
        assert!(smaller.names_of("ms").is_empty(), "after {crash} writes");
        assert_eq!((smaller.store.list("Host").len(), smaller.store.list("Boot").len()), (0, 0));
    }
}

#[test]
fn unhealthy_machines_are_replaced_one_at_a_time_where_the_user_wants_that() {
    let mut world = World::running(&[("ms", 3)]);
    world.deployment.spec.remediation.max_in_flight =
        Some(k8s_openapi::apimachinery::pkg::util::intstr::IntOrString::Int(1));
    world.give_up("ms-bbbbb");
    world.give_up("ms-cbbbb");
    world.pass("ms");
    let going = world.machines().iter().filter(|machine| crate::fleet::is_deleting(machine)).count();
    assert_eq!(going, 1);
    let status = world.set("ms").status;
    assert_eq!(get(&status.conditions, types::REMEDIATING).map(|told| told.status.as_str()), Some("True"));
    world.settle();
    let names = world.names_of("ms");
    assert_eq!(names.len(), 3);
    assert!(world.machines().iter().all(|machine| !crate::fleet::is_unhealthy(machine)), "{names:?}");
}

#[test]
fn a_machine_that_is_replaced_is_the_surplus_and_no_other_goes_for_it() {
    let mut world = World::running(&[("ms", 3)]);
    let unwanted: Machine = world.store.typed("ms-cbbbb").expect("it must be there");
    world.patch_machine(&unwanted, Part::Object, json!({ "metadata": { "annotations": { DELETE_MACHINE: "" } } }));
    world.give_up("ms-bbbbb");
    world.scale("ms", 2);
    world.settle();
    assert_eq!(world.names_of("ms"), ["ms-cbbbb", "ms-dbbbb"]);
}

#[test]
fn a_machine_set_goes_after_its_machines() {
    let mut world = World::running(&[("ms", 2)]);
    delete_set(&mut world, "ms");
    world.pass("ms");
    assert!(world.store.get("MachineSet", "ms").is_some(), "Machines are left");
    assert_eq!(world.decide("ms").waiting_on.len(), 1);
    world.settle();
    assert!(world.store.get("MachineSet", "ms").is_none() && world.machines().is_empty());
    assert!(world.store.list("Host").is_empty());
}

#[test]
fn a_machine_of_nobody_is_adopted_before_others_are_created() {
    let mut world = World::running(&[("ms", 1)]);
    let machine = world.machines().remove(0);
    world.patch_machine(&machine, Part::Object, json!({ "metadata": { "ownerReferences": null } }));
    world.settle();
    assert_eq!(world.names_of("ms"), ["ms-bbbbb"]);
    assert_eq!(world.machines().len(), 1, "none was created in its place");
}

#[test]
fn labels_reach_machines_and_their_objects() {
    let mut world = World::running(&[("ms", 2)]);
    world.change_set("ms", |set| {
        set.spec.template.metadata.labels.insert("team".to_owned(), "a".to_owned());
        set.spec.template.spec.deletion.node_drain_timeout_seconds = Some(7);
    });
    world.settle();
    for kind in ["Machine", "Host", "Boot"] {
        for object in world.store.list(kind) {
            assert_eq!(object["metadata"]["labels"]["team"], "a", "{kind}");
        }
    }
    let is_seven = |machine: &Machine| machine.spec.deletion.node_drain_timeout_seconds == Some(7);
    assert!(world.machines().iter().all(is_seven));
}
