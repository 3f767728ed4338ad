//! What upstream does wrong in the middle of moves. Each of these fails on upstream's behaviour.

use super::*;
use crate::handover::Scaffolding;

/// ms1 has given m1 to ms2 and is to give m2 as well; nobody has counted m1 yet.
fn in_the_middle(keep_originals: bool) -> Setup {
    rolling(3, 0, 2)
        .new_set("ms2 0/0")
        .machines("ms2", "m1!")
        .handover("ms2", |handover| handover.receive_from = NameSet::parse("ms1"))
        .covered("ms1 1/3")
        .machines("ms1", "m2 m3")
        .handover("ms1", |handover| handover.move_to = Some("ms2".to_owned()))
        .with(|deployment| deployment.keep_originals = keep_originals)
}

#[track_caller]
fn check_nothing_is_lost(setup: &Setup) {
    // ms1 neither gives away nor deletes what it has: nobody takes from it. ms2 counts what has arrived, and what may
    // still arrive.
    setup.check("ms1 1, ms2 1");
    let plan = setup.plan();
    assert_eq!(plan["ms1"].handover.move_to.as_deref(), Some("ms2"));
    let new = &plan["ms2"].handover;
    assert_eq!((new.acknowledged.to_string().as_str(), new.receive_from.to_string().as_str()), ("m1", "ms2"));
}

#[test]
fn pausing_in_the_middle_of_a_move_loses_no_machine() {
    for keep in [true, false] {
        check_nothing_is_lost(&in_the_middle(keep).with(|deployment| deployment.paused = true));
    }
}

#[test]
fn switching_to_on_delete_in_the_middle_of_a_move_loses_no_machine() {
    for keep in [true, false] {
        check_nothing_is_lost(&in_the_middle(keep).with(|deployment| deployment.strategy = Strategy::OnDelete));
    }
}

#[test]
fn receive_is_not_dropped_while_a_moved_machine_is_unacknowledged() {
    // The old MachineSet is empty and the new one full: upstream stops receiving in this very pass.
    for keep in [true, false] {
        let setup = rolling(1, 0, 1)
            .new_set("ms2 0/0")
            .machines("ms2", "m1!")
            .handover("ms2", |handover| handover.receive_from = NameSet::parse("ms1"))
            .covered("ms1 0/0")
            .with(|deployment| deployment.keep_originals = keep);
        assert!(setup.plan()["ms2"].handover.receives());
    }
}

#[test]
fn a_machine_on_its_way_is_counted_when_the_template_changes() {
    let setup = rolling(3, 0, 1)
        .with(|deployment| deployment.keep_originals = true)
        .new_set("ms3 0/0")
        .covered("ms2 0/0")
        .machines("ms2", "m1!")
        .covered("ms1 2/2")
        .machines("ms1", "m2 m3");
    assert_eq!(setup.plan()["ms2"].handover.acknowledged.to_string(), "m1");
    // It moves on when its update is done. Upstream deletes it, as the counters of ms2 do not have it yet.
    setup.check_moves("ms1,ms2");
}

#[test]
fn an_extension_that_does_not_answer_blocks_no_scaling() {
    let undecided = |replicas| {
        let setup = rolling(replicas, 1, 0).new_set("ms2 0/0").undecided("ms1 3/3").machines("ms1", "m1 m2 m3");
        [setup.clone(), setup.with(|deployment| deployment.keep_originals = true)]
    };
    undecided(5).iter().for_each(|setup| setup.check("ms1 3, ms2 2"));
    undecided(2).iter().for_each(|setup| setup.check("ms1 2, ms2 0"));
    undecided(3).iter().for_each(|setup| setup.check("ms1 3, ms2 0"));
}

#[test]
fn a_template_that_cannot_be_read_in_the_middle_of_a_move_deletes_nothing() {
    let undecided = Coverage::Undecided { why: "the template of ms1 is gone".to_owned() };
    for keep in [true, false] {
        let mut setup = in_the_middle(keep);
        setup.0.old[0].coverage = undecided.clone();
        setup.check("ms1 2, ms2 1");
    }
}

/// Found by the model checker: ms1 has decided to move m2 when the user pauses, and writes it afterwards.
#[test]
fn a_move_that_arrives_after_the_pause_is_counted() {
    let setup = rolling(3, 0, 1)
        .new_set("ms2 1/1")
        .machines("ms2", "m1 m2!")
        .handover("ms2", |handover| handover.receive_from = NameSet::parse("ms2"))
        .covered("ms1 1/2")
        .machines("ms1", "m3")
        .handover("ms1", |handover| handover.move_to = Some("ms2".to_owned()))
        .with(|deployment| deployment.paused = true);
    for keep in [true, false] {
        let setup = setup.clone().with(|deployment| deployment.keep_originals = keep);
        setup.check("ms1 1, ms2 2");
        assert!(setup.plan()["ms2"].handover.receives());
    }
}

/// Found by the model checker: without its mark the surge machine is one of many after the pause, and an original goes.
#[test]
fn scaffolding_survives_a_pause() {
    let scaffolding = Some(Scaffolding::Machine("m4".to_owned()));
    let setup = rolling(3, 1, 0)
        .new_set("ms2 2/2")
        .machines("ms2", "m1 m4")
        .handover("ms2", |handover| handover.scaffolding = scaffolding.clone())
        .covered("ms1 1/2")
        .machines("ms1", "m2 m3")
        .handover("ms1", |handover| handover.move_to = Some("ms2".to_owned()))
        .with(|deployment| (deployment.keep_originals, deployment.paused) = (true, true));
    setup.check("ms1 1, ms2 2");
    assert_eq!(setup.plan()["ms2"].handover.scaffolding, scaffolding);
}

/// Found by the model checker: told to keep a machine that is on its way out already, ms1 would replace it.
#[test]
fn machine_sets_that_give_machines_away_create_none() {
    let setup = rolling(3, 0, 1)
        .with(|deployment| deployment.keep_originals = true)
        .new_set("ms2 1/1")
        .machines("ms2", "m1")
        .covered("ms1 2/2")
        .machines("ms1", "m2");
    let plan = setup.plan();
    assert!(plan["ms1"].disable_machine_create && !plan["ms2"].disable_machine_create);
    setup.check("ms1 1, ms2 2");
}
