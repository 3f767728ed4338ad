//! Machines that are being updated in place.

use jiff::SignedDuration;
use serde_json::json;

use super::world::*;
use crate::machine::{NodeSeen, UpdateLimits};
use crate::machine_health_check::*;

#[test]
fn design_5_10_a_machine_is_not_unhealthy_because_it_is_being_updated() {
    let gone = MachineSeen { node: NodeSeen::Missing, ..healthy("b") };
    let bad = with_condition(healthy("c"), "Bad", "True", LONG_AGO);
    for seen in [not_ready("a"), gone, bad] {
        let mut observed = observed(vec![annotated(seen, UPDATING, "")]);
        assert_eq!(settle(&mut observed), Vec::<&str>::new());
        assert_eq!(health(&observed, 0), "missing");
        assert_eq!(remediation(&observed, 0), "missing");
    }
    check(annotated(healthy("a"), UPDATING, ""), "True HealthCheckSucceeded");
    check(annotated(not_ready("a"), "runtime.cluster.x-k8s.io/pending-hooks", "UpdateMachine"), "missing");
}

#[test]
fn machines_that_are_updated_do_not_count_against_the_others() {
    let mut observed = observed(vec![not_ready("a"), annotated(not_ready("b"), UPDATING, ""), healthy("c")]);
    observed.check.spec.remediation.trigger_if.unhealthy_less_than_or_equal_to = Some(decode(json!(1)));
    settle(&mut observed);
    assert_eq!(remediation(&observed, 0), "False WaitingForRemediation: Waiting for remediation");
    assert_eq!(health(&observed, 1), "missing");
    assert_eq!(observed.check.status.current_healthy, Some(1));
}

#[test]
fn the_excuse_of_an_update_ends_with_its_timeout() {
    let updating = |seconds: u64| {
        let seen = with_condition(annotated(not_ready("a"), UPDATING, ""), "Updating", "True", A_MINUTE_AGO);
        let timeout = Some(std::time::Duration::from_secs(seconds));
        observed(vec![MachineSeen { update_limits: UpdateLimits { retries: None, timeout }, ..seen }])
    };
    let mut within = updating(90);
    settle(&mut within);
    assert_eq!(health(&within, 0), "missing");
    assert_eq!(decide(&within).plan.requeue_after, Some(std::time::Duration::from_secs(30)));
    within.now += SignedDuration::from_secs(30);
    settle(&mut within);
    assert!(health(&within, 0).starts_with("False UnhealthyNode"));
}

#[test]
fn the_excuse_counts_from_the_first_call_where_that_is_known() {
    let progress = r#"{"version":1,"attempts":0,"startedAt":"2025-12-31T23:59:50Z"}"#;
    let seen = annotated(annotated(not_ready("a"), UPDATING, ""), "refit.dev/update-progress", progress);
    let seen = with_condition(seen, "Updating", "True", A_MINUTE_AGO);
    let timeout = Some(std::time::Duration::from_secs(30));
    check(MachineSeen { update_limits: UpdateLimits { retries: None, timeout }, ..seen }, "missing");
}

#[test]
fn an_update_that_failed_for_good_is_no_excuse() {
    let seen = annotated(annotated(not_ready("a"), UPDATING, ""), "refit.dev/update-failed", "");
    let mut observed = observed(vec![seen]);
    settle(&mut observed);
    assert!(health(&observed, 0).starts_with("False UnhealthyNode"));
}

#[test]
fn what_users_say_of_updates_counts_during_an_update() {
    let message = "Condition Updating on Machine is reporting status True with reason Why for more than 1h0m0s";
    let seen = with_condition(annotated(not_ready("a"), UPDATING, ""), "Updating", "True", LONG_AGO);
    check(seen, &format!("False UnhealthyMachine: Health check failed:\n  * {message}"));
    let seen = annotated(annotated(healthy("a"), UPDATING, ""), "cluster.x-k8s.io/remediate-machine", "");
    let mut observed = observed(vec![seen]);
    settle(&mut observed);
    assert!(health(&observed, 0).starts_with("False HasRemediateAnnotation"));
}
