//! Machines that the API server refuses to change: they stay, and the others move.

use super::*;
use crate::waiting::WaitingOn;

fn keeping(replicas: i32, max_surge: i32, max_unavailable: i32) -> Setup {
    rolling(replicas, max_surge, max_unavailable).with(|deployment| deployment.keep_originals = true)
}

fn required(replicas: i32, max_surge: i32, max_unavailable: i32) -> Setup {
    keeping(replicas, max_surge, max_unavailable).with(|deployment| deployment.in_place = InPlacePolicy::Require)
}

type Policy = fn(i32, i32, i32) -> Setup;
const POLICIES: [Policy; 3] = [rolling, keeping, required];

#[test]
fn one_odd_host_does_not_stop_the_others() {
    for policy in POLICIES {
        let setup = policy(3, 0, 1).new_set("ms2 0/0").covered("ms1 3/3").machines("ms1", "m1% m2 m3");
        setup.check("ms1 2, ms2 0");
        setup.check_moves("ms1");
    }
}

#[test]
fn a_machine_that_is_refused_is_neither_moved_nor_replaced() {
    for policy in POLICIES {
        for (surge, unavailable) in [(0, 1), (1, 0), (1, 1)] {
            let done = || policy(3, surge, unavailable).new_set("ms2 2/2").machines("ms2", "m2 m3");
            let setup = done().covered("ms1 1/1").machines("ms1", "m1%");
            setup.check("ms1 1, ms2 2");
            // It is asked again as long as the order stands.
            setup.check_moves("ms1");
            // It was to move before anybody knew.
            done().covered("ms1 0/1").machines("ms1", "m1%").check("ms1 1, ms2 2");
        }
    }
}

#[test]
fn the_user_may_want_fewer_machines_and_the_refused_one_goes() {
    for policy in POLICIES {
        let setup =
            policy(2, 0, 1).new_set("ms2 2/2").machines("ms2", "m2 m3").covered("ms1 1/1").machines("ms1", "m1%");
        setup.wanted_before(3).check("ms1 0, ms2 2");
    }
}

#[test]
fn a_refusal_of_another_change_says_nothing() {
    let setup = required(2, 0, 1).new_set("ms3 0/0").covered("ms1 2/2").machines("ms1", "m1% m2%");
    setup.check("ms1 1, ms3 0");
    assert_eq!(plan(&setup.0).waiting_on, []);
}

#[test]
fn the_machine_and_the_words_of_the_server_are_told_while_others_move() {
    let setup = required(3, 0, 1).new_set("ms2 0/0").covered("ms1 3/3").machines("ms1", "m1% m2 m3");
    let reason =
        WaitingOn::ChangeRefused { machines: vec!["m1".to_owned()], why: "Host would be refused: no".to_owned() };
    assert!(reason.is_blocked());
    assert_eq!(plan(&setup.0).waiting_on, [reason]);
}
