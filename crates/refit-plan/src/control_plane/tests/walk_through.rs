//! Whole rollouts, from the change to the end.

use std::collections::BTreeSet;

use refit_api::vocabulary::refit::annotations::{KEEP_ORIGINALS, SCAFFOLDING};

use super::fixtures::{NEW, observed};
use super::world::{Answer, World};
use crate::waiting::WaitingOn;

/// A settled control plane.
pub(super) fn world(replicas: usize, max_surge: i32, settings: &[(&str, &str)]) -> World {
    let mut base = observed(replicas);
    base.set_max_surge(max_surge);
    for (key, value) in settings {
        base.annotate(key, value);
    }
    let mut world = World::new(base);
    world.settle();
    assert_eq!(world.log, Vec::<String>::new(), "a settled control plane is left alone");
    world
}

/// Only what happens to machines.
fn machines(log: &[String]) -> Vec<&str> {
    log.iter()
        .filter(|line| !line.starts_with("move"))
        .map(|line| line.strip_prefix("SuccessfulStartInPlaceUpdate ").unwrap_or(line))
        .collect()
}

fn check(mut world: World, expected: &[&str]) -> World {
    world.upgrade();
    world.settle();
    assert_eq!(machines(&world.log), expected);
    assert_eq!(world.versions(), BTreeSet::from([NEW.to_owned()]));
    world
}

const UPSTREAM: (&str, &str) = (KEEP_ORIGINALS, "false");
const REQUIRE: (&str, &str) = ("refit.dev/in-place", "Require");
const NEVER: (&str, &str) = ("refit.dev/in-place", "Never");

#[test]
fn without_surge_all_are_updated_in_place() {
    check(world(3, 0, &[]), &["a", "b", "c"]);
    check(world(3, 0, &[UPSTREAM]), &["a", "b", "c"]);
    check(world(5, 0, &[]), &["a", "b", "c", "d", "e"]);
}

#[test]
fn upstreams_sequence_is_one_new_the_rest_in_place_and_the_last_away() {
    check(world(3, 1, &[UPSTREAM]), &["create", "a", "b", "delete c"]);
    check(world(5, 1, &[UPSTREAM]), &["create", "a", "b", "c", "d", "delete e"]);
    check(world(1, 1, &[UPSTREAM]), &["create", "delete a"]);
}

#[test]
fn with_kept_originals_the_new_one_goes_in_the_end() {
    check(world(3, 1, &[]), &["create", "a", "b", "c", "delete new"]);
    check(world(5, 1, &[]), &["create", "a", "b", "c", "d", "e", "delete new"]);
}

/// While there are two members, etcd has no quorum as soon as one of them is away.
#[test]
fn the_only_machine_is_updated_without_a_spare_one() {
    check(world(1, 1, &[]), &["a"]);
    check(world(1, 0, &[]), &["a"]);
}

#[test]
fn under_require_there_is_no_spare_machine() {
    for (replicas, max_surge) in [(1, 0), (1, 1), (3, 0), (3, 1)] {
        let expected = &["a", "b", "c"][..replicas];
        let world = check(world(replicas, max_surge, &[REQUIRE]), expected);
        assert_eq!(world.originals().len(), replicas);
    }
}

#[test]
fn what_is_not_covered_is_replaced() {
    let mut uncovered = world(3, 0, &[]);
    uncovered.default_answer = Answer::Uncovered;
    let without_surge = ["delete a", "create", "delete b", "create", "delete c", "create"];
    check(uncovered, &without_surge);
    let mut uncovered = world(3, 1, &[]);
    uncovered.default_answer = Answer::Uncovered;
    let world_after = check(uncovered, &["create", "delete a", "create", "delete b", "create", "delete c"]);
    let is_marked = |machine: &refit_api::cluster::Machine| {
        machine.metadata.annotations.as_ref().is_some_and(|all| all.contains_key(SCAFFOLDING))
    };
    assert!(!world_after.machines().iter().any(is_marked), "who stayed is no scaffolding");
    let mut single = world(1, 1, &[]);
    single.default_answer = Answer::Uncovered;
    check(single, &["create", "delete a"]);
}

#[test]
fn the_only_machine_has_a_successor_before_it_goes() {
    check(world(1, 0, &[NEVER]), &["create", "delete a"]);
    let mut uncovered = world(1, 0, &[]);
    uncovered.default_answer = Answer::Uncovered;
    check(uncovered, &["create", "delete a"]);
}

#[test]
fn never_replaces_what_could_be_updated() {
    check(world(3, 1, &[NEVER]), &["create", "delete a", "create", "delete b", "create", "delete c"]);
}

#[test]
fn each_original_that_is_covered_stays() {
    let mut mixed = world(3, 1, &[]);
    mixed.answers.insert("b".to_owned(), Answer::Uncovered);
    let mixed = check(mixed, &["create", "a", "delete b", "create", "c", "delete new"]);
    assert_eq!(mixed.originals(), ["a", "c"]);
}

#[test]
fn one_unhealthy_machine_holds_the_rollout_and_is_not_replaced_for_it() {
    let mut sick = world(3, 0, &[]);
    sick.sick.insert("b".to_owned());
    sick.settle();
    sick.upgrade();
    sick.settle();
    assert_eq!(sick.log, Vec::<String>::new());
    let is_told = |reason: &WaitingOn| *reason == WaitingOn::Unhealthy { machines: vec!["b".to_owned()] };
    assert!(sick.waiting_on.iter().any(is_told), "{:?}", sick.waiting_on);
    sick.sick.clear();
    check(sick, &["a", "b", "c"]);
}

#[test]
fn one_unhealthy_machine_that_nobody_covers_is_replaced_first() {
    let mut sick = world(3, 0, &[]);
    sick.sick.insert("b".to_owned());
    sick.answers.insert("b".to_owned(), Answer::Uncovered);
    sick.settle();
    check(sick, &["delete b", "create", "a", "c"]);
}

#[test]
fn under_require_not_covered_means_untouched() {
    let mut blocked = world(3, 0, &[REQUIRE]);
    blocked.answers.insert("c".to_owned(), Answer::Uncovered);
    blocked.upgrade();
    blocked.settle();
    assert_eq!(blocked.log, Vec::<String>::new());
    assert!(blocked.waiting_on.iter().any(WaitingOn::is_blocked));
    blocked.answers.clear();
    check(blocked, &["a", "b", "c"]);
}

#[test]
fn the_leader_of_etcd_hands_over_before_it_is_updated() {
    let mut world = world(3, 0, &[]);
    world.upgrade();
    world.settle();
    let expected = [
        "move leadership from a",
        "SuccessfulStartInPlaceUpdate a",
        "SuccessfulStartInPlaceUpdate b",
        "move leadership from c",
        "SuccessfulStartInPlaceUpdate c",
    ];
    assert_eq!(world.log, expected);
}

/// Replicas, surge, settings and what extensions say.
type Case = (usize, i32, &'static [(&'static str, &'static str)], Answer);

#[test]
fn a_crash_between_any_two_steps_leads_to_the_same_end() {
    let cases: [Case; 6] = [
        (3, 0, &[], Answer::Covered),
        (3, 1, &[], Answer::Covered),
        (1, 1, &[], Answer::Covered),
        (1, 0, &[REQUIRE], Answer::Covered),
        (3, 1, &[UPSTREAM], Answer::Covered),
        (3, 0, &[], Answer::Uncovered),
    ];
    for (replicas, max_surge, settings, answer) in cases {
        let mut start = world(replicas, max_surge, settings);
        start.default_answer = answer;
        start.upgrade();
        let begun = start.steps_done;
        let mut whole = start.clone();
        whole.settle();
        for step in begun..whole.steps_done {
            let mut crashed = start.clone().crash_after(step);
            crashed.settle();
            let end = |world: &World| (world.originals(), world.versions(), world.count("Machine"));
            assert_eq!(end(&crashed), end(&whole), "{replicas}/{max_surge}, crash before step {step}");
            assert_eq!(crashed.count("DevMachine"), replicas, "no host is left behind");
            assert_eq!(crashed.count("KubeadmConfig"), replicas, "no config is left behind");
        }
    }
}

#[test]
fn a_target_that_moves_on_at_any_time_is_reached_with_the_originals() {
    for settings in [&[] as &[_], &[REQUIRE]] {
        let mut start = world(3, 0, settings);
        start.upgrade();
        let begun = start.steps_done;
        let mut whole = start.clone();
        whole.settle();
        for step in begun..whole.steps_done {
            // The process dies in the middle, and before it is back the user changes their mind.
            let mut changed = start.clone().crash_after(step);
            while !changed.has_crashed() {
                changed.round();
            }
            changed.upgrade_to("v1.33.1", "t3");
            changed.settle();
            assert_eq!(changed.originals(), ["a", "b", "c"], "step {step}");
            assert_eq!(changed.versions(), BTreeSet::from(["v1.33.1".to_owned()]), "step {step}");
        }
    }
}

#[test]
fn a_first_machine_starts_the_cluster_and_the_others_join() {
    let mut base = observed(0);
    base.control_plane.spec.replicas = Some(3);
    base.control_plane.status.initialization.control_plane_initialized = None;
    base.has_kubeadm_config = false;
    let mut world = World::new(base);
    world.base.etcd = crate::control_plane::EtcdMembers::Known(Vec::new());
    world.round();
    world.base.has_kubeadm_config = true;
    world.settle();
    assert_eq!(world.log, ["create"; 3]);
    let joins: Vec<bool> = world
        .names()
        .iter()
        .map(|name| world.object("KubeadmConfig", name)["spec"]["joinConfiguration"]["controlPlane"].is_object())
        .collect();
    assert_eq!(joins.iter().filter(|joins| **joins).count(), 2);
    assert_eq!(world.control_plane().status.replicas, Some(3));
}
