//! Conditions that no other file is about: the Node behind a connection, `Ready` and `Available`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use refit_api::conditions::{NewCondition, set};
use serde_json::json;

use super::world::{World, decode, now};
use crate::machine::*;

#[test]
fn it_is_too_early_for_a_node_without_a_cluster() {
    let mut world = World::running();
    world.seen.cluster.status.conditions.clear();
    world.settle();
    let expected = "Unknown InspectionFailed: Waiting for Cluster control plane to be initialized";
    assert_eq!(world.condition("NodeReady"), expected);
    world.seen.cluster.status.initialization = Default::default();
    world.settle();
    let expected =
        "Unknown InspectionFailed: Waiting for Cluster status.initialization.infrastructureProvisioned to be true";
    assert_eq!(world.condition("NodeReady"), expected);
}

#[test]
fn a_short_loss_of_the_connection_leaves_what_was_known() {
    let mut world = World::settled();
    world.seen.node = NodeSeen::NotConnected;
    world.settle();
    assert_eq!(world.condition("NodeReady"), "True NodeReady");
    let mut world = World::running();
    world.seen.node = NodeSeen::NotConnected;
    world.settle();
    let expected = "Unknown ConnectionDown: Last successful probe at 2026-01-01T00:00:00Z";
    assert_eq!(world.condition("NodeReady"), expected);
}

#[test]
fn a_long_loss_of_the_connection_makes_the_node_unknown() {
    let mut world = World::settled();
    world.later(301);
    world.seen.connection = Connection { last_probe_success: Some(now()), consecutive_failures: 9 };
    world.settle();
    let expected = "Unknown ConnectionDown: Last successful probe at 2026-01-01T00:00:00Z";
    assert_eq!(world.condition("NodeHealthy"), expected);
}

#[test]
fn a_cluster_that_was_never_reached_is_given_five_probes() {
    let mut world = World::running();
    world.seen.connection = Connection { last_probe_success: None, consecutive_failures: 4 };
    world.settle();
    assert_eq!(world.condition("NodeReady"), "Unknown ConnectionDown: Remote connection not established yet");
    world.seen.connection.consecutive_failures = 5;
    world.settle();
    assert_eq!(world.condition("NodeReady"), "Unknown ConnectionDown");
}

#[test]
fn a_machine_is_available_after_being_ready_for_long_enough() {
    let mut world = World::running();
    world.seen.machine.spec.min_ready_seconds = Some(60);
    world.settle();
    assert_eq!(world.condition("Available"), "False WaitingForMinReadySeconds");
    assert_eq!(decide(&world.seen).plan.requeue_after, Some(std::time::Duration::from_secs(60)));
    world.later(60);
    world.settle();
    assert_eq!(world.condition("Available"), "True Available");
}

#[test]
fn a_missing_gate_keeps_a_machine_from_being_ready() {
    let mut world = World::running();
    world.seen.machine.spec.readiness_gates = decode(json!([{ "conditionType": "example.com/Gate" }]));
    world.settle();
    let expected = "Unknown ReadyUnknown: * example.com/Gate: Condition not yet reported";
    assert_eq!(world.condition("Ready"), expected);
    assert_eq!(world.condition("Available"), "False NotReady");
}

#[test]
fn conditions_of_others_are_left_alone() {
    let mut world = World::settled();
    let other = NewCondition::new("HealthCheckSucceeded", true, "HealthCheckSucceeded");
    set(&mut world.seen.machine.status.conditions, other, Some(1), now());
    world.settle();
    assert_eq!(world.condition("HealthCheckSucceeded"), "True HealthCheckSucceeded");
}

#[test]
fn the_time_of_the_last_phase_is_kept() {
    let mut world = World::settled();
    let changed = world.seen.machine.status.last_updated.clone();
    assert_eq!(changed, Some(Time(now())));
    world.later(100);
    world.seen.machine.metadata.generation = Some(2);
    world.settle();
    assert_eq!(world.seen.machine.status.last_updated, changed);
}
