//! Extensions that are not registered any more in the middle of an update.

use refit_api::vocabulary::annotations::UPDATE_IN_PROGRESS;
use refit_api::vocabulary::refit::annotations::{UPDATE_FAILED, UPDATE_PROGRESS, UPDATE_TIMEOUT};

use super::in_place::asked;
use super::world::{World, name};
use crate::coverage::testing::hash;
use crate::fleet::{gone_extension, is_free, is_update_over};
use crate::machine::*;

fn without_firmware() -> World {
    let mut world = World::updating(Some(&["can.firmware", "can.kubeadm"]));
    let progress = progress::Progress::handed_over(Some(hash("q")), world.seen.now);
    world.annotate(UPDATE_PROGRESS, &progress.encode().unwrap());
    world.seen.updaters = Updaters::Registered(vec![name("update.kubeadm")]);
    world.settle();
    world
}

/// The name of the extension that the machine says is gone.
fn gone(world: &World) -> Option<String> {
    gone_extension(&world.seen.machine).map(|gone| gone.extension)
}

#[test]
fn after_half_a_minute_the_machine_is_free_for_another_target_and_no_update_has_failed() {
    let mut world = without_firmware();
    assert_eq!(decide(&world.seen).plan.requeue_after, Some(std::time::Duration::from_secs(30)));
    world.later(29);
    world.settle();
    assert_eq!((is_free(&world.seen.machine), gone(&world)), (false, None));
    world.later(1);
    world.settle();
    assert_eq!((is_free(&world.seen.machine), gone(&world).as_deref()), (true, Some("firmware")));
    assert!(!is_update_over(&world.seen.machine), "whoever looks after failed updates has nothing to do with it");
    assert_eq!(world.annotation(UPDATE_FAILED), None);
    assert!(asked(&world).is_empty());
}

#[test]
fn one_that_comes_back_goes_on_after_it_is_written_that_the_machine_is_not_free() {
    let mut world = without_firmware();
    world.later(60);
    world.settle();
    world.seen.updaters = Updaters::Registered(vec![name("update.firmware"), name("update.kubeadm")]);
    assert_eq!(decide(&world.seen).errand, None, "somebody may be about to give the machine another target");
    world.round();
    assert!(!is_free(&world.seen.machine));
    world.settle();
    assert_eq!(asked(&world), ["update.firmware", "update.kubeadm"]);
    assert_eq!(world.annotation(UPDATE_IN_PROGRESS), None);
}

#[test]
fn an_absence_that_ends_in_time_counts_anew() {
    let mut world = without_firmware();
    world.later(20);
    world.seen.updaters = Updaters::NotDiscovered;
    world.settle();
    world.seen.updaters = Updaters::Registered(Vec::new());
    world.later(9);
    world.settle();
    assert_eq!(gone(&world), None);
    world.later(1);
    world.settle();
    assert!(gone(&world).is_some(), "what is not known does not end it");
}

/// Its turn comes later. Until then the machine is not free.
#[test]
fn one_that_is_missing_later_in_the_plan_does_not_stop_the_others() {
    let mut world = World::updating(Some(&["can.firmware", "can.kubeadm"]));
    world.seen.updaters = Updaters::Registered(vec![name("update.firmware")]);
    world.updater = |_| Err("connection refused".to_owned());
    world.settle();
    world.later(100);
    world.settle();
    assert_eq!((is_free(&world.seen.machine), gone(&world)), (false, None));
    assert!(world.annotation(UPDATE_PROGRESS).unwrap().contains("can.kubeadm"));
}

#[test]
fn an_update_that_was_given_up_knows_who_is_missing_also_later() {
    let mut world = without_firmware();
    world.policy(UPDATE_TIMEOUT, "10s");
    world.later(10);
    world.settle();
    assert!(world.annotation(UPDATE_FAILED).is_some());
    assert_eq!(gone(&world).as_deref(), Some("firmware"));
    world.seen.updaters = Updaters::Registered(vec![name("update.firmware"), name("update.kubeadm")]);
    world.settle();
    assert_eq!(gone(&world), None);
    world.seen.updaters = Updaters::Registered(vec![name("update.firmware-2")]);
    world.settle();
    assert_eq!(gone(&world).as_deref(), Some("firmware"));
    assert!(asked(&world).is_empty());
}
