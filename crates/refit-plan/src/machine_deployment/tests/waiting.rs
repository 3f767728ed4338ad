//! Why nothing moves.

use super::*;
use crate::waiting::WaitingOn;

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
    let way_out = "take the change back, or allow another policy by refit.dev/in-place";
    let why = format!("ms1 cannot be updated in place and must not be replaced: a file changes; {way_out}");
    check(&setup, &[&why]);
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

/// Whether others wait, move or are done: somebody has to act.
#[test]
fn an_extension_that_is_gone_is_named_with_the_ways_out() {
    let words = "the update of machine m1 waits for extension memory, which is not registered any more: register it again \
                 under this name, or change the template, forward or back, so that another extension changes spec.memory";
    let alone = rolling(1, 0, 1).new_set("ms2 1/1 available 0").covered("ms1 0/0").machines("ms2", "m1?");
    check(&alone, &[words]);
    let waiting = rolling(3, 0, 1).new_set("ms2 1/1 available 0").covered("ms1 2/2").machines("ms2", "m1?");
    check(&waiting, &[words, "waiting for the update of machine m1"]);
    let moving = rolling(3, 0, 2).new_set("ms2 1/1 available 0").covered("ms1 2/2").machines("ms2", "m1?");
    check(&moving, &[words]);
}

/// What it was to become is not wanted any more, so that it becomes something else: first, as it is unavailable already.
#[test]
fn a_machine_whose_extension_is_gone_takes_another_target() {
    let setup = require(rolling(2, 0, 1)).new_set("ms2 1/1").covered("ms1 1/1 available 0").machines("ms2", "m2");
    let setup = setup.machines("ms1", "m1?");
    let decided = plan(&setup.0);
    let old = decided.machine_sets.iter().find(|set| set.name == "ms1").expect("it must be planned");
    assert_eq!((old.replicas, old.handover.move_to.as_deref()), (0, Some("ms2")));
}

/// What is registered again ends that; what covers the change of the others is asked after it.
#[test]
fn an_extension_that_is_gone_is_told_first() {
    let begun = || require(rolling(3, 0, 1)).new_set("ms2 1/1 available 0").machines("ms2", "m1?");
    let withdrawn = Coverage::Withdrawn { why: "nobody covers it".to_owned() };
    for setup in [
        begun().uncovered("ms1 2/2").machines("ms1", "m2 m3"),
        begun().old("ms1 2/2", withdrawn).machines("ms1", "m2 m3"),
        begun().covered("ms1 2/2").machines("ms1", "m2% m3"),
    ] {
        let waiting = plan(&setup.0).waiting_on;
        assert!(waiting.len() > 1 && matches!(waiting[0], WaitingOn::ExtensionGone { .. }), "{waiting:?}");
        let silent = WaitingOn::NotAnswering { why: "another one does not answer".to_owned() };
        let all: Vec<WaitingOn> = [silent].into_iter().chain(waiting).collect();
        assert_eq!(crate::waiting::blocked(&all, |_| None).reason, "ExtensionGone");
    }
}
