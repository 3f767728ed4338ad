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
