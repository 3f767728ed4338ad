//! Keep-originals and `Require`.

use refit_api::name_set::NameSet;

use super::*;
use crate::handover::Scaffolding;
use crate::waiting::WaitingOn;

fn keeping(replicas: i32, max_surge: i32, max_unavailable: i32) -> Setup {
    rolling(replicas, max_surge, max_unavailable).with(|deployment| deployment.keep_originals = true)
}

fn scaffolding(setup: &Setup, set: &str) -> Option<Scaffolding> {
    setup.plan()[set].handover.scaffolding.clone()
}

fn one_unavailable() -> Strategy {
    Strategy::RollingUpdate(Fenceposts { max_surge: 1, max_unavailable: 1 })
}

fn named(name: &str) -> Option<Scaffolding> {
    Some(Scaffolding::Machine(name.to_owned()))
}

/// Three machines, one of which has moved and is done, with m4 as scaffolding.
fn halfway() -> Setup {
    keeping(3, 1, 0)
        .new_set("ms2 2/2")
        .machines("ms2", "m1 m4")
        .handover("ms2", |handover| handover.scaffolding = named("m4"))
        .covered("ms1 2/2")
        .machines("ms1", "m2 m3")
}

#[test]
fn scaffolding_is_put_up_when_nothing_moves_without() {
    let setup = keeping(3, 5, 0).new_set("ms2 0/0").covered("ms1 3/3").machines("ms1", "m1 m2 m3");
    setup.check("ms1 3, ms2 1");
    assert_eq!(scaffolding(&setup, "ms2"), Some(Scaffolding::Requested));
}

#[test]
fn no_scaffolding_is_put_up_where_machines_may_be_unavailable() {
    let setup = keeping(3, 1, 1).new_set("ms2 0/0").covered("ms1 3/3").machines("ms1", "m1 m2 m3");
    setup.check("ms1 2, ms2 0");
    assert_eq!(scaffolding(&setup, "ms2"), None);
}

#[test]
fn scaffolding_gets_its_name_when_it_exists() {
    let requested = |text: &str, machines: &str| {
        keeping(3, 1, 0)
            .new_set(text)
            .machines("ms2", machines)
            .handover("ms2", |handover| handover.scaffolding = Some(Scaffolding::Requested))
            .covered("ms1 3/3")
            .machines("ms1", "m1 m2 m3")
    };
    assert_eq!(scaffolding(&requested("ms2 1/0", ""), "ms2"), Some(Scaffolding::Requested));
    assert_eq!(scaffolding(&requested("ms2 1/1", "m4+"), "ms2"), named("m4"));
    assert_eq!(scaffolding(&requested("ms2 1/1", "m4"), "ms2"), None, "nothing says that m4 is it");
}

#[test]
fn moves_go_on_until_no_original_is_left() {
    halfway().check("ms1 1, ms2 2");
    let last = keeping(3, 1, 0)
        .new_set("ms2 3/3")
        .machines("ms2", "m1 m2 m4")
        .handover("ms2", |handover| handover.scaffolding = named("m4"))
        .covered("ms1 1/1")
        .machines("ms1", "m3");
    last.check("ms1 0, ms2 3");
    last.check_moves("ms1");
}

#[test]
fn scaffolding_goes_when_all_originals_are_updated() {
    let done = |machines: &str, text: &str| {
        keeping(3, 1, 0)
            .new_set(text)
            .machines("ms2", machines)
            .handover("ms2", |handover| handover.scaffolding = named("m4"))
            .covered("ms1 0/0")
    };
    done("m1 m2 m3* m4", "ms2 4/4 available 3").check("ms1 0, ms2 4");
    let last = done("m1 m2 m3 m4", "ms2 4/4");
    last.check("ms1 0, ms2 3");
    assert_eq!(scaffolding(&last, "ms2"), named("m4"), "its MachineSet must know which one goes");
    // It goes, and is still there.
    let leaving = done("m1 m2 m3 m4", "ms2 3/4");
    leaving.check("ms1 0, ms2 3");
    assert_eq!(scaffolding(&leaving, "ms2"), named("m4"));
    assert_eq!(scaffolding(&done("m1 m2 m3", "ms2 3/3"), "ms2"), None);
}

#[test]
fn scaffolding_is_a_machine_like_others_when_the_user_wants_more() {
    let more = halfway().with(|deployment| (deployment.replicas, deployment.strategy) = (4, one_unavailable()));
    more.check("ms1 1, ms2 2");
    assert_eq!(scaffolding(&more, "ms2"), None);
    // Where none may be unavailable, another one stands in.
    let another = halfway().with(|deployment| deployment.replicas = 4);
    another.check("ms1 2, ms2 3");
    assert_eq!(scaffolding(&another, "ms2"), Some(Scaffolding::Requested));
    halfway().with(|deployment| deployment.replicas = 6).check("ms1 2, ms2 4");
}

#[test]
fn outdated_machines_go_first_when_the_user_wants_fewer() {
    let fewer = halfway().with(|deployment| deployment.replicas = 2);
    fewer.check("ms1 1, ms2 2");
    fewer.check_moves("");
    assert_eq!(scaffolding(&fewer, "ms2"), named("m4"));
}

#[test]
fn scaffolding_stays_what_it_is_when_the_template_changes() {
    let overtaken = keeping(3, 1, 0)
        .new_set("ms3 0/0")
        .covered("ms1 2/2")
        .machines("ms1", "m2 m3")
        .covered("ms2 2/2")
        .machines("ms2", "m1 m4")
        .handover("ms2", |handover| handover.scaffolding = named("m4"));
    overtaken.check("ms1 1, ms2 2, ms3 0");
    assert_eq!(scaffolding(&overtaken, "ms2"), named("m4"));
}

#[test]
fn scaffolding_that_the_user_deletes_is_made_again() {
    let setup = keeping(3, 1, 0)
        .new_set("ms2 2/2")
        .machines("ms2", "m1 m5+")
        .handover("ms2", |handover| handover.scaffolding = named("m4"))
        .covered("ms1 2/2")
        .machines("ms1", "m2 m3");
    assert_eq!(scaffolding(&setup, "ms2"), named("m5"));
    setup.check("ms1 1, ms2 2");
}

#[test]
fn machines_that_are_not_covered_follow_in_upstreams_sequence() {
    let setup = keeping(4, 1, 0).new_set("ms3 0/0").uncovered("ms1 2/2").machines("ms1", "m1 m2");
    let both = setup.clone().covered("ms2 2/2").machines("ms2", "m3 m4");
    assert_eq!(scaffolding(&both, "ms3"), Some(Scaffolding::Requested));
    let rest = setup.covered("ms2 0/0");
    rest.check("ms1 2, ms2 0, ms3 3");
    assert_eq!(scaffolding(&rest, "ms3"), None);
}

#[test]
fn under_require_an_uncovered_machine_set_is_left_alone() {
    let require = |replicas| {
        let setup = keeping(replicas, 2, 1).with(|deployment| deployment.in_place = InPlacePolicy::Require);
        setup.uncovered("ms1 3/3").machines("ms1", "m1 m2 m3")
    };
    require(3).new_set("ms2 0/0").check("ms1 3, ms2 0");
    require(5).new_set("ms2 0/0").check("ms1 3, ms2 2");
    require(2).new_set("ms2 0/0").check("ms1 2, ms2 0");
    require(4).new_set("ms2 2/2").machines("ms2", "m4 m5").check("ms1 2, ms2 2");
}

#[test]
fn under_require_a_surge_machine_is_scaffolding_whatever_keep_originals_says() {
    for keep in [true, false] {
        let setup = rolling(3, 1, 0)
            .with(|deployment| (deployment.in_place, deployment.keep_originals) = (InPlacePolicy::Require, keep))
            .new_set("ms2 0/0")
            .covered("ms1 3/3")
            .machines("ms1", "m1 m2 m3");
        setup.check("ms1 3, ms2 1");
        assert_eq!(scaffolding(&setup, "ms2"), Some(Scaffolding::Requested));
    }
}

#[test]
fn failed_updates_use_up_the_budget() {
    let failed = |count: usize| {
        let names: Vec<String> = (1..=count).map(|number| format!("m{number}*")).collect();
        let text = format!("ms2 {count}/{count} available 0");
        let mut setup = keeping(10, 0, 2).new_set(&text).machines("ms2", &names.join(" "));
        setup.0.machines.iter_mut().for_each(|machine| machine.update_failed = true);
        let rest: Vec<String> = (count + 1..=10).map(|number| format!("m{number}")).collect();
        setup.covered(&format!("ms1 {0}/{0}", rest.len())).machines("ms1", &rest.join(" "))
    };
    failed(1).check("ms1 8, ms2 1");
    failed(2).check("ms1 8, ms2 2");
}

/// It is unavailable already, so that it goes before all others and costs nothing.
#[test]
fn a_machine_whose_update_failed_moves_when_something_else_is_wanted() {
    let setup = rolling(3, 0, 1).with(|deployment| deployment.keep_originals = true);
    let setup = setup.new_set("ms3 0/0").covered("ms2 1/1 available 0").machines("ms2", "m1#");
    let setup = setup.covered("ms1 2/2").machines("ms1", "m2 m3");
    setup.check("ms1 2, ms2 0, ms3 0");
    assert_eq!(setup.plan()["ms2"].handover.move_to.as_deref(), Some("ms3"));
}

#[test]
fn a_machine_whose_update_failed_stays_while_the_same_is_wanted() {
    let setup = rolling(3, 0, 1).with(|deployment| deployment.keep_originals = true);
    let setup = setup.new_set("ms2 1/1 available 0").machines("ms2", "m1#");
    setup.covered("ms1 2/2").machines("ms1", "m2 m3").check("ms1 2, ms2 1");
}

/// Nobody has taken a machine back, and no machine says that a rollout made it: whichever goes may be the wrong one.
#[test]
fn a_machine_that_nobody_can_explain_costs_no_other() {
    let four = |before: i32| {
        let setup = keeping(3, 1, 1).new_set("ms2 1/1").machines("ms2", "m4");
        setup.covered("ms1 3/3").machines("ms1", "m1 m2 m3").wanted_before(before)
    };
    let unexplained = four(3);
    unexplained.check("ms1 1, ms2 1");
    unexplained.check_moves("ms1");
    let waiting = plan(&unexplained.0).waiting_on;
    assert!(waiting.contains(&WaitingOn::Surplus { machines: 4, wanted: 3 }), "{waiting:?}");
    // The user wanted four, and has taken one back.
    let scaled_down = four(4);
    scaled_down.check("ms1 2, ms2 1");
    scaled_down.check_moves("");
    assert_eq!(scaled_down.plan()["ms1"].handover.scaled_down, 1);
    // The order stands until it is carried out, also when others say by now how many are wanted.
    let ordered = four(3).handover("ms1", |handover| handover.scaled_down = 1);
    ordered.check_moves("");
    assert_eq!(ordered.plan()["ms1"].handover.scaled_down, 1);
}

/// A rollout that replaces machines marks what it makes, so that it is known what to give up when originals are to stay.
#[test]
fn what_a_replacing_rollout_makes_is_marked_and_then_wanted() {
    let setup = |machines: &str, old: &str| {
        let setup = rolling(3, 1, 0).with(|deployment| deployment.in_place = InPlacePolicy::Never);
        let count = machines.split_whitespace().count();
        let setup = setup.new_set(&format!("ms2 {count}/{count}")).machines("ms2", machines);
        let count = old.split_whitespace().count();
        setup.uncovered(&format!("ms1 {count}/{count}")).machines("ms1", old)
    };
    let first = setup("", "m1 m2 m3");
    first.check("ms1 3, ms2 1");
    assert!(first.plan()["ms2"].handover.surge);
    assert_eq!(plan(&setup("m4+", "m2 m3").0).wanted, ["m4"], "one of those wanted by now");
    assert_eq!(plan(&setup("m4+", "m1 m2 m3").0).wanted, [""; 0]);
    let changed = setup("m4+ m5+", "m2 m3").with(|deployment| deployment.in_place = InPlacePolicy::Require);
    // Nothing that was there first moves, and the one that is too many goes.
    changed.check("ms1 2, ms2 1");
    assert_eq!(scaffolding(&changed, "ms2"), named("m5"));
}

/// Whoever replaces the machine does not make room for the next update that fails.
#[test]
fn a_failure_on_record_stops_the_rollout_although_its_machine_is_gone() {
    let check = |policy: InPlacePolicy, keep: bool, limits: (i32, i32), lost: &str, expected: &str| {
        let setup = rolling(4, limits.0, limits.1).with(|deployment| {
            deployment.in_place = policy;
            deployment.keep_originals = keep;
        });
        let setup = setup.new_set("ms2 1/1").machines("ms2", "m9");
        let mut setup = setup.covered("ms1 3/3").machines("ms1", "m2 m3 m4");
        setup.0.new.as_mut().unwrap().failed_updates = NameSet::parse(lost);
        setup.check(expected);
        let is_told = |it: &WaitingOn| matches!(it, WaitingOn::FailuresOnRecord { .. }) && it.is_blocked();
        assert_eq!(plan(&setup.0).waiting_on.iter().any(is_told), expected == "ms1 3, ms2 1", "{policy} {lost}");
    };
    use InPlacePolicy::{Prefer, Require};
    for (policy, keep) in [(Require, true), (Prefer, true), (Prefer, false)] {
        check(policy, keep, (0, 1), "", "ms1 2, ms2 1");
        check(policy, keep, (0, 1), "m1", "ms1 3, ms2 1");
        check(policy, keep, (0, 1), "m9", "ms1 2, ms2 1");
        check(policy, keep, (0, 2), "m1", "ms1 2, ms2 1");
        check(policy, keep, (0, 2), "m0,m1", "ms1 3, ms2 1");
    }
    check(Require, true, (1, 0), "", "ms1 3, ms2 2");
    check(Require, true, (1, 0), "m1", "ms1 3, ms2 1");
}
