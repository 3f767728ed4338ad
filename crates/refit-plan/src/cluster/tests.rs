use jiff::Timestamp;
use kube::core::ObjectMeta;
use refit_api::cluster::{
    APIEndpoint, Cluster, ClusterPhase, ClusterReplicasStatus, ContractVersionedObjectReference, Machine, StatusVersion,
};
use refit_api::conditions::get;
use refit_api::contract::ContractVersion;
use serde_json::{Value, json};

use super::*;
use crate::effect::Part;
use crate::machine::{Connection, External};

fn reference(kind: &str) -> ContractVersionedObjectReference {
    ContractVersionedObjectReference { api_group: "infra.io".to_owned(), kind: kind.to_owned(), name: "c".to_owned() }
}

fn cluster() -> Cluster {
    let mut cluster = Cluster::default();
    cluster.metadata.name = Some("c".to_owned());
    cluster.metadata.namespace = Some("ns".to_owned());
    cluster.metadata.uid = Some("u".to_owned());
    cluster.metadata.resource_version = Some("1".to_owned());
    cluster.metadata.generation = Some(1);
    cluster.metadata.finalizers = Some(vec![finalizers::CLUSTER.to_owned()]);
    cluster.spec.infrastructure_ref = Some(reference("Net"));
    cluster
}

fn net(more: Value) -> External {
    let mut object = json!({
        "apiVersion": "infra.io/v1", "kind": "Net",
        "metadata": { "name": "c", "namespace": "ns", "uid": "n" },
    });
    if let (Some(object), Some(more)) = (object.as_object_mut(), more.as_object()) {
        object.extend(more.clone());
    }
    External::Found { object, contract: ContractVersion::V1Beta2 }
}

fn observed(cluster: Cluster, infrastructure: External) -> Observed {
    Observed {
        now: Timestamp::UNIX_EPOCH,
        cluster,
        infrastructure,
        control_plane: External::NotReferenced,
        connection: Connection::default(),
        control_plane_machines: Vec::new(),
        workers: Vec::new(),
        standalone: Vec::new(),
        descendants: Descendants::default(),
    }
}

/// Decides, takes in what is written to the Cluster, and again, until nothing more is to be written.
fn settle(mut observed: Observed) -> (Observed, Vec<Effect>) {
    let mut others = Vec::new();
    for _ in 0..8 {
        let decision = decide(&observed);
        let mut is_done = true;
        for effect in decision.plan.effects {
            match effect {
                Effect::Patch(patch) if patch.target.kind == "Cluster" => {
                    is_done = false;
                    observed.cluster = merged(&observed.cluster, &patch.merge, patch.part);
                }
                Effect::Emit(_) => {}
                other => {
                    others.push(other);
                }
            }
        }
        if is_done {
            return (observed, others);
        }
        others.clear();
    }
    panic!("it must come to rest");
}

fn merged(cluster: &Cluster, merge: &Value, part: Part) -> Cluster {
    fn apply(to: &mut Value, merge: &Value) {
        match merge.as_object() {
            Some(fields) => {
                for (name, value) in fields {
                    if value.is_null() {
                        to.as_object_mut().map(|to| to.remove(name));
                    } else {
                        apply(&mut to[name.as_str()], value);
                    }
                }
            }
            None => *to = merge.clone(),
        }
    }
    let mut value = serde_json::to_value(cluster).expect("it must encode");
    let fields: &[&str] = match part {
        Part::Status => &["status"],
        Part::Object => &["metadata", "spec"],
    };
    let only = fields.iter().filter_map(|field| Some(((*field).to_owned(), merge.get(field)?.clone()))).collect();
    let only = Value::Object(only);
    apply(&mut value, &only);
    serde_json::from_value(value).expect("it must decode")
}

fn says(cluster: &Cluster, type_: &str) -> String {
    get(&cluster.status.conditions, type_).map(|it| format!("{} {}", it.status, it.reason)).unwrap_or_default()
}

#[test]
fn infrastructure_that_is_provisioned_gives_the_endpoint_and_is_told() {
    let ready = json!({
        "spec": { "controlPlaneEndpoint": { "host": "h", "port": 6443 } },
        "status": { "initialization": { "provisioned": true } },
    });
    let (seen, others) = settle(observed(cluster(), net(ready)));
    let Cluster { spec, status, .. } = &seen.cluster;
    assert_eq!(spec.control_plane_endpoint, APIEndpoint { host: Some("h".to_owned()), port: Some(6443) });
    assert_eq!(status.phase, Some(ClusterPhase::Provisioned));
    assert_eq!(status.initialization.infrastructure_provisioned, Some(true));
    assert_eq!(says(&seen.cluster, "InfrastructureReady"), "True Ready");
    assert_eq!(says(&seen.cluster, "ControlPlaneInitialized"), "False NotInitialized");
    let [Effect::Patch(patch)] = others.as_slice() else { panic!("the object must be taken over: {others:?}") };
    assert_eq!(patch.merge["metadata"]["labels"]["cluster.x-k8s.io/cluster-name"], "c");
    assert_eq!(patch.merge["metadata"]["ownerReferences"][0]["uid"], "u");
}

#[test]
fn infrastructure_that_is_not_ready_keeps_the_cluster_provisioning() {
    for infrastructure in [net(json!({})), External::Missing] {
        let (seen, _) = settle(observed(cluster(), infrastructure));
        assert_eq!(seen.cluster.status.phase, Some(ClusterPhase::Provisioning));
        assert_eq!(seen.cluster.status.initialization.infrastructure_provisioned, None);
    }
}

#[test]
fn a_control_plane_that_is_run_elsewhere_is_there_once_its_api_answers() {
    let mut seen = observed(cluster(), net(json!({})));
    seen.connection.last_probe_success = Some(Timestamp::UNIX_EPOCH);
    let (seen, _) = settle(seen);
    assert_eq!(seen.cluster.status.initialization.control_plane_initialized, Some(true));
    assert_eq!(says(&seen.cluster, "ControlPlaneInitialized"), "True Initialized");
    assert_eq!(says(&seen.cluster, "RemoteConnectionProbe"), "True ProbeSucceeded");
}

#[test]
fn what_was_provisioned_stays_so_when_the_object_is_lost() {
    let mut lost = cluster();
    lost.status.initialization.infrastructure_provisioned = Some(true);
    let decision = decide(&observed(lost.clone(), External::Missing));
    assert_eq!(decision.problems, [Problem::Gone { kind: "Net".to_owned() }]);
    let (seen, _) = settle(observed(lost, External::Missing));
    assert_eq!(seen.cluster.status.initialization.infrastructure_provisioned, Some(true));
}

fn descendant(kind: &str, is_controlled: bool, is_control_plane: bool) -> Descendant {
    let target = Target {
        api_version: "cluster.x-k8s.io/v1beta2".to_owned(),
        kind: kind.to_owned(),
        namespace: Some("ns".to_owned()),
        name: kind.to_lowercase(),
        uid: Some("d".to_owned()),
    };
    Descendant { target, is_going: false, is_controlled, is_control_plane }
}

fn check_deletion(descendants: Descendants, infrastructure: External, expected: &[&str], reason: &str) {
    let mut going = cluster();
    going.metadata.deletion_timestamp = serde_json::from_value(json!("2026-01-01T00:00:00Z")).ok();
    let (seen, others) = settle(Observed { descendants, ..observed(going, infrastructure) });
    let deleted = others.iter().filter_map(|effect| match effect {
        Effect::Delete(delete) => Some(delete.target.kind.as_str()),
        _ => None,
    });
    assert_eq!(deleted.collect::<Vec<_>>(), expected);
    assert_eq!(says(&seen.cluster, "Deleting"), format!("True {reason}"));
}

#[test]
fn workers_go_first_then_the_control_plane_then_the_infrastructure_then_the_cluster() {
    let machines = vec![descendant("Machine", true, false), descendant("Machine", false, true)];
    let control_plane = vec![descendant("Machine", false, true)];
    let all = Descendants {
        machine_deployments: vec![descendant("MachineDeployment", false, false)],
        machine_sets: vec![descendant("MachineSet", true, false)],
        machines,
    };
    check_deletion(all, net(json!({})), &["MachineDeployment"], "WaitingForWorkersDeletion");
    let rest = Descendants { machines: control_plane, ..Descendants::default() };
    check_deletion(rest, net(json!({})), &["Machine"], "WaitingForControlPlaneDeletion");
    check_deletion(Descendants::default(), net(json!({})), &["Net"], "WaitingForInfrastructureDeletion");
    check_deletion(Descendants::default(), External::Missing, &[], "DeletionCompleted");
}

fn replicas(desired: i32, there: i32, available: Option<i32>, versions: &[(&str, i32)]) -> ClusterReplicasStatus {
    let version =
        |(version, count): &(&str, i32)| StatusVersion { version: (*version).to_owned(), replicas: Some(*count) };
    ClusterReplicasStatus {
        desired_replicas: Some(desired),
        replicas: Some(there),
        available_replicas: available,
        versions: versions.iter().map(version).collect(),
        ..ClusterReplicasStatus::default()
    }
}

fn worker(counted: ClusterReplicasStatus) -> Worker {
    Worker { metadata: ObjectMeta::default(), conditions: Vec::new(), counted }
}

fn machine(type_: &str, version: &str) -> Machine {
    let mut machine = Machine::default();
    machine.spec.version = Some(version.to_owned());
    let condition = json!({
        "type": type_, "status": "True", "reason": "R", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
    });
    machine.status.conditions = vec![serde_json::from_value(condition).expect("it must be a condition")];
    machine
}

#[test]
fn workers_are_the_sum_of_what_their_owners_say_and_of_those_that_have_none() {
    let mut seen = observed(cluster(), net(json!({})));
    seen.workers = vec![
        worker(replicas(3, 2, Some(1), &[("v1.34.0", 2)])),
        worker(ClusterReplicasStatus::default()),
        worker(replicas(2, 2, None, &[("v1.33.0", 1), ("v1.34.0", 1)])),
    ];
    seen.standalone = vec![
        replicas(1, 1, Some(1), &[]),
        counters::of_machines(&[machine("Available", "v1.33.0"), machine("Ready", "")]),
    ];
    let (seen, _) = settle(seen);
    let mut expected = replicas(8, 7, Some(3), &[("v1.33.0", 2), ("v1.34.0", 3)]);
    expected.ready_replicas = Some(1);
    assert_eq!(seen.cluster.status.workers, Some(expected));
    assert_eq!(seen.cluster.status.control_plane, None, "nothing at all is not written");
}

#[test]
fn a_control_plane_of_machines_is_counted() {
    let mut seen = observed(cluster(), net(json!({})));
    seen.control_plane_machines = vec![machine("Available", "v1.34.0"), machine("UpToDate", "v1.34.0")];
    let (seen, _) = settle(seen);
    let mut expected = replicas(2, 2, Some(1), &[("v1.34.0", 2)]);
    expected.up_to_date_replicas = Some(1);
    assert_eq!(seen.cluster.status.control_plane, Some(expected));
}

/// What a Cluster says of a control plane object that is like this.
fn check_control_plane(contract: ContractVersion, more: Value, expected: Option<ClusterReplicasStatus>) {
    let mut with = cluster();
    with.spec.control_plane_ref = Some(reference("Brain"));
    let mut seen = observed(with, net(json!({})));
    let External::Found { mut object, .. } = net(more) else { panic!("it must be found") };
    object["kind"] = json!("Brain");
    seen.control_plane = External::Found { object, contract };
    let (mut seen, _) = settle(seen);
    assert_eq!(seen.cluster.status.control_plane, expected, "{contract:?}");
    seen.control_plane = External::Unreadable { why: "x".to_owned() };
    let (mut seen, _) = settle(seen);
    assert_eq!(seen.cluster.status.control_plane, expected, "what cannot be read changes nothing");
    seen.control_plane = External::Missing;
    let (seen, _) = settle(seen);
    assert_eq!(seen.cluster.status.control_plane, None);
}

#[test]
fn a_control_plane_object_says_itself_how_many_machines_it_has() {
    let status = json!({
        "replicas": 3, "readyReplicas": 3, "availableReplicas": 2, "upToDateReplicas": 1, "unavailableReplicas": 2,
        "updatedReplicas": 3, "versions": [{ "version": "v1.34.0", "replicas": 3 }],
    });
    let object = json!({ "spec": { "replicas": 3 }, "status": status });
    let mut expected = replicas(3, 3, Some(2), &[("v1.34.0", 3)]);
    (expected.ready_replicas, expected.up_to_date_replicas) = (Some(3), Some(1));
    check_control_plane(ContractVersion::V1Beta2, object.clone(), Some(expected.clone()));
    (expected.available_replicas, expected.up_to_date_replicas) = (Some(1), Some(3));
    check_control_plane(ContractVersion::V1Beta1, object, Some(expected));
    check_control_plane(ContractVersion::V1Beta2, json!({ "status": { "replicas": "three" } }), None);
}
