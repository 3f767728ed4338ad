//! What people hear of an update.

use refit_api::hooks::{HookResponse, RetryAfterSeconds, UpdateMachineResponse};
use refit_api::vocabulary::refit::annotations::UPDATE_RETRIES;

use super::world::{Updater, World};
use crate::machine::*;

/// Lets the updaters answer one after another, five seconds apart, and compares what was told of it.
fn check(mut world: World, updaters: &[Updater], expected: &[(&str, &str)]) {
    for updater in updaters {
        world.updater = *updater;
        world.settle();
        world.later(5);
    }
    let told = world.events.iter().copied().zip(world.told.iter().map(String::as_str));
    assert_eq!(told.collect::<Vec<_>>(), expected);
}

fn done(_: &Call) -> Result<UpdateMachineResponse, String> {
    Ok(UpdateMachineResponse::done())
}

fn half_way(_: &Call) -> Result<UpdateMachineResponse, String> {
    Ok(UpdateMachineResponse::in_progress("half way", RetryAfterSeconds::new(5).expect("it must be positive")))
}

fn silent(_: &Call) -> Result<UpdateMachineResponse, String> {
    Ok(UpdateMachineResponse::in_progress("", RetryAfterSeconds::new(5).expect("it must be positive")))
}

fn no_disk(_: &Call) -> Result<UpdateMachineResponse, String> {
    Ok(UpdateMachineResponse::failed("no disk"))
}

#[test]
fn an_update_that_is_over_at_once_is_told_once() {
    check(World::updating(None), &[done], &[("SuccessfulInPlaceUpdate", "updated in place by firmware")]);
    let several = World::updating(Some(&["can.kubeadm", "can.firmware"]));
    check(several, &[done], &[("SuccessfulInPlaceUpdate", "updated in place by kubeadm, firmware")]);
}

#[test]
fn an_update_that_takes_a_while_is_told_when_it_begins_and_ends() {
    let start = "SuccessfulStartInPlaceUpdate";
    let expected = [
        (start, "Machine starting in-place update: update.firmware: half way"),
        ("SuccessfulInPlaceUpdate", "updated in place by firmware, after 10s"),
    ];
    check(World::updating(Some(&["can.firmware"])), &[half_way, half_way, done], &expected);
    let expected = [
        (start, "Machine starting in-place update: update.firmware is at work"),
        ("SuccessfulInPlaceUpdate", "updated in place by firmware, after 10s"),
    ];
    check(World::updating(None), &[silent, silent, done], &expected);
}

#[test]
fn the_next_extension_is_told_of_where_it_takes_a_while() {
    let expected = [
        ("SuccessfulStartInPlaceUpdate", "Machine starting in-place update: update.kubeadm: half way"),
        ("SuccessfulInPlaceUpdateStep", "update.kubeadm is done, firmware is next"),
        ("SuccessfulInPlaceUpdate", "updated in place by kubeadm, firmware, after 5s"),
    ];
    check(World::updating(Some(&["can.kubeadm", "can.firmware"])), &[half_way, done], &expected);
}

/// The words are the same each time, so that the event is counted and not written anew.
#[test]
fn every_try_that_fails_is_told_in_the_extensions_own_words() {
    let failed = ("FailedInPlaceUpdateAttempt", "update.firmware: no disk");
    let done_at_last = ("SuccessfulInPlaceUpdate", "updated in place by firmware, after 10s");
    check(World::updating(None), &[no_disk, no_disk, done], &[failed, failed, done_at_last]);
    let mut limited = World::updating(None);
    limited.policy(UPDATE_RETRIES, "1");
    let given_up = ("FailedInPlaceUpdate", "given up after 2 tries: update.firmware: no disk");
    check(limited, &[no_disk, no_disk, no_disk], &[failed, given_up]);
}

#[test]
fn an_extension_that_is_missing_is_told_of_once() {
    let mut world = World::updating(Some(&["can.firmware"]));
    world.seen.updaters = Updaters::Registered(Vec::new());
    let words = "Machine starting in-place update: waiting for extension firmware, which is not registered any more";
    check(world, &[done, done], &[("SuccessfulStartInPlaceUpdate", words)]);
}
