//! Whether etcd keeps its quorum.

use refit_api::conditions::Status;
use refit_api::vocabulary::condition_types::{ETCD_MEMBER_HEALTHY, ETCD_POD_HEALTHY};

use crate::control_plane::observed::{EtcdMember, EtcdMembers};
use crate::control_plane::quorum::{Change, survives};
use crate::control_plane::tests::fixtures::{member, observed};

/// Members by letter: `a` is healthy, `a!` is not, `a-` is listed but its Pod does not run, `a?` learns, `_` has no name yet, `x` is of no Machine.
fn check(members: &str, change: Change<'_>, expected: bool) {
    let mut observed = observed(7);
    let mut all = Vec::new();
    for word in members.split(' ') {
        let name = word.trim_end_matches(['!', '-', '?', '_']);
        let is_healthy = !word.ends_with('!');
        all.push(EtcdMember { is_learner: word.ends_with('?'), is_healthy, ..member(name) });
        if let Some(machine) = observed.machines.get_mut(name) {
            machine.set(ETCD_MEMBER_HEALTHY, Status::from(is_healthy));
            machine.set(ETCD_POD_HEALTHY, Status::from(!word.ends_with('-')));
        }
    }
    observed.etcd = EtcdMembers::Known(all);
    assert_eq!(survives(&observed, change), expected, "{members} {change:?}");
}

#[test]
fn a_quorum_of_those_that_stay_must_be_healthy() {
    let remove_a = Change::Removed("a");
    check("a b c", remove_a, true);
    check("a! b c", remove_a, true);
    check("a b! c", remove_a, false);
    check("a! b! c d e", remove_a, true);
    check("a! b! c! d e", remove_a, false);
    check("a! b! c! d e f g", remove_a, true);
}

#[test]
fn a_member_that_is_listed_and_does_not_run_is_no_part_of_a_quorum() {
    check("a b- c", Change::Removed("a"), false);
    check("a- b c", Change::Removed("a"), true);
    check("a b-", Change::Added, false);
}

#[test]
fn a_new_member_counts_as_unhealthy_unless_there_is_at_most_one() {
    check("a", Change::Added, true);
    check("a b", Change::Added, true);
    check("a b!", Change::Added, false);
    check("a b c", Change::Added, true);
    check("a b c!", Change::Added, false);
}

#[test]
fn learners_and_nameless_members_must_be_promoted_first() {
    check("a b c d?", Change::Removed("a"), false);
    check("a b c _", Change::Removed("a"), false);
    check("a? b c", Change::Removed("a"), true);
}

#[test]
fn a_member_without_a_machine_is_healthy_unless_it_raises_alarms() {
    check("a b x", Change::Removed("a"), true);
    check("a b x!", Change::Removed("a"), false);
}

#[test]
fn a_member_that_restarts_still_counts() {
    let restart_a = Change::Restarted("a");
    check("a b c", restart_a, true);
    check("a b! c", restart_a, false);
    check("a! b c", restart_a, true);
    check("a b", restart_a, false);
    check("a b c x?", restart_a, false);
    check("a b c d e!", restart_a, true);
}
