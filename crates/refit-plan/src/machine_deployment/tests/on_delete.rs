//! The strategy OnDelete.

use super::*;

#[test]
fn old_machines_stay_until_they_are_deleted() {
    on_delete(3).new_set("ms2 0/0").uncovered("ms1 3/3").check("ms1 3, ms2 0");
}

#[test]
fn a_replica_without_a_machine_goes_over_to_the_new_machine_set() {
    on_delete(3).new_set("ms2 0/0").uncovered("ms1 3/2").check("ms1 2, ms2 0");
    on_delete(3).new_set("ms2 0/0").uncovered("ms1 2/2").check("ms1 2, ms2 1");
}

#[test]
fn old_machine_sets_create_no_machines() {
    let plan = on_delete(3).new_set("ms2 0/0").uncovered("ms1 3/3").plan();
    assert!(plan["ms1"].disable_machine_create && !plan["ms2"].disable_machine_create);
    let plan = rolling(3, 1, 0).new_set("ms2 0/0").uncovered("ms1 3/3").plan();
    assert!(!plan["ms1"].disable_machine_create);
}

#[test]
fn the_oldest_shrink_when_fewer_are_wanted() {
    on_delete(3).new_set("ms3 1/1").uncovered("ms2 2/2").uncovered("ms1 2/2").check("ms1 0, ms2 2, ms3 1");
    on_delete(1).new_set("ms2 3/3").uncovered("ms1 1/1").check("ms1 0, ms2 1");
}

#[test]
fn both_reductions_of_one_machine_set_add_up() {
    // One replica has no machine, and two more are not wanted.
    let setup = on_delete(1).new_set("ms2 0/0").uncovered("ms1 4/3");
    setup.check("ms1 1, ms2 0");
    // Upstream counts the second time from where it began; its sequence can be asked for.
    let upstream = setup.with(|deployment| deployment.keep_originals = false);
    upstream.check("ms1 2, ms2 0");
}
