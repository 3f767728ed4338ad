//! Which Machine is next, and where a new one goes.

use refit_api::conditions::Status;
use refit_api::vocabulary::annotations::DELETE_MACHINE;
use refit_api::vocabulary::condition_types as types;
use refit_api::vocabulary::refit::annotations::SCAFFOLDING;

use crate::control_plane::observed::{Observed, ObservedMachine};
use crate::control_plane::selection;
use crate::control_plane::tests::fixtures::{NEW, observed};
use crate::control_plane::view::View;

/// Five machines, of which these are outdated, in these failure domains.
fn setup(outdated: &[&str], domains: [&str; 5]) -> Observed {
    let mut observed = observed(5);
    observed.control_plane.spec.version = NEW.to_owned();
    for (machine, domain) in observed.machines.values_mut().zip(domains) {
        if !outdated.contains(&machine.name()) {
            machine.machine.spec.version = Some(NEW.to_owned());
        }
        machine.machine.spec.failure_domain = Some(domain.to_owned()).filter(|domain| !domain.is_empty());
    }
    observed
}

fn next(observed: &Observed) -> Option<&str> {
    let view = View::of(observed, observed);
    selection::next(&view, &view.outdated()).map(ObservedMachine::name)
}

const NOWHERE: [&str; 5] = [""; 5];

#[test]
fn the_oldest_outdated_machine_is_next() {
    assert_eq!(next(&setup(&["b", "d"], NOWHERE)), Some("b"));
    assert_eq!(next(&setup(&[], NOWHERE)), Some("a"));
}

#[test]
fn what_users_mark_comes_first_and_of_that_the_outdated() {
    let mut observed = setup(&["b", "d"], NOWHERE);
    observed.at("e").annotate(DELETE_MACHINE, "");
    assert_eq!(next(&observed), Some("e"), "even if it is up to date");
    observed.at("d").annotate(DELETE_MACHINE, "");
    assert_eq!(next(&observed), Some("d"));
}

#[test]
fn outdated_machines_that_are_unhealthy_come_before_others() {
    let mut observed = setup(&["b", "d"], NOWHERE);
    observed.at("e").set(types::SCHEDULER_POD_HEALTHY, Status::False);
    assert_eq!(next(&observed), Some("b"), "an up-to-date one does not count");
    observed.at("d").set(types::SCHEDULER_POD_HEALTHY, Status::Unknown);
    assert_eq!(next(&observed), Some("b"), "unknown is not unhealthy");
    observed.at("d").set(types::SCHEDULER_POD_HEALTHY, Status::False);
    assert_eq!(next(&observed), Some("d"));
}

#[test]
fn the_domain_with_most_outdated_machines_is_next_then_with_most_then_by_name() {
    let check = |domains, expected| {
        let mut observed = setup(&["a", "c", "d"], domains);
        observed.set_failure_domains(&["fd1", "fd2", "fd3"]);
        assert_eq!(next(&observed), Some(expected), "{domains:?}");
    };
    check(["fd1", "fd1", "fd2", "fd2", "fd1"], "c");
    check(["fd2", "fd3", "fd1", "fd3", "fd3"], "d");
    check(["fd2", "fd3", "fd1", "fd3", "fd1"], "c");
    check(["fd3", "fd3", "fd2", "fd1", "fd1"], "d");
}

#[test]
fn machines_in_domains_that_are_gone_are_next() {
    let mut observed = setup(&["a", "b", "d"], ["fd1", "old", "fd1", "", "fd1"]);
    observed.set_failure_domains(&["fd1"]);
    assert_eq!(next(&observed), Some("b"));
}

#[test]
fn a_spare_machine_is_the_first_that_is_too_many_unless_a_user_says_otherwise() {
    let mut observed = setup(&[], NOWHERE);
    observed.at("c").annotate(SCAFFOLDING, "");
    let surplus = |observed: &Observed| {
        let view = View::of(observed, observed);
        selection::surplus(&view, &[]).map(|machine| machine.name().to_owned())
    };
    assert_eq!(surplus(&observed).as_deref(), Some("c"));
    observed.at("b").annotate(DELETE_MACHINE, "");
    assert_eq!(surplus(&observed).as_deref(), Some("b"));
}

#[test]
fn a_new_machine_goes_where_the_fewest_up_to_date_ones_are_then_the_fewest_of_all() {
    let check = |outdated: &[&str], domains, expected: Option<&str>| {
        let mut observed = setup(outdated, domains);
        observed.set_failure_domains(&["fd1", "fd2", "fd3"]);
        assert_eq!(selection::failure_domain_for_new(&View::of(&observed, &observed)), expected);
    };
    check(&[], ["fd1", "fd1", "fd2", "fd2", "fd3"], Some("fd3"));
    check(&["a", "b"], ["fd1", "fd1", "fd2", "fd3", "fd3"], Some("fd1"));
    check(&["a", "b", "c"], ["fd1", "fd1", "fd2", "fd3", "fd3"], Some("fd2"));
    let mut elsewhere = setup(&[], NOWHERE);
    elsewhere.set_failure_domains(&["fd1"]);
    elsewhere.cluster.status.failure_domains[0].control_plane = None;
    assert_eq!(selection::failure_domain_for_new(&View::of(&elsewhere, &elsewhere)), None, "not for control planes");
}
