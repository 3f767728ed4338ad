//! Step B.

use super::*;

#[test]
fn the_new_machine_set_is_cut_down_to_what_is_wanted() {
    rolling(2, 3, 0).new_set("ms2 5/5").check("ms2 2");
}

#[test]
fn nothing_is_done_when_it_has_what_is_wanted() {
    rolling(2, 3, 0).new_set("ms2 2/1").check("ms2 2");
}

#[test]
fn it_grows_as_far_as_surge_allows() {
    let cases = [
        (rolling(3, 1, 0).new_set("ms2 0/0").uncovered("ms1 3/3"), "ms1 3, ms2 1"),
        (rolling(3, 3, 0).new_set("ms2 0/0").uncovered("ms1 3/3"), "ms1 3, ms2 3"),
        (rolling(3, 0, 1).new_set("ms2 0/0").uncovered("ms1 3/3"), "ms1 2, ms2 0"),
        (rolling(3, 10, 0).new_set("ms2 0/0").uncovered("ms1 3/3"), "ms1 3, ms2 3"),
        // What exists counts, and so does what is to exist.
        (rolling(3, 1, 0).new_set("ms2 0/0").uncovered("ms1 2/3"), "ms1 2, ms2 1"),
        (rolling(3, 1, 0).new_set("ms2 1/0").uncovered("ms1 3/3"), "ms1 3, ms2 1"),
    ];
    cases.iter().for_each(|(setup, expected)| setup.check(expected));
}
