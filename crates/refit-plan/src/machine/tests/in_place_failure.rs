//! Updates that fail, for now or for good.

use refit_api::hooks::{HookResponse, RetryAfterSeconds, UpdateMachineResponse};
use refit_api::vocabulary::refit::annotations::{
    UPDATE_FAILED, UPDATE_PLAN, UPDATE_PROGRESS, UPDATE_RETRIES, UPDATE_TIMEOUT,
};
use serde_json::json;

use super::in_place::{FAILED, asked, is_marked};
use super::world::{World, decode};
use crate::coverage::testing::{frozen_plan, hash};
use crate::machine::*;

/// An answer that is not understood, or a failure, is a failed try and never the end of the update.
fn check_is_a_failure(updater: super::world::Updater, words: &str, tries: u32) {
    let mut world = World::updating(Some(&["can.firmware"]));
    world.updater = updater;
    world.settle();
    assert!(is_marked(&world));
    let said = format!("True InPlaceUpdateFailed: update.firmware: {words} (try 1 of {tries})");
    assert_eq!(world.condition("Updating"), said);
    assert_eq!(world.events, ["FailedInPlaceUpdateAttempt"]);
    assert!(world.annotation(UPDATE_PROGRESS).unwrap().contains(r#""attempts":1"#));
}

#[test]
fn design_5_4_only_a_plain_success_completes_an_update() {
    check_is_a_failure(|_| Ok(UpdateMachineResponse::failed("no disk")), "no disk", 6);
    check_is_a_failure(|_| Err("connection refused".to_owned()), "connection refused", 21);
    check_is_a_failure(
        |_| Ok(decode(json!({ "status": "Success", "retryAfterSeconds": -1 }))),
        "it asks for a negative wait (-1s), which means nothing",
        21,
    );
    check_is_a_failure(
        |_| Ok(decode(json!({ "status": "Fine", "retryAfterSeconds": 0 }))),
        r#"got unknown response status "Fine" with message:"#,
        21,
    );
    check_is_a_failure(|_| Ok(decode(json!({}))), r#"got unknown response status "" with message:"#, 21);
}

#[test]
fn a_failed_try_is_repeated_with_growing_waits_and_may_succeed() {
    let mut world = World::updating(None);
    world.updater = |_| Err("refused".to_owned());
    let mut waits = Vec::new();
    for _ in 0..4 {
        world.settle();
        let wait = decide(&world.seen).plan.requeue_after.unwrap().as_secs();
        waits.push(wait);
        world.later(i64::try_from(wait).unwrap());
    }
    assert_eq!(waits, [1, 2, 4, 8]);
    world.updater = |_| Ok(UpdateMachineResponse::done());
    world.settle();
    assert!(!is_marked(&world));
    assert_eq!(world.annotation(UPDATE_PROGRESS), None);
}

fn given_up_after_two_tries() -> World {
    let mut world = World::updating(Some(&["can.firmware", "can.kubeadm"]));
    world.policy(UPDATE_RETRIES, "1");
    world.updater = |_| Err("no disk".to_owned());
    world.settle();
    world.later(1);
    world.settle();
    world
}

#[test]
fn after_the_retries_the_update_has_failed_and_the_machine_stays_as_it_is() {
    let mut world = given_up_after_two_tries();
    assert_eq!(world.condition(FAILED), "True RetriesExhausted: update.firmware: no disk");
    assert_eq!(world.condition("Updating"), "True InPlaceUpdateFailed: update.firmware: no disk");
    assert_eq!(world.events, ["FailedInPlaceUpdateAttempt", "FailedInPlaceUpdate"]);
    assert_eq!(world.annotation(UPDATE_FAILED), Some(hash("q").as_str()));
    assert!(is_marked(&world));
    world.later(100_000);
    world.settle();
    assert_eq!(world.calls.len(), 2);
    let decision = decide(&world.seen);
    assert!(decision.plan.waiting_on.iter().any(WaitingOn::is_blocked));
}

#[test]
fn taking_the_failure_mark_off_gives_the_update_all_its_tries_again() {
    let mut world = given_up_after_two_tries();
    world.seen.machine.metadata.annotations.as_mut().unwrap().remove(UPDATE_FAILED);
    world.settle();
    assert_eq!(world.condition(FAILED), "False NotFailed");
    assert_eq!(world.calls.len(), 3);
    assert_eq!(world.annotation(UPDATE_FAILED), None);
    world.later(1);
    world.updater = |_| Ok(UpdateMachineResponse::done());
    world.settle();
    assert!(!is_marked(&world));
}

#[test]
fn with_no_retries_an_old_answer_does_not_fail_the_next_try() {
    let mut world = World::updating(None);
    world.policy(UPDATE_RETRIES, "0");
    world.updater = |_| Err("no disk".to_owned());
    world.settle();
    assert_eq!(world.annotation(UPDATE_FAILED), Some(""));
    world.seen.machine.metadata.annotations.as_mut().unwrap().remove(UPDATE_FAILED);
    world.updater = |_| Ok(UpdateMachineResponse::done());
    world.settle();
    assert_eq!(world.calls.len(), 2);
    assert!(!is_marked(&world));
}

#[test]
fn a_new_plan_starts_a_failed_update_anew() {
    let mut world = given_up_after_two_tries();
    world.annotate(UPDATE_PLAN, &frozen_plan("q2", "t2", &["can.kubeadm"]).encode());
    world.updater = |_| Ok(UpdateMachineResponse::done());
    world.settle();
    assert_eq!(asked(&world).last().unwrap(), "update.kubeadm");
    assert!(!is_marked(&world));
    assert_eq!(world.condition(FAILED), "False NotFailed");
}

#[test]
fn an_update_that_takes_too_long_has_failed() {
    let mut world = World::updating(None);
    world.policy(UPDATE_TIMEOUT, "90s");
    world.updater = |_| Ok(UpdateMachineResponse::in_progress("half way", RetryAfterSeconds::new(600).unwrap()));
    world.settle();
    assert_eq!(decide(&world.seen).plan.requeue_after, Some(std::time::Duration::from_secs(90)));
    world.later(89);
    world.settle();
    assert_eq!(world.condition(FAILED), "missing");
    world.later(1);
    world.settle();
    assert_eq!(world.condition(FAILED), "True TimedOut: not done after 90s: update.firmware: half way");
    assert_eq!(world.events, ["SuccessfulStartInPlaceUpdate", "FailedInPlaceUpdate"]);
}

#[test]
fn the_cluster_sets_limits_for_those_who_set_none() {
    let mut world = World::updating(None);
    let annotations = world.seen.cluster.metadata.annotations.get_or_insert_default();
    annotations.insert(UPDATE_RETRIES.to_owned(), "0".to_owned());
    world.updater = |_| Err("no disk".to_owned());
    world.settle();
    assert_eq!(world.condition(FAILED), "True RetriesExhausted: update.firmware: no disk");
}

#[test]
fn limits_that_cannot_be_read_are_no_reason_to_give_up() {
    let mut world = World::updating(None);
    world.policy(UPDATE_RETRIES, "many");
    world.updater = |_| Err("no disk".to_owned());
    world.settle();
    assert_eq!(world.condition(FAILED), "missing");
    assert!(decide(&world.seen).plan.waiting_on.iter().any(|it| it.to_string().contains("cannot be read")));
}

#[test]
fn an_extension_that_is_gone_does_not_outlast_the_timeout() {
    let mut world = World::updating(Some(&["can.firmware"]));
    world.policy(UPDATE_TIMEOUT, "90s");
    world.updater = |_| Ok(UpdateMachineResponse::in_progress("", RetryAfterSeconds::new(5).unwrap()));
    world.settle();
    world.seen.updaters = Updaters::Registered(Vec::new());
    world.later(90);
    world.settle();
    assert!(world.condition(FAILED).starts_with("True TimedOut: not done after 90s: waiting for extension"));
}

/// Lets the update fail until nobody tries again, for at most a day, and tells how often it was tried.
fn tries(world: &mut World) -> usize {
    for _ in 0..24 * 60 {
        world.settle();
        if world.annotation(UPDATE_FAILED).is_some() {
            break;
        }
        world.later(60);
    }
    world.calls.len()
}

#[test]
fn without_a_word_of_the_user_a_failing_update_is_tried_six_times() {
    let mut world = World::updating(Some(&["can.firmware"]));
    world.updater = |_| Ok(UpdateMachineResponse::failed("no disk"));
    assert_eq!(tries(&mut world), 6);
    assert_eq!(world.condition(FAILED), "True RetriesExhausted: update.firmware: no disk");
}

#[test]
fn an_extension_that_does_not_answer_gets_more_than_an_hour() {
    let mut world = World::updating(Some(&["can.firmware"]));
    world.updater = |_| Err("connection refused".to_owned());
    let began = world.seen.now;
    assert_eq!(tries(&mut world), 21);
    assert!(world.seen.now.duration_since(began) > jiff::SignedDuration::from_hours(1));
    let mut world = World::updating(Some(&["can.firmware"]));
    world.updater = |call| match call.attempts {
        0..10 => Err("connection refused".to_owned()),
        _ => Ok(UpdateMachineResponse::failed("no disk")),
    };
    assert_eq!(tries(&mut world), 16, "what it answers then has tries of its own");
}

#[test]
fn for_ever_is_a_choice() {
    let mut world = World::updating(Some(&["can.firmware"]));
    world.policy(UPDATE_RETRIES, "unlimited");
    world.updater = |_| Ok(UpdateMachineResponse::failed("no disk"));
    assert!(tries(&mut world) > 250, "every five minutes for a day");
    assert_eq!(world.condition(FAILED), "missing");
}

/// Whoever reads that a try is over may give the machine another target: not while somebody is asked.
#[test]
fn a_try_is_over_after_the_answer_and_until_the_next_one_begins() {
    let is_over = |world: &World| crate::fleet::is_update_over(&world.seen.machine);
    let mut world = World::updating(Some(&["can.firmware"]));
    world.updater = |_| Ok(UpdateMachineResponse::failed("no disk"));
    assert!(!is_over(&world));
    world.settle();
    assert!(is_over(&world));
    world.later(1);
    let first = decide(&world.seen);
    assert_eq!(first.errand, None, "it is written first that somebody is asked");
    world.round();
    assert!(!is_over(&world));
    assert!(decide(&world.seen).errand.is_some());
    world.updater = |_| Err("connection refused".to_owned());
    world.settle();
    assert!(!is_over(&world), "nobody knows what an extension does that does not answer");
}

#[test]
fn the_time_of_an_update_counts_from_the_hand_over() {
    let mut world = World::updating(Some(&["can.firmware"]));
    let progress = progress::Progress::handed_over(Some(hash("q")), world.seen.now);
    world.annotate(UPDATE_PROGRESS, &progress.encode().unwrap());
    world.seen.updaters = Updaters::Registered(Vec::new());
    world.settle();
    world.later(600);
    world.settle();
    assert!(world.calls.is_empty(), "nobody was ever asked");
    world.policy(UPDATE_TIMEOUT, "90s");
    world.settle();
    assert!(world.condition(FAILED).starts_with("True TimedOut: not done after 90s"), "{}", world.condition(FAILED));
    world.seen.machine.metadata.annotations.as_mut().unwrap().remove(UPDATE_FAILED);
    world.settle();
    assert_eq!(world.condition(FAILED), "False NotFailed", "another try has all of its time");
}

/// `retryAfterSeconds: 2147483647` comes from outside.
#[test]
fn an_extension_that_wants_to_be_left_alone_for_ever_is_asked_again_after_ten_minutes() {
    let mut world = World::updating(Some(&["can.firmware"]));
    world.updater = |_| Ok(UpdateMachineResponse::in_progress("", RetryAfterSeconds::new(i32::MAX).unwrap()));
    world.settle();
    world.later(599);
    world.settle();
    assert_eq!(world.calls.len(), 1);
    world.later(1);
    world.settle();
    assert_eq!(world.calls.len(), 2);
}

#[test]
fn whoever_touches_the_machine_or_wants_something_else_is_heard_within_seconds() {
    let touches: [fn(&mut World); 3] = [
        |world| world.annotate("touched", "now"),
        |world| world.policy(UPDATE_RETRIES, "3"),
        |world| world.seen.machine_deployment.as_mut().unwrap().spec.template.spec.version = Some("v1.99.0".to_owned()),
    ];
    for touch in touches {
        let mut world = World::updating(Some(&["can.firmware"]));
        world.updater = |_| Ok(UpdateMachineResponse::in_progress("", RetryAfterSeconds::new(i32::MAX).unwrap()));
        world.settle();
        touch(&mut world);
        assert_eq!(decide(&world.seen).plan.requeue_after, Some(std::time::Duration::from_secs(5)));
        world.later(5);
        world.settle();
        assert_eq!(world.calls.len(), 2);
        world.later(300);
        world.settle();
        assert_eq!(world.calls.len(), 2, "once is enough");
    }
}
