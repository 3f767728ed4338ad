//! Machines that somebody wants to be replaced, in MachineSets that are wanted, left behind, or stand still.

use refit_api::cluster::{Machine, MachineDeploymentRolloutStrategyType};
use refit_api::conditions::machine::health;
use refit_api::conditions::{get, set};
use refit_api::vocabulary::annotations::{
    MOVE_MACHINES_TO_MACHINESET, PENDING_HOOKS, RECEIVE_MACHINES_FROM_MACHINESETS, REMEDIATE_MACHINE,
    UPDATE_IN_PROGRESS,
};
use refit_api::vocabulary::condition_types::OWNER_REMEDIATED;
use refit_api::vocabulary::refit::annotations::{FAILED_UPDATES, IN_PLACE, UPDATE_FAILED};
use refit_api::vocabulary::refit::condition_types::ROLLOUT_BLOCKED;

use super::world::World;
use crate::effect::{Delete, Effect, Target};
use crate::testing::{CREATED, at, condition};

const NODE: &str = "Condition Ready on Node is reporting status False";
const UPDATE: &str = "Condition Updating on Machine is reporting status True";

fn policy(world: &mut World, policy: &str) {
    let annotations = world.deployment.metadata.annotations.get_or_insert_default();
    annotations.insert(IN_PLACE.to_owned(), policy.to_owned());
}

/// The first machine of a MachineSet, which a health check complains about.
fn complain(world: &mut World, of: &str, problem: &str, marks: &[&str]) -> String {
    let name = world.names_of(of).remove(0);
    let mut machine: Machine = world.store.typed(&name).expect("it must be there");
    for condition in [health::unhealthy_machine(&[problem]), health::waiting_for_remediation()] {
        set(&mut machine.status.conditions, condition, None, at(CREATED));
    }
    for mark in marks {
        let value = if *mark == PENDING_HOOKS { "UpdateMachine" } else { "" };
        machine.metadata.annotations.get_or_insert_default().insert((*mark).to_owned(), value.to_owned());
    }
    machine.metadata.finalizers = Some(vec!["held".to_owned()]);
    world.store.insert_typed(&machine);
    name
}

/// Whether the machine is deleted, and what is said of it.
fn told(world: &World, name: &str) -> (bool, String) {
    let machine: Machine = world.store.typed(name).expect("it must be there");
    let told = get(&machine.status.conditions, OWNER_REMEDIATED).expect("it must be said");
    (crate::fleet::is_deleting(&machine), format!("{}: {}", told.reason, told.message))
}

fn check(world: &mut World, set: &str, name: &str, is_deleted: bool, words: &str) {
    world.pass(set);
    world.pass(set);
    let (deleted, said) = told(world, name);
    assert_eq!(deleted, is_deleted, "{said}");
    assert!(said.contains(words), "{said}");
}

#[test]
fn a_rollout_that_removes_no_machine_does_not_switch_off_repair() {
    type Change = fn(&mut World);
    let outgoing = |in_place: &str, change: Change| {
        let mut world = World::running(&[("old", 1), ("new", 0)]);
        policy(&mut world, in_place);
        change(&mut world);
        let name = complain(&mut world, "old", NODE, &[]);
        (world, name)
    };
    let (mut world, name) = outgoing("Prefer", |_| ());
    check(&mut world, "old", &name, false, "pending removal due to rollout");
    let stands_still: [(&str, Change); 5] = [
        ("Require", |_| ()),
        ("Prefer", |world| world.deployment.status.conditions.push(condition(ROLLOUT_BLOCKED, "True"))),
        ("Prefer", |world| world.deployment.spec.paused = Some(true)),
        ("Never", |world| {
            let strategy = world.deployment.spec.rollout.strategy.get_or_insert_default();
            strategy.type_ = MachineDeploymentRolloutStrategyType::OnDelete;
        }),
        ("Prefer", |world| {
            world.annotate_set("new", RECEIVE_MACHINES_FROM_MACHINESETS, "old");
            world.annotate_set("old", MOVE_MACHINES_TO_MACHINESET, "new");
        }),
    ];
    for (in_place, change) in stands_still {
        let (mut world, name) = outgoing(in_place, change);
        check(&mut world, "old", &name, true, "MachineDeleting");
    }
}

#[test]
fn under_require_a_health_check_costs_no_machine_that_is_updated_or_whose_update_failed() {
    let updating = [UPDATE_IN_PROGRESS, PENDING_HOOKS];
    let failed = [UPDATE_IN_PROGRESS, PENDING_HOOKS, UPDATE_FAILED];
    for problem in [NODE, UPDATE] {
        let mut world = World::running(&[("ms", 2)]);
        policy(&mut world, "Require");
        let name = complain(&mut world, "ms", problem, &updating);
        check(&mut world, "ms", &name, false, "Waiting because the Machine is being updated in place");
        let name = complain(&mut world, "ms", problem, &failed);
        check(&mut world, "ms", &name, false, "won't be remediated because its update failed");
        complain(&mut world, "ms", problem, &[REMEDIATE_MACHINE]);
        check(&mut world, "ms", &name, true, "MachineDeleting");
    }
}

/// The health check looks at a machine some time after its update has ended. Until then its word is about the past.
#[test]
fn under_require_a_complaint_about_an_update_that_is_over_costs_no_machine() {
    let mut world = World::running(&[("ms", 1)]);
    policy(&mut world, "Require");
    let name = complain(&mut world, "ms", UPDATE, &[]);
    check(&mut world, "ms", &name, false, "the health check failed for an update of the Machine that is over");
    complain(&mut world, "ms", NODE, &[]);
    check(&mut world, "ms", &name, true, "MachineDeleting");
}

#[test]
fn under_prefer_a_check_of_the_update_is_honoured_and_any_other_waits() {
    let updating = [UPDATE_IN_PROGRESS, PENDING_HOOKS];
    let mut world = World::running(&[("ms", 1)]);
    let name = complain(&mut world, "ms", NODE, &updating);
    check(&mut world, "ms", &name, false, "Waiting because the Machine is being updated in place");
    complain(&mut world, "ms", UPDATE, &updating);
    check(&mut world, "ms", &name, true, "MachineDeleting");
    assert_eq!(record(&world, "ms"), name, "it counts as an update that failed");
}

fn record(world: &World, set: &str) -> String {
    world.set(set).metadata.annotations.and_then(|own| own.get(FAILED_UPDATES).cloned()).unwrap_or_default()
}

#[test]
fn a_failed_update_is_on_record_before_its_machine_goes_and_stays_there() {
    let failed = [UPDATE_IN_PROGRESS, PENDING_HOOKS, UPDATE_FAILED];
    let mut world = World::running(&[("ms", 2)]);
    let name = complain(&mut world, "ms", NODE, &failed);
    world.pass("ms");
    assert_eq!((told(&world, &name).0, record(&world, "ms")), (false, name.clone()), "the record comes first");
    world.pass("ms");
    assert!(told(&world, &name).0);
    let mut machine: Machine = world.store.typed(&name).expect("it must be there");
    machine.metadata.finalizers = None;
    machine.metadata.deletion_timestamp = None;
    world.store.insert_typed(&machine);
    world.store.carry_out(&[Effect::Delete(Delete::at_any_version(Target::of(&machine)))]);
    world.pass("ms");
    assert_eq!(record(&world, "ms"), name, "the machine is gone, and the record is not");
    world
        .deployment
        .metadata
        .annotations
        .get_or_insert_default()
        .insert(refit_api::vocabulary::annotations::REVISION.to_owned(), "9".to_owned());
    world.pass("ms");
    assert_eq!(record(&world, "ms"), "", "something else is wanted");
}

#[test]
fn a_machine_that_is_tried_again_is_on_record_no_more() {
    let failed = [UPDATE_IN_PROGRESS, PENDING_HOOKS, UPDATE_FAILED];
    let mut world = World::running(&[("ms", 2)]);
    let name = complain(&mut world, "ms", NODE, &failed);
    policy(&mut world, "Require");
    world.pass("ms");
    assert_eq!(record(&world, "ms"), name);
    let mut machine: Machine = world.store.typed(&name).expect("it must be there");
    machine.status.conditions.retain(|condition| condition.type_ != OWNER_REMEDIATED);
    machine.metadata.annotations.get_or_insert_default().remove(UPDATE_FAILED);
    world.store.insert_typed(&machine);
    world.pass("ms");
    assert_eq!(record(&world, "ms"), "");
}
