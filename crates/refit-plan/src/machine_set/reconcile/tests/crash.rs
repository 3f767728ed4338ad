//! A crash between any two writes leads to the same end.

use super::stories::moving;
use super::world::World;
use crate::effect::{Delete, Effect, Target};

/// Runs the scenario without a crash, then with one before each of its writes.
fn check(begin: &World) {
    let mut whole = begin.clone();
    whole.settle();
    let mut crashes = 0;
    for crash_after in 0.. {
        let mut world = begin.clone();
        world.crash_after = Some(crash_after);
        world.settle();
        if world.crash_after.is_some() {
            break;
        }
        crashes += 1;
        assert_eq!(world.store.contents(), whole.store.contents(), "after a crash before write {crash_after}");
    }
    assert!(crashes >= 3, "the scenario is too short to say anything");
}

#[test]
fn creation_survives_a_crash_anywhere() {
    check(&World::new(&[("ms", 2)]));
}

#[test]
fn a_move_its_acknowledgement_and_its_completion_survive_a_crash_anywhere() {
    check(&moving(2));
}

#[test]
fn scaling_down_survives_a_crash_anywhere() {
    let mut world = World::running(&[("ms", 4)]);
    world.scale("ms", 1);
    check(&world);
}

#[test]
fn remediation_survives_a_crash_anywhere() {
    let mut world = World::running(&[("ms", 3)]);
    world.give_up("ms-cbbbb");
    check(&world);
}

#[test]
fn deletion_survives_a_crash_anywhere() {
    let mut world = World::running(&[("ms", 2)]);
    let target = Target::of(&world.set("ms"));
    world.store.carry_out(&[Effect::Delete(Delete::at_any_version(target))]);
    check(&world);
}
