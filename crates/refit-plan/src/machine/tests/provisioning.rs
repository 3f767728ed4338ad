//! Owners and labels, the host, the bootstrap configuration, certificates, the phase.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use refit_api::cluster::MachinePhase;
use refit_api::contract::ContractVersion;
use serde_json::{Value, json};

use super::world::{World, decode, found};
use crate::effect::Effect;
use crate::machine::*;

fn object_mut(external: &mut External) -> &mut Value {
    match external {
        External::Found { object, .. } => object,
        other => panic!("there is no object: {other:?}"),
    }
}

/// A Machine whose host and bootstrap data are still to come.
fn new_machine() -> World {
    let mut world = World::running();
    let machine = &mut world.seen.machine;
    machine.spec.provider_id = None;
    machine.spec.bootstrap.data_secret_name = None;
    machine.status = Default::default();
    object_mut(&mut world.seen.infrastructure)["status"] = json!({});
    object_mut(&mut world.seen.bootstrap)["status"] = json!({});
    world.seen.node = NodeSeen::NotLookedFor;
    world
}

fn owners(value: &Value) -> Vec<(String, Option<bool>)> {
    let owners: Vec<OwnerReference> = decode(value["metadata"]["ownerReferences"].clone());
    owners.into_iter().map(|owner| (format!("{} {}", owner.kind, owner.name), owner.controller)).collect()
}

#[test]
fn the_finalizer_comes_before_anything_else() {
    let mut world = World::running();
    world.seen.machine.metadata.finalizers = Some(vec!["other".to_owned()]);
    let effects = decide(&world.seen).plan.effects;
    let [Effect::Patch(patch)] = effects.as_slice() else { panic!("one patch is expected: {effects:?}") };
    assert_eq!(patch.merge, json!({ "metadata": { "finalizers": ["other", "machine.cluster.x-k8s.io"] } }));
    assert_eq!(patch.resource_version.as_deref(), Some("1"));
}

#[test]
fn a_deleted_machine_without_the_finalizer_is_left_to_others() {
    let mut world = World::deleting();
    world.seen.machine.metadata.finalizers = Some(vec!["other".to_owned()]);
    assert_eq!(decide(&world.seen).plan, Default::default());
}

#[test]
fn a_paused_machine_only_says_so() {
    let mut world = World::updating(None);
    world.seen.cluster.spec.paused = Some(true);
    world.annotate("cluster.x-k8s.io/paused", "");
    world.settle();
    let words = "Cluster spec.paused is set to true, Machine has the cluster.x-k8s.io/paused annotation";
    assert_eq!(world.condition("Paused"), format!("True Paused: {words}"));
    assert!(world.calls.is_empty());
    world.seen.cluster.spec.paused = None;
    world.seen.machine.metadata.annotations.as_mut().unwrap().remove("cluster.x-k8s.io/paused");
    world.settle();
    assert_eq!(world.condition("Paused"), "False NotPaused");
    assert_eq!(world.calls.len(), 1);
}

#[test]
fn a_machine_that_stands_alone_belongs_to_its_cluster() {
    let adopted = |label: Option<&str>, controller: bool| {
        let mut world = World::running();
        let metadata = &mut world.seen.machine.metadata;
        if !controller {
            metadata.owner_references = None;
        }
        metadata.labels = label.map(|label| [(label.to_owned(), "x".to_owned())].into());
        world.settle();
        let owners = world.seen.machine.metadata.owner_references.unwrap_or_default();
        assert_eq!(world.seen.machine.metadata.labels.unwrap()["cluster.x-k8s.io/cluster-name"], "c1");
        owners.iter().any(|owner| owner.kind == "Cluster" && owner.uid == "cu" && owner.controller.is_none())
    };
    assert!(adopted(None, false));
    assert!(!adopted(None, true));
    for origin in ["set-name", "pool-name", "control-plane-name"] {
        assert!(!adopted(Some(&format!("cluster.x-k8s.io/{origin}")), false), "{origin}");
    }
}

#[test]
fn objects_go_from_their_maker_to_the_machine() {
    let mut world = World::running();
    world
        .seen
        .machine
        .metadata
        .labels
        .as_mut()
        .unwrap()
        .insert("cluster.x-k8s.io/control-plane".to_owned(), String::new());
    world.seen.cluster.spec.control_plane_ref = Some(decode(
        json!({ "apiGroup": "controlplane.cluster.x-k8s.io", "kind": "KubeadmControlPlane", "name": "cp" }),
    ));
    let maker = |api_version: &str, kind: &str, controller: bool| json!({ "apiVersion": api_version, "kind": kind, "name": "x", "uid": "x", "controller": controller });
    let set = maker("cluster.x-k8s.io/v1beta1", "MachineSet", true);
    let control_plane = maker("controlplane.cluster.x-k8s.io/v1beta2", "KubeadmControlPlane", true);
    let other = maker("other/v1", "Other", false);
    object_mut(&mut world.seen.infrastructure)["metadata"]["ownerReferences"] = json!([set, other]);
    object_mut(&mut world.seen.bootstrap)["metadata"] =
        json!({ "name": "m1", "uid": "b", "resourceVersion": "1", "ownerReferences": [control_plane] });
    world.settle();
    let expected = [("Other x".to_owned(), Some(false)), ("Machine m1".to_owned(), Some(true))];
    assert_eq!(owners(object_mut(&mut world.seen.infrastructure)), expected);
    let bootstrap = object_mut(&mut world.seen.bootstrap);
    assert_eq!(owners(bootstrap), expected[1..]);
    assert_eq!(bootstrap["metadata"]["labels"]["cluster.x-k8s.io/cluster-name"], "c1");
}

#[test]
fn an_object_that_somebody_else_controls_is_not_taken() {
    let mut world = World::running();
    let other = json!({ "apiVersion": "o/v1", "kind": "Other", "name": "x", "uid": "x", "controller": true });
    object_mut(&mut world.seen.infrastructure)["metadata"]["ownerReferences"] = json!([other]);
    let decision = decide(&world.seen);
    let expected = Problem::OwnedByAnother { kind: "DevMachine".to_owned(), owner: "Other x".to_owned() };
    assert_eq!(decision.problems, [expected]);
    assert_eq!(decision.status.observed_generation, None);
}

#[test]
fn bootstrap_data_is_taken_over_once_it_is_there() {
    let mut world = new_machine();
    world.settle();
    assert_eq!(world.seen.machine.status.phase, Some(MachinePhase::Pending));
    let expected = "False NotReady: KubeadmConfig status.initialization.dataSecretCreated is false";
    assert_eq!(world.condition("BootstrapConfigReady"), expected);
    object_mut(&mut world.seen.bootstrap)["status"] =
        json!({ "initialization": { "dataSecretCreated": true }, "dataSecretName": "secret" });
    world.settle();
    assert_eq!(world.seen.machine.spec.bootstrap.data_secret_name.as_deref(), Some("secret"));
    assert_eq!(world.seen.machine.status.initialization.bootstrap_data_secret_created, Some(true));
    assert_eq!(world.seen.machine.status.phase, Some(MachinePhase::Provisioning));
    assert_eq!(world.condition("BootstrapConfigReady"), "True Ready");
}

#[test]
fn bootstrap_data_without_a_name_is_a_problem() {
    let mut world = new_machine();
    object_mut(&mut world.seen.bootstrap)["status"] = json!({ "initialization": { "dataSecretCreated": true } });
    let problem = Problem::NoDataSecretName { kind: "KubeadmConfig".to_owned() };
    assert_eq!(decide(&world.seen).problems, [problem]);
}

#[test]
fn without_a_bootstrap_reference_nothing_is_read() {
    let mut world = new_machine();
    world.seen.machine.spec.bootstrap = decode(json!({ "dataSecretName": "mine" }));
    world.seen.bootstrap = External::NotReferenced;
    world.settle();
    assert_eq!(world.condition("BootstrapConfigReady"), "True DataSecretProvided");
    assert_eq!(world.seen.machine.status.initialization.bootstrap_data_secret_created, None);
}

#[test]
fn a_host_is_taken_over_once_it_is_provisioned() {
    for (contract, status) in [
        (ContractVersion::V1Beta2, json!({ "initialization": { "provisioned": true } })),
        (ContractVersion::V1Beta1, json!({ "ready": true })),
    ] {
        let mut world = new_machine();
        let mut status = status;
        status["addresses"] =
            json!([{ "type": "InternalIP", "address": "10.0.0.1" }, { "type": "New", "address": "x" }]);
        status["failureDomain"] = json!("fd1");
        let mut object = object_mut(&mut world.seen.infrastructure).clone();
        object["status"] = status;
        world.seen.infrastructure = External::Found { object, contract };
        world.settle();
        let machine = &world.seen.machine;
        assert_eq!(machine.spec.provider_id.as_deref(), Some("sim://m1"));
        assert_eq!(machine.status.initialization.infrastructure_provisioned, Some(true));
        assert_eq!(machine.status.addresses.len(), 1);
        assert_eq!(machine.status.failure_domain.as_deref(), Some("fd1"));
        assert_eq!(machine.status.phase, Some(MachinePhase::Provisioned));
    }
}

#[test]
fn a_host_without_provider_id_is_waited_for() {
    let mut world = new_machine();
    let object = object_mut(&mut world.seen.infrastructure);
    object["status"] = json!({ "initialization": { "provisioned": true } });
    object["spec"] = json!({});
    world.settle();
    assert_eq!(world.seen.machine.status.initialization.infrastructure_provisioned, None);
    assert_eq!(
        world.condition("NodeReady"),
        "Unknown InspectionFailed: Waiting for DevMachine to report spec.providerID"
    );
}

#[test]
fn the_older_place_of_the_failure_domain_reaches_the_spec() {
    let mut world = World::running();
    object_mut(&mut world.seen.infrastructure)["spec"]["failureDomain"] = json!("old");
    world.settle();
    assert_eq!(world.seen.machine.spec.failure_domain.as_deref(), Some("old"));
}

#[test]
fn what_was_provisioned_stays_so() {
    let mut world = World::settled();
    object_mut(&mut world.seen.infrastructure)["status"] = json!({ "initialization": { "provisioned": false } });
    object_mut(&mut world.seen.bootstrap)["status"] = json!({});
    world.settle();
    let flags = &world.seen.machine.status.initialization;
    assert_eq!((flags.infrastructure_provisioned, flags.bootstrap_data_secret_created), (Some(true), Some(true)));
    assert_eq!(world.condition("InfrastructureReady"), "True Ready");
}

#[test]
fn a_missing_object_is_looked_for_again_in_half_a_minute() {
    let mut world = new_machine();
    world.seen.infrastructure = External::Missing;
    world.seen.bootstrap = External::Missing;
    world.settle();
    let decision = decide(&world.seen);
    assert_eq!(decision.plan.requeue_after, Some(std::time::Duration::from_secs(30)));
    assert_eq!(decision.problems, []);
    assert_eq!(world.condition("InfrastructureReady"), "False ObjectDoesNotExist: DevMachine does not exist");
    assert_eq!(world.condition("BootstrapConfigReady"), "False ObjectDoesNotExist: KubeadmConfig does not exist");
}

#[test]
fn a_host_that_is_gone_is_a_problem() {
    let mut world = World::settled();
    world.seen.infrastructure = External::Missing;
    world.settle();
    let expected = "False ObjectDeleted: DevMachine has been deleted while the Machine still exists";
    assert_eq!(world.condition("InfrastructureReady"), expected);
    assert_eq!(decide(&world.seen).problems, [Problem::InfrastructureGone { kind: "DevMachine".to_owned() }]);
}

#[test]
fn an_object_that_cannot_be_read_is_unknown() {
    let mut world = World::settled();
    world.seen.infrastructure = External::Unreadable { why: "forbidden".to_owned() };
    world.seen.bootstrap = External::Unreadable { why: "forbidden".to_owned() };
    world.settle();
    for type_ in ["InfrastructureReady", "BootstrapConfigReady"] {
        assert_eq!(world.condition(type_), "Unknown InternalError: Please check controller logs for errors");
    }
}

#[test]
fn conditions_of_objects_are_shown_as_they_are() {
    let mut world = World::settled();
    let condition = json!({
        "type": "Ready", "status": "False", "reason": "Broken", "message": "no power",
        "lastTransitionTime": "2025-06-01T00:00:00Z",
    });
    object_mut(&mut world.seen.infrastructure)["status"]["conditions"] = json!([condition]);
    object_mut(&mut world.seen.bootstrap)["status"]["conditions"] = json!([{ "type": "Ready", "status": "maybe" }]);
    world.settle();
    assert_eq!(world.condition("InfrastructureReady"), "False Broken: no power");
    let since = refit_api::conditions::get(&world.seen.machine.status.conditions, "InfrastructureReady");
    assert_eq!(since.unwrap().last_transition_time.0.to_string(), "2025-06-01T00:00:00Z");
    assert!(world.condition("BootstrapConfigReady").starts_with("Unknown InvalidConditionReported"));
}

#[test]
fn certificates_of_control_planes_expire_as_annotations_say() {
    const KEY: &str = "machine.cluster.x-k8s.io/certificates-expiry";
    let expiry =
        |world: &World| world.seen.machine.status.certificates_expiry_date.clone().map(|time| time.0.to_string());
    let mut world = World::settled();
    object_mut(&mut world.seen.bootstrap)["metadata"]["annotations"] = json!({ KEY: "2027-01-01T00:00:00Z" });
    world.settle();
    assert_eq!(expiry(&world), None, "a worker has none");
    world
        .seen
        .machine
        .metadata
        .labels
        .as_mut()
        .unwrap()
        .insert("cluster.x-k8s.io/control-plane".to_owned(), String::new());
    world.settle();
    assert_eq!(expiry(&world).as_deref(), Some("2027-01-01T00:00:00Z"));
    world.annotate(KEY, "2028-01-01T00:00:00Z");
    world.settle();
    assert_eq!(expiry(&world).as_deref(), Some("2028-01-01T00:00:00Z"));
    world.annotate(KEY, "soon");
    assert!(matches!(decide(&world.seen).problems[..], [Problem::Annotation { .. }]));
    world.seen.machine.metadata.annotations = None;
    world.seen.bootstrap = found(World::running().seen.bootstrap.object().unwrap().clone());
    world.settle();
    assert_eq!(expiry(&world), None);
}

#[test]
fn a_machine_at_rest_is_not_written() {
    let world = World::settled();
    let decision = decide(&world.seen);
    assert_eq!(decision.plan, Default::default());
    assert_eq!(decision.errand, None);
    assert_eq!(world.seen.machine.status.phase, Some(MachinePhase::Running));
    assert_eq!(world.seen.machine.status.observed_generation, Some(1));
}
