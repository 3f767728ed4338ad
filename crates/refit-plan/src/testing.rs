//! Objects for tests, and a small store that takes effects as the API server does.

mod fields;
mod store;

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector, Time};
use kube::core::ObjectMeta;
use refit_api::cluster::{
    Cluster, ContractVersionedObjectReference, Machine, MachineDeployment, MachineNodeReference, MachineSet,
};
use refit_api::vocabulary::labels;
use serde_json::{Value, json};

pub use store::Store;

/// When everything in tests was created.
pub const CREATED: i64 = 1_000;

pub fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).expect("a small number must be a time")
}

pub fn labels_of(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

pub fn metadata(name: &str) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.to_owned()),
        namespace: Some("ns".to_owned()),
        uid: Some(format!("uid-{name}")),
        resource_version: Some("1".to_owned()),
        generation: Some(1),
        creation_timestamp: Some(Time(at(CREATED))),
        ..ObjectMeta::default()
    }
}

pub fn reference(kind: &str, name: &str) -> ContractVersionedObjectReference {
    let (api_group, kind, name) = ("x.io".to_owned(), kind.to_owned(), name.to_owned());
    ContractVersionedObjectReference { api_group, kind, name }
}

pub fn condition(type_: &str, status: &str) -> Condition {
    Condition {
        type_: type_.to_owned(),
        status: status.to_owned(),
        reason: "Test".to_owned(),
        message: String::new(),
        observed_generation: None,
        last_transition_time: Time(at(CREATED)),
    }
}

pub fn cluster() -> Cluster {
    let mut cluster = Cluster { metadata: metadata("c"), ..Cluster::default() };
    cluster.spec.control_plane_ref = Some(reference("ControlPlane", "cp"));
    cluster
}

/// A machine with a Node, of no MachineSet.
pub fn machine(name: &str) -> Machine {
    let mut machine = Machine { metadata: metadata(name), ..Machine::default() };
    machine.spec.cluster_name = "c".to_owned();
    machine.spec.version = Some("v1.31.0".to_owned());
    machine.spec.infrastructure_ref = reference("Host", name);
    machine.spec.bootstrap.config_ref = Some(reference("Boot", name));
    machine.status.node_ref = Some(MachineNodeReference { name: format!("node-{name}") });
    machine
}

/// A MachineSet of the MachineDeployment `md`, with templates `<name>-host` and `<name>-boot`.
pub fn machine_set(name: &str, replicas: i32) -> MachineSet {
    let mut set = MachineSet { metadata: metadata(name), ..MachineSet::default() };
    let hash = format!("1-{name}");
    let of_set = [(labels::CLUSTER_NAME, "c"), (labels::MACHINE_TEMPLATE_HASH, hash.as_str())];
    set.metadata.labels = Some(labels_of(&[&of_set[..], &[(labels::DEPLOYMENT_NAME, "md")]].concat()));
    set.spec.cluster_name = "c".to_owned();
    set.spec.replicas = Some(replicas);
    set.spec.selector = LabelSelector { match_labels: Some(labels_of(&of_set)), ..LabelSelector::default() };
    set.spec.template.metadata.labels = labels_of(&of_set);
    set.spec.template.spec = machine(name).spec;
    set.spec.template.spec.infrastructure_ref = reference("HostTemplate", &format!("{name}-host"));
    set.spec.template.spec.bootstrap.config_ref = Some(reference("BootTemplate", &format!("{name}-boot")));
    set
}

/// A machine that the MachineSet controls.
pub fn machine_of(set: &MachineSet, name: &str) -> Machine {
    let mut machine = machine(name);
    machine.metadata.labels = Some(set.spec.template.metadata.labels.clone());
    machine.metadata.owner_references = Some(vec![crate::ownership::controller(set).expect("it must have a uid")]);
    machine
}

/// The MachineDeployment `md`.
pub fn machine_deployment(replicas: i32) -> MachineDeployment {
    let set = machine_set("md", replicas);
    let mut deployment = MachineDeployment { metadata: metadata("md"), ..MachineDeployment::default() };
    let of_deployment = labels_of(&[(labels::CLUSTER_NAME, "c"), (labels::DEPLOYMENT_NAME, "md")]);
    deployment.spec.cluster_name = "c".to_owned();
    deployment.spec.replicas = Some(replicas);
    deployment.spec.selector.match_labels = Some(of_deployment.clone());
    deployment.spec.template = set.spec.template;
    deployment.spec.template.metadata.labels = of_deployment;
    deployment
}

/// A template of a provider: `HostTemplate` makes `Host`.
pub fn template(kind: &str, name: &str, spec: Value) -> Value {
    json!({
        "apiVersion": "x.io/v1",
        "kind": kind,
        "metadata": { "name": name, "namespace": "ns", "uid": format!("uid-{name}") },
        "spec": { "template": { "spec": spec } },
    })
}
