//! Whether a Machine is what its MachineDeployment wants.

use refit_api::cluster::MachineSpec;
use serde_json::json;

use super::world::{World, decode};

fn check(change: impl Fn(&mut MachineSpec), expected: &str) {
    let mut world = World::settled();
    change(&mut world.seen.machine_deployment.as_mut().unwrap().spec.template.spec);
    world.settle();
    assert_eq!(world.condition("UpToDate"), expected);
}

#[test]
fn each_difference_is_told() {
    check(|_| (), "True UpToDate");
    check(|spec| spec.version = Some("v1.35.0".to_owned()), "False NotUpToDate: * Version v1.34.0, v1.35.0 required");
    check(|spec| spec.infrastructure_ref.name = "t2".to_owned(), "False NotUpToDate: * DevMachine is not up-to-date");
    check(|spec| spec.failure_domain = Some("b".to_owned()), "False NotUpToDate: * Failure domain , b required");
    check(
        |spec| spec.bootstrap.data_secret_name = Some("s".to_owned()),
        "False NotUpToDate: * spec.bootstrap.dataSecretName nil, s required",
    );
    check(|spec| spec.min_ready_seconds = Some(10), "True UpToDate");
}

#[test]
fn a_forced_rollout_outdates_what_is_older() {
    let forced = |after: &str| {
        let mut world = World::settled();
        world.seen.machine_deployment.as_mut().unwrap().spec.rollout.after = Some(decode(json!(after)));
        world.settle();
        world.condition("UpToDate")
    };
    let expected = "False NotUpToDate: * MachineDeployment spec.rolloutAfter expired";
    assert_eq!(forced("2025-12-31T00:00:00Z"), expected);
    assert_eq!(forced("2026-06-01T00:00:00Z"), "True UpToDate", "the time has not come");
    assert_eq!(forced("2025-06-01T00:00:00Z"), "True UpToDate", "the MachineSet is younger");
}

#[test]
fn the_kubelet_must_be_of_the_wanted_version() {
    let mut world = World::settled();
    world.seen.machine.spec.version = Some("v1.34.1".to_owned());
    world.settle();
    let expected = "False Updating: * Node.status.nodeInfo.kubeletVersion v1.34.0, v1.34.1 required";
    assert_eq!(world.condition("UpToDate"), expected);
}

#[test]
fn a_machine_without_a_deployment_is_not_judged() {
    let mut world = World::running();
    world.seen.machine_deployment = None;
    world.settle();
    assert_eq!(world.condition("UpToDate"), "missing");
}
