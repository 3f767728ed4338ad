//! For how long what was last seen counts while the workload cluster does not answer.

use super::*;

/// What every condition of the Machine a says, if there are any to set, and whether nothing may be changed.
fn check(case: &Case, expected: Option<&str>, is_blocked: bool) {
    let inspected = case.read();
    let all: Vec<_> = inspected.conditions["a"].iter().map(ToString::to_string).collect();
    match expected {
        None => assert_eq!(all, Vec::<String>::new()),
        Some(words) => {
            assert_eq!(all.len(), 6);
            assert!(all.iter().all(|line| line.ends_with(words)), "{all:?}");
        }
    }
    assert_eq!(inspected.blocked.is_some(), is_blocked, "{:?}", inspected.blocked);
    assert!(matches!(inspected.etcd, EtcdMembers::Unknown { .. }));
}

fn not_connected(change: impl FnOnce(&mut Case)) -> Case {
    Case::with(|case| {
        case.inspection = Inspection::NotConnected;
        change(case);
    })
}

/// Puts conditions on the Machines as they were when all was well.
fn remember(case: &mut Case) {
    let healthy = Case::new().read();
    let _ = healthy.apply(&mut case.observed);
}

const LAST: &str = "=Unknown ConnectionDown: Last successful probe at 2026-01-01T00:00:00Z";
const NEVER: &str = "=Unknown ConnectionDown: Remote connection not established yet";

#[test]
fn a_control_plane_that_never_ran_is_not_looked_at_but_its_config_is() {
    let case = Case::with(|case| case.observed.control_plane.status.initialization.control_plane_initialized = None);
    check(&case, Some("=Unknown InspectionFailed: Waiting for Cluster control plane to be initialized"), false);
    assert!(case.read().has_kubeadm_config);
    let unread =
        not_connected(|case| case.observed.control_plane.status.initialization.control_plane_initialized = None);
    assert!(!unread.read().has_kubeadm_config);
}

#[test]
fn a_connection_that_was_never_made_is_said_where_nothing_else_is() {
    let never = |failures, change: &dyn Fn(&mut Case)| {
        not_connected(|case| {
            case.connection = Connection { last_probe_success: None, consecutive_failures: failures };
            change(case);
        })
    };
    check(&never(0, &|_| {}), Some(NEVER), true);
    check(&never(PROBES - 1, &remember), None, true);
    // Tried often enough, an hour after the control plane first ran.
    check(&never(PROBES, &remember), Some("=Unknown ConnectionDown"), true);
}

#[test]
fn what_was_last_seen_counts_for_a_while() {
    let after = |minutes: i32| {
        not_connected(|case| {
            remember(case);
            case.observed.now = start() + MINUTE * minutes;
        })
    };
    check(&after(1), None, true);
    check(&after(5), None, true);
    check(&after(6), Some(LAST), true);
    // Before anything was seen, it is said at once.
    check(&not_connected(|_| {}), Some(LAST), true);
}

#[test]
fn an_answer_does_not_count_while_probes_fail_for_long() {
    let case = Case::with(|case| case.observed.now = start() + MINUTE * 6);
    check(&case, Some(LAST), true);
}

#[test]
fn the_time_counts_from_when_the_control_plane_first_ran() {
    let case = not_connected(|case| {
        remember(case);
        case.connection.last_probe_success = None;
        case.connection.consecutive_failures = PROBES;
        let conditions = &mut case.observed.control_plane.status.conditions;
        let initialized = conditions.iter_mut().find(|condition| condition.type_ == types::INITIALIZED);
        let initialized = initialized.expect("it must be initialized");
        initialized.last_transition_time = k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(start());
    });
    check(&case, None, true);
}

#[test]
fn a_machine_that_is_new_says_what_the_others_do_not_repeat() {
    let case = not_connected(|case| {
        remember(case);
        case.machine("c").status.conditions.clear();
    });
    let inspected = case.read();
    assert_eq!((inspected.conditions["a"].len(), inspected.conditions["c"].len()), (0, 6));
}
