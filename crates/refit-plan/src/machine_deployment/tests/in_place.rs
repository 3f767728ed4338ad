//! Step D, in upstream's sequence.

use super::*;

#[test]
fn covered_machine_sets_give_their_machines_away() {
    let setup = rolling(6, 0, 1).new_set("ms4 0/0").covered("ms1 3/3").uncovered("ms2 3/3").covered("ms3 0/0");
    setup.check_moves("ms1");
}

#[test]
fn a_full_machine_set_receives_nothing() {
    rolling(3, 1, 0).new_set("ms2 3/3").covered("ms1 1/1").check_moves("");
    rolling(3, 1, 0).new_set("ms2 2/2").covered("ms1 2/2").check_moves("ms1");
}

#[test]
fn surge_is_one_machine_when_nothing_moves_without() {
    rolling(3, 3, 0).new_set("ms2 0/0").covered("ms1 3/3").check("ms1 3, ms2 1");
}

#[test]
fn surge_is_dropped_when_machines_move() {
    rolling(6, 1, 3).new_set("ms2 0/0").covered("ms1 6/6").check("ms1 3, ms2 0");
}

#[test]
fn surge_is_dropped_while_anything_is_on_its_way() {
    let quiet = || rolling(3, 2, 0).new_set("ms2 1/1").covered("ms1 2/2");
    quiet().check("ms1 2, ms2 2");
    let cases = [
        rolling(3, 2, 0).new_set("ms2 1/0").covered("ms1 2/2"),
        rolling(3, 2, 0).new_set("ms2 1/1 available 0").covered("ms1 2/2"),
        quiet().machines("ms2", "m1*"),
        rolling(3, 3, 0).new_set("ms2 1/1").covered("ms1 2/3"),
    ];
    cases.iter().for_each(|setup| setup.check("ms1 2, ms2 1"));
}

#[test]
fn growth_that_the_user_wants_is_kept() {
    // 3 of 6 are missing, and one more of surge is dropped.
    rolling(6, 1, 0).new_set("ms2 0/0").covered("ms1 3/3").check("ms1 3, ms2 3");
    // The user wants 12, and 3 old ones are there besides: surge is what goes beyond 12.
    rolling(12, 3, 1).new_set("ms2 3/3").covered("ms1 3/3").check("ms1 3, ms2 9");
}

#[test]
fn the_policy_never_moves_nothing() {
    let setup = rolling(3, 1, 0).new_set("ms2 0/0").covered("ms1 3/3");
    setup.with(|deployment| deployment.in_place = InPlacePolicy::Never).check_moves("");
}
