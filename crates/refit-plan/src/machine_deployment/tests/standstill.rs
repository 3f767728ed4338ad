//! Orders are taken back only where nothing is under way.

use super::*;

/// All MachineSets may be in the middle of something.
fn busy(mut setup: Setup) -> Setup {
    let old = setup.0.old.iter_mut().map(|old| &mut old.view);
    old.chain(&mut setup.0.new).for_each(|view| view.held = false);
    setup.with(|deployment| deployment.keep_originals = true)
}

/// Which MachineSets are put on hold.
fn held(setup: &Setup) -> String {
    let plan = setup.plan();
    plan.values().filter(|set| set.handover.hold.is_some()).map(|set| set.name.as_str()).collect::<Vec<_>>().join(" ")
}

/// ms1 was to give m3 to ms2, and is the wanted one again.
fn turned_round() -> Setup {
    rolling(3, 0, 1)
        .new_set("ms1 0/1")
        .machines("ms1", "m3")
        .handover("ms1", |handover| handover.move_to = Some("ms2".to_owned()))
        .covered("ms2 2/2")
        .machines("ms2", "m1 m2")
        .handover("ms2", |handover| handover.receive_from = NameSet::parse("ms1"))
}

#[test]
fn an_order_is_taken_back_in_two_steps() {
    let setup = busy(turned_round());
    setup.check("ms1 0, ms2 2");
    let planned = setup.plan();
    assert_eq!(held(&setup), "ms1 ms2");
    assert_eq!(planned["ms1"].handover.move_to.as_deref(), Some("ms2"), "what is under way is not touched");
    assert_eq!(planned["ms2"].handover.receive_from.to_string(), "ms1");
    let words = "waiting for ms1 and ms2 to stand still, as what is wanted has changed";
    assert_eq!(plan(&setup.0).waiting_on[0].to_string(), words);

    let still = turned_round().with(|deployment| deployment.keep_originals = true);
    assert_eq!(held(&still), "");
    still.check("ms1 1, ms2 1");
}

#[test]
fn what_arrives_on_hold_is_counted() {
    let setup = busy(turned_round()).machines("ms2", "m4!");
    setup.check("ms1 0, ms2 3");
    assert_eq!(setup.plan()["ms2"].handover.acknowledged.to_string(), "m4");
}

#[test]
fn a_hold_keeps_its_value_until_all_stand_still() {
    let mut setup = busy(turned_round()).handover("ms1", |handover| handover.hold = Some("0".to_owned()));
    setup.0.new.as_mut().unwrap().held = true;
    let plan = setup.plan();
    let value = |name: &str| plan[name].handover.hold.clone().unwrap();
    assert_eq!((value("ms1").as_str(), value("ms2").as_str()), ("0", "1"));
}

#[test]
fn orders_that_go_on_need_no_standstill() {
    let setup = rolling(3, 0, 1).new_set("ms2 0/0").covered("ms1 3/3").machines("ms1", "m1 m2 m3");
    let setup = busy(setup);
    setup.check("ms1 2, ms2 0");
    assert_eq!(held(&setup), "");
}

#[test]
fn machines_are_made_only_where_nobody_else_makes_them() {
    let missing = rolling(3, 0, 1).new_set("ms2 0/0").covered("ms1 3/2").machines("ms1", "m1 m2");
    assert_eq!(held(&busy(missing)), "ms1 ms2");
    let alone = busy(rolling(5, 0, 1).new_set("ms2 3/3").machines("ms2", "m1 m2 m3").covered("ms1 0/0"));
    assert_eq!(held(&alone), "");
    alone.check("ms1 0, ms2 5");
}

#[test]
fn upstreams_sequence_takes_orders_back_at_once() {
    let setup = busy(turned_round()).with(|deployment| deployment.keep_originals = false);
    assert_eq!(held(&setup), "");
}
