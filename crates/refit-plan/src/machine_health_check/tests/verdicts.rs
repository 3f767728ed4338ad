//! How single Machines are doing, and which are looked at.

use serde_json::json;

use super::world::*;
use crate::effect::Effect;
use crate::machine::NodeSeen;
use crate::machine_health_check::*;

#[test]
fn a_machine_with_a_good_node_is_healthy() {
    let mut observed = observed(vec![healthy("a")]);
    assert_eq!(settle(&mut observed), Vec::<&str>::new());
    assert_eq!(health(&observed, 0), "True HealthCheckSucceeded");
    let status = &observed.check.status;
    assert_eq!(
        (status.expected_machines, status.current_healthy, status.remediations_allowed),
        (Some(1), Some(1), Some(1))
    );
    assert_eq!(status.observed_generation, Some(1));
    assert_eq!(said(&status.conditions, "RemediationAllowed"), "True RemediationAllowed");
    assert_eq!(said(&status.conditions, "Paused"), "False NotPaused");
}

#[test]
fn a_node_that_is_bad_for_too_long_makes_its_machine_unhealthy() {
    let message = "Condition Ready on Node is reporting status Unknown with reason Why for more than 5m0s";
    check(not_ready("a"), &format!("False UnhealthyNode: Health check failed:\n  * {message}"));
}

#[test]
fn a_machine_that_is_bad_for_too_long_is_unhealthy_whatever_its_node() {
    let message = "Condition Bad on Machine is reporting status True with reason Why for more than 10m0s";
    let bad = with_condition(healthy("a"), "Bad", "True", LONG_AGO);
    check(bad, &format!("False UnhealthyMachine: Health check failed:\n  * {message}"));
    let gone = MachineSeen { node: NodeSeen::Missing, ..with_condition(healthy("a"), "Bad", "True", LONG_AGO) };
    let both = format!("False UnhealthyMachine: Health check failed:\n  * {message}\n  * Node node-a has been deleted");
    check(gone, &both);
    check(with_condition(healthy("a"), "Bad", "False", LONG_AGO), "True HealthCheckSucceeded");
}

#[test]
fn a_node_that_is_gone_makes_its_machine_unhealthy() {
    let seen = MachineSeen { node: NodeSeen::Missing, ..healthy("a") };
    check(seen, "False NodeDeleted: Health check failed:\n  * Node node-a has been deleted");
}

#[test]
fn a_user_can_call_a_machine_unhealthy() {
    let words = "Health check failed: marked for remediation via cluster.x-k8s.io/remediate-machine annotation";
    let seen = annotated(healthy("a"), "cluster.x-k8s.io/remediate-machine", "");
    check(seen, &format!("False HasRemediateAnnotation: {words}"));
}

#[test]
fn what_is_bad_for_a_short_time_is_waited_for() {
    let mut observed = observed(vec![MachineSeen { node: node("Unknown", A_MINUTE_AGO), ..healthy("a") }]);
    settle(&mut observed);
    assert_eq!(health(&observed, 0), "missing");
    assert_eq!(observed.check.status.current_healthy, Some(0));
    let requeue = decide(&observed).plan.requeue_after;
    assert_eq!(requeue, Some(std::time::Duration::from_secs(300 - 60 + 1)));
}

#[test]
fn a_node_that_does_not_come_in_time_makes_its_machine_unhealthy() {
    let starting = |created: &str| {
        let mut seen = MachineSeen { node: NodeSeen::NotLookedFor, ..healthy("a") };
        seen.machine.status.node_ref = None;
        seen.machine.metadata.creation_timestamp = Some(decode(json!(created)));
        seen
    };
    let late = "False NodeStartupTimeout: Health check failed:\n  * Node failed to report startup in 10m0s";
    check(starting(LONG_AGO), late);
    check(starting(A_MINUTE_AGO), "missing");
    check(with_condition(starting(LONG_AGO), "InfrastructureReady", "True", A_MINUTE_AGO), "missing");
    check(with_condition(starting(LONG_AGO), "InfrastructureReady", "False", A_MINUTE_AGO), late);
    let mut disabled = observed(vec![starting(LONG_AGO)]);
    disabled.check.spec.checks.node_startup_timeout_seconds = Some(0);
    settle(&mut disabled);
    assert_eq!(health(&disabled, 0), "missing");
}

#[test]
fn nobody_is_blamed_before_the_cluster_is_there() {
    let judged = |missing: &str, label: Option<&str>| {
        let mut seen = MachineSeen { node: NodeSeen::NotLookedFor, ..healthy("a") };
        if let Some(label) = label {
            seen.machine.metadata.labels.as_mut().unwrap().insert(label.to_owned(), String::new());
        }
        let mut observed = observed(vec![seen]);
        observed.cluster.status.conditions.retain(|condition| condition.type_ != missing);
        settle(&mut observed);
        health(&observed, 0).split(' ').take(2).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(judged("", None), "False NodeStartupTimeout:");
    assert_eq!(judged("InfrastructureReady", None), "missing");
    assert_eq!(judged("ControlPlaneInitialized", None), "missing");
    let control_plane = Some("cluster.x-k8s.io/control-plane");
    assert_eq!(judged("ControlPlaneInitialized", control_plane), "False NodeStartupTimeout:");
}

#[test]
fn only_selected_machines_of_the_cluster_are_targets() {
    let mut of_other_cluster = healthy("b");
    of_other_cluster
        .machine
        .metadata
        .labels
        .as_mut()
        .unwrap()
        .insert("cluster.x-k8s.io/cluster-name".to_owned(), "c2".to_owned());
    let mut not_selected = healthy("c");
    not_selected.machine.metadata.labels.as_mut().unwrap().insert("pool".to_owned(), "b".to_owned());
    let mut observed = observed(vec![
        healthy("z"),
        of_other_cluster,
        not_selected,
        annotated(healthy("d"), "cluster.x-k8s.io/paused", ""),
        annotated(healthy("e"), "cluster.x-k8s.io/skip-remediation", ""),
        healthy("a"),
    ]);
    settle(&mut observed);
    assert_eq!(observed.check.status.targets, ["a", "z"]);
    observed.check.spec.selector = Default::default();
    settle(&mut observed);
    assert_eq!(observed.check.status.targets, Vec::<String>::new(), "an empty selector selects nothing");
}

#[test]
fn a_node_that_cannot_be_read_stops_the_whole_check() {
    let unreadable = MachineSeen { node: NodeSeen::NotConnected, ..healthy("b") };
    let decision = decide(&observed(vec![not_ready("a"), unreadable]));
    assert!(matches!(decision.problems[..], [Problem::Node { .. }]));
    assert!(
        decision
            .plan
            .effects
            .iter()
            .all(|effect| matches!(effect, Effect::Patch(patch) if patch.target.name == "check"))
    );
}

#[test]
fn a_paused_check_only_says_so() {
    let mut observed = observed(vec![not_ready("a")]);
    observed.cluster.spec.paused = Some(true);
    settle(&mut observed);
    assert_eq!(health(&observed, 0), "missing");
    assert_eq!(said(&observed.check.status.conditions, "Paused"), "True Paused: Cluster spec.paused is set to true");
}

#[test]
fn the_check_belongs_to_its_cluster() {
    let mut observed = observed(Vec::new());
    observed.check.metadata.labels = None;
    observed.check.metadata.owner_references = None;
    settle(&mut observed);
    assert_eq!(observed.check.metadata.labels.unwrap()["cluster.x-k8s.io/cluster-name"], "c1");
    assert_eq!(observed.check.metadata.owner_references.unwrap()[0].uid, "cu");
}
