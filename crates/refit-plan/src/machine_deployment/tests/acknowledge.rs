//! Step A.

use super::*;

fn moving() -> Setup {
    rolling(2, 0, 1)
        .new_set("ms2 0/0")
        .covered("ms1 2/2")
        .handover("ms1", |handover| handover.move_to = Some("ms2".to_owned()))
        .handover("ms2", |handover| handover.receive_from = NameSet::parse("ms1"))
}

#[track_caller]
fn check_acknowledged(setup: &Setup, replicas: i32, names: &str) {
    let new = &setup.plan()["ms2"];
    assert_eq!((new.replicas, new.handover.acknowledged.to_string().as_str()), (replicas, names));
}

#[test]
fn a_moved_machine_is_counted_and_named() {
    check_acknowledged(&moving().machines("ms2", "m1!").machines("ms1", "m2 m3"), 1, "m1");
    check_acknowledged(&moving().machines("ms2", "m2! m1!").machines("ms1", "m3"), 2, "m1,m2");
}

#[test]
fn a_machine_that_is_named_already_is_not_counted_again() {
    let named = |names: &str| {
        let names = NameSet::parse(names);
        moving().machines("ms2", "m1! m2!").handover("ms2", |handover| handover.acknowledged = names)
    };
    check_acknowledged(&named("m1"), 1, "m1,m2");
    check_acknowledged(&named("m1,m2"), 0, "m1,m2");
}

#[test]
fn names_go_when_the_mark_is_gone() {
    let setup =
        moving().machines("ms2", "m1*").handover("ms2", |handover| handover.acknowledged = NameSet::parse("m1"));
    check_acknowledged(&setup, 0, "");
}

#[test]
fn machines_of_other_machine_sets_are_not_counted() {
    check_acknowledged(&moving().machines("ms1", "m1! m2"), 0, "");
}

#[test]
fn a_machine_set_receives_while_one_of_its_machines_is_pending() {
    let full = rolling(1, 0, 1)
        .new_set("ms2 0/0")
        .covered("ms1 0/0")
        .handover("ms2", |handover| handover.receive_from = NameSet::parse("ms1"));
    let pending = full.clone().machines("ms2", "m1!");
    assert_eq!(pending.plan()["ms2"].handover.receive_from.to_string(), "ms1");
    assert!(!full.plan()["ms2"].handover.receives());
}

/// All may be unavailable at once, and their names have no room in the annotations of one object.
#[test]
fn machines_change_hands_in_batches() {
    use crate::machine_deployment::in_place::MAX_MOVING;
    let fleet = |moved: usize, is_pending: bool, ordered: &str| {
        let names = |range: std::ops::Range<usize>, mark: &str| {
            range.map(|number| format!("m{number}{mark}")).collect::<Vec<_>>().join(" ")
        };
        let setup = rolling(30_000, 0, 30_000).with(|deployment| deployment.in_place = InPlacePolicy::Require);
        let counted = if is_pending { 0 } else { moved };
        let setup = setup.new_set(&format!("ms2 {counted}/{counted}")).covered(ordered);
        let setup = setup.machines("ms2", &names(0..moved, if is_pending { "!" } else { "" }));
        setup.machines("ms1", &names(moved..30_000, "")).wanted_before(30_000)
    };
    let replicas = |setup: Setup| setup.plan()["ms1"].replicas;
    assert_eq!(replicas(fleet(0, false, "ms1 30000/30000")), 29_500);
    assert_eq!(replicas(fleet(300, true, "ms1 29500/29700")), 29_500, "the same order, as far as it is carried out");
    assert_eq!(replicas(fleet(500, true, "ms1 29500/29500")), 29_500, "they are not counted yet");
    assert_eq!(replicas(fleet(500, false, "ms1 29500/29500")), 29_000);
    assert_eq!(replicas(fleet(0, false, "ms1 100/30000")), 100, "an order of before is not taken back by this");
    // Less than half of what an object has room for.
    const { assert!(MAX_MOVING * 254 < 128 * 1024) };
}
