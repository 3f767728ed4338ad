//! `spec.paused`, and a new MachineSet that cannot be made.

use super::*;

fn paused(replicas: i32, max_surge: i32) -> Setup {
    rolling(replicas, max_surge, 0).with(|deployment| deployment.paused = true)
}

#[test]
fn the_only_active_machine_set_is_scaled() {
    paused(5, 1).new_set("ms2 0/0").uncovered("ms1 3/3").check("ms1 5, ms2 0");
    paused(5, 1).new_set("ms2 0/0").uncovered("ms1 0/0").check("ms1 0, ms2 5");
}

#[test]
fn a_saturated_machine_set_takes_all() {
    paused(3, 1).new_set("ms2 3/3").uncovered("ms1 1/1").check("ms1 0, ms2 3");
    paused(3, 1).new_set("ms2 3/3 available 2").uncovered("ms1 1/1").check("ms1 1, ms2 3");
}

#[test]
fn several_are_scaled_in_proportion() {
    let mut setup = paused(20, 0).new_set("ms2 4/4").uncovered("ms1 6/6");
    setup.0.new.as_mut().unwrap().max_replicas = Some(10);
    setup.0.old[0].view.max_replicas = Some(10);
    setup.check("ms1 12, ms2 8");
    let mut setup = setup.with(|deployment| deployment.replicas = 5);
    setup.check("ms1 3, ms2 2");
    setup.0.deployment.replicas = 0;
    setup.check("ms1 0, ms2 0");
}

#[test]
fn what_rounding_leaves_goes_to_the_largest() {
    let mut setup = paused(5, 0).new_set("ms3 1/1").uncovered("ms2 1/1").uncovered("ms1 1/1");
    setup.check("ms1 1, ms2 2, ms3 2");
    setup.0.deployment.replicas = 2;
    setup.check("ms1 0, ms2 1, ms3 1");
}

#[test]
fn machines_are_scaled_without_a_machine_set_of_the_wanted_template() {
    let setup = rolling(5, 1, 0).uncovered("ms1 3/3").uncovered("ms2 0/0");
    setup.check("ms1 5, ms2 0");
    rolling(5, 1, 0).check("");
}
