//! Why nothing moves.

use super::*;

#[track_caller]
fn check(setup: &Setup, expected: &[&str]) {
    let found: Vec<String> = plan(&setup.0).waiting_on.iter().map(ToString::to_string).collect();
    assert_eq!(found, expected);
}

fn require(setup: Setup) -> Setup {
    setup.with(|deployment| deployment.in_place = InPlacePolicy::Require)
}

#[test]
fn nothing_is_waited_for_when_machines_move_or_all_is_done() {
    check(&rolling(3, 0, 1).new_set("ms2 0/0").covered("ms1 3/3"), &[]);
    check(&rolling(3, 0, 1).new_set("ms2 3/3").covered("ms1 0/0"), &[]);
}

#[test]
fn a_blocked_machine_set_is_named_with_the_reason() {
    let setup = require(rolling(3, 1, 0)).new_set("ms2 0/0").uncovered("ms1 3/3");
    check(&setup, &["ms1 cannot be updated in place and must not be replaced: a file changes"]);
    let setup = rolling(3, 1, 0).new_set("ms2 0/0").undecided("ms1 3/3");
    check(&setup, &["it is not known yet whether ms1 can be updated in place: the extension is down"]);
}

#[test]
fn updates_are_named_and_failed_ones_apart() {
    let mut setup = rolling(3, 0, 1).new_set("ms2 1/1 available 0").covered("ms1 2/2").machines("ms2", "m1*");
    check(&setup, &["waiting for the update of machine m1"]);
    setup.0.machines[0].update_failed = true;
    check(&setup, &["the update of machine m1 failed for good and uses up the budget"]);
}

#[test]
fn availability_that_is_used_up_is_said_in_numbers() {
    let setup = rolling(3, 1, 0).new_set("ms2 1/1 available 0").uncovered("ms1 3/3");
    check(&setup, &["no more machines may be unavailable: 3 available, 3 required"]);
}

#[test]
fn the_user_is_told_to_delete_or_to_go_on() {
    check(&on_delete(3).new_set("ms2 0/0").uncovered("ms1 3/3"), &["machines of ms1 change when they are deleted"]);
    let paused = rolling(3, 1, 0).new_set("ms2 0/0").uncovered("ms1 3/3").with(|deployment| deployment.paused = true);
    check(&paused, &["paused"]);
}

#[test]
fn failed_updates_are_named_even_if_no_machine_is_left_to_wait() {
    let mut setup = rolling(1, 0, 1).new_set("ms2 1/1 available 0").covered("ms1 0/0").machines("ms2", "m1*");
    check(&setup, &[]);
    setup.0.machines[0].update_failed = true;
    check(&setup, &["the update of machine m1 failed for good and uses up the budget"]);
}
