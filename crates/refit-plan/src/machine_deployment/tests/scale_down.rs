//! Steps C and E.

use super::*;

#[test]
fn old_machine_sets_shrink_as_machines_become_available() {
    let cases = [
        // Nothing is spare.
        (rolling(3, 1, 0).new_set("ms2 1/0").uncovered("ms1 3/3"), "ms1 3, ms2 1"),
        (rolling(3, 1, 0).new_set("ms2 1/1").uncovered("ms1 3/3"), "ms1 2, ms2 1"),
        (rolling(3, 0, 2).new_set("ms2 0/0").uncovered("ms1 3/3"), "ms1 1, ms2 0"),
        // One is on its way out already.
        (rolling(3, 1, 0).new_set("ms2 1/1").uncovered("ms1 2/3"), "ms1 2, ms2 1"),
        // The new ones are not available: the rollout slows down.
        (rolling(3, 1, 1).new_set("ms2 1/1 available 0").uncovered("ms1 3/3"), "ms1 2, ms2 1"),
        (rolling(3, 2, 1).new_set("ms2 2/2 available 0").uncovered("ms1 3/3"), "ms1 2, ms2 2"),
        (rolling(3, 2, 0).new_set("ms2 2/2 available 0").uncovered("ms1 3/3"), "ms1 3, ms2 2"),
    ];
    cases.iter().for_each(|(setup, expected)| setup.check(expected));
}

#[test]
fn unavailable_replicas_go_first_and_then_the_oldest() {
    let setup = rolling(6, 0, 2).new_set("ms3 0/0").uncovered("ms1 3/3").uncovered("ms2 3/3 available 2");
    setup.check("ms1 3, ms2 2, ms3 0");
    let setup = rolling(6, 0, 3).new_set("ms3 0/0").uncovered("ms2 3/3").uncovered("ms1 3/3");
    setup.check("ms1 0, ms2 3, ms3 0");
}

#[test]
fn every_machine_that_goes_counts_as_an_available_one() {
    // 4 of 5 old ones are available and 3 must be: one may go, though two are beyond the number.
    rolling(4, 1, 1).new_set("ms2 0/0").uncovered("ms1 5/5 available 4").check("ms1 4, ms2 0");
    // None of ms1 is available, so nothing is lost with it.
    let setup = rolling(3, 2, 0).new_set("ms3 0/0").uncovered("ms1 2/2 available 0").uncovered("ms2 3/3");
    setup.check("ms1 0, ms2 3, ms3 0");
}

#[test]
fn a_replica_without_a_machine_goes_for_nothing() {
    rolling(3, 1, 0).new_set("ms2 1/1 available 1").uncovered("ms1 3/2").check("ms1 2, ms2 1");
}

#[test]
fn a_rollout_that_is_stuck_on_an_unavailable_machine_gives_one_up() {
    let stuck = rolling(3, 1, 0).new_set("ms2 1/1").uncovered("ms1 3/3 available 2");
    stuck.check("ms1 2, ms2 1");
}

#[test]
fn what_is_not_stuck_is_left_alone() {
    let cases = [
        // New machines may still become available.
        (rolling(3, 1, 0).new_set("ms2 1/1 available 0").uncovered("ms1 3/3 available 2"), "ms1 3, ms2 1"),
        // Machines are on their way.
        (rolling(3, 1, 0).new_set("ms2 1/0").uncovered("ms1 3/3 available 2"), "ms1 3, ms2 1"),
        // Another machine comes in this pass.
        (rolling(3, 2, 0).new_set("ms2 1/1").uncovered("ms1 3/3 available 2"), "ms1 3, ms2 2"),
    ];
    cases.iter().for_each(|(setup, expected)| setup.check(expected));
}

#[test]
fn the_oldest_with_an_unavailable_machine_is_given_up() {
    let setup = rolling(4, 1, 0)
        .new_set("ms4 1/1")
        .uncovered("ms3 2/2 available 1")
        .uncovered("ms1 1/1")
        .uncovered("ms2 1/1 available 0");
    setup.check("ms1 1, ms2 0, ms3 2, ms4 1");
}

/// The failed one is of the new MachineSet, and those of old ones would go first.
#[test]
fn a_user_who_wants_fewer_machines_loses_those_whose_update_failed() {
    let setup = |replicas: i32| {
        let setup = rolling(replicas, 0, 1).with(|deployment| deployment.in_place = InPlacePolicy::Require);
        let setup = setup.new_set("ms2 1/1 available 0").covered("ms1 2/2");
        setup.machines("ms2", "m1#").machines("ms1", "m2 m3").wanted_before(3)
    };
    setup(2).check("ms1 2, ms2 0");
    setup(1).check("ms1 1, ms2 0");
    assert_eq!(setup(2).plan()["ms2"].handover.scaled_down, 1, "it is the user who has taken it back");
    assert_eq!(setup(2).plan()["ms1"].handover.scaled_down, 0);
}
