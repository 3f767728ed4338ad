//! A Machine that runs, and all that belongs to it.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use refit_api::cluster::{Machine, MachineDeployment, MachineSet};
use refit_api::contract::ContractVersion;
use refit_api::hooks::CanonicalName;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::machine::*;

pub fn now() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

pub fn decode<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

pub fn found(object: Value) -> External {
    External::Found { object, contract: ContractVersion::V1Beta2 }
}

pub fn name(name: &str) -> CanonicalName {
    name.parse().unwrap()
}

fn machine() -> Machine {
    decode(json!({
        "metadata": {
            "name": "m1", "namespace": "ns", "uid": "mu", "resourceVersion": "1", "generation": 1,
            "creationTimestamp": "2025-12-01T00:00:00Z",
            "labels": { "cluster.x-k8s.io/cluster-name": "c1", "cluster.x-k8s.io/set-name": "ms1" },
            "annotations": {},
            "finalizers": ["machine.cluster.x-k8s.io"],
            "ownerReferences": [{
                "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineSet", "name": "ms1", "uid": "su",
                "controller": true, "blockOwnerDeletion": true,
            }],
        },
        "spec": {
            "clusterName": "c1", "version": "v1.34.0", "providerID": "sim://m1",
            "bootstrap": {
                "configRef": { "apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "KubeadmConfig", "name": "m1" },
                "dataSecretName": "m1-data",
            },
            "infrastructureRef": { "apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "DevMachine", "name": "m1" },
        },
        "status": {
            "initialization": { "infrastructureProvisioned": true, "bootstrapDataSecretCreated": true },
            "nodeRef": { "name": "n1" },
        },
    }))
}

fn provider_object(kind: &str, status: Value) -> Value {
    json!({
        "apiVersion": "provider.x-k8s.io/v1", "kind": kind,
        "metadata": {
            "name": "m1", "namespace": "ns", "uid": format!("{kind}-uid"), "resourceVersion": "1",
            "labels": { "cluster.x-k8s.io/cluster-name": "c1" },
            "ownerReferences": [{
                "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "name": "m1", "uid": "mu",
                "controller": true, "blockOwnerDeletion": true,
            }],
        },
        "spec": { "providerID": "sim://m1" },
        "status": status,
    })
}

fn node() -> Node {
    let conditions: Vec<Value> = [
        ("Ready", "True"),
        ("MemoryPressure", "False"),
        ("DiskPressure", "False"),
        ("PIDPressure", "False"),
    ]
    .map(|(type_, status)| json!({ "type": type_, "status": status, "lastTransitionTime": "2025-12-01T00:00:00Z" }))
    .to_vec();
    decode(json!({
        "metadata": { "name": "n1", "uid": "nu", "resourceVersion": "1" },
        "spec": { "providerID": "sim://m1" },
        "status": { "conditions": conditions, "nodeInfo": node_info() },
    }))
}

fn node_info() -> Value {
    let keys = ["architecture", "bootID", "containerRuntimeVersion", "kernelVersion", "kubeProxyVersion", "machineID"];
    let mut info: serde_json::Map<String, Value> = keys.map(|key| (key.to_owned(), json!(""))).into_iter().collect();
    for (key, value) in
        [("kubeletVersion", "v1.34.0"), ("operatingSystem", "linux"), ("osImage", ""), ("systemUUID", "")]
    {
        info.insert(key.to_owned(), json!(value));
    }
    info.into()
}

pub fn observed() -> Observed {
    let condition = |type_: &str| {
        json!({
            "type": type_, "status": "True", "reason": "R", "message": "",
            "lastTransitionTime": "2025-12-01T00:00:00Z",
        })
    };
    Observed {
        now: now(),
        machine: machine(),
        cluster: decode(json!({
            "metadata": { "name": "c1", "namespace": "ns", "uid": "cu" },
            "spec": {},
            "status": {
                "initialization": { "infrastructureProvisioned": true, "controlPlaneInitialized": true },
                "conditions": [condition("ControlPlaneInitialized"), condition("InfrastructureReady")],
            },
        })),
        machine_set: Some(machine_set()),
        machine_deployment: Some(machine_deployment()),
        control_plane: External::NotReferenced,
        infrastructure: found(provider_object("DevMachine", json!({ "initialization": { "provisioned": true } }))),
        bootstrap: found(provider_object(
            "KubeadmConfig",
            json!({ "initialization": { "dataSecretCreated": true }, "dataSecretName": "m1-data" }),
        )),
        node: NodeSeen::Found(Box::new(node())),
        connection: Connection { last_probe_success: Some(now()), consecutive_failures: 0 },
        active_control_plane_machines: 1,
        drain: None,
        volumes: None,
        node_deletion_error: None,
        updaters: Updaters::Registered(vec![name("update.firmware"), name("update.kubeadm")]),
        answer: None,
        infrastructure_is_wanted: false,
        bootstrap_is_wanted: false,
        target_hash: None,
        quiet: None,
        settings: Settings::default(),
    }
}

fn template() -> Value {
    json!({
        "spec": {
            "clusterName": "c1", "version": "v1.34.0", "bootstrap": {},
            "infrastructureRef": { "apiGroup": "i", "kind": "DevMachineTemplate", "name": "t1" },
        },
    })
}

pub fn machine_set() -> MachineSet {
    decode(json!({
        "metadata": { "name": "ms1", "namespace": "ns", "uid": "su", "creationTimestamp": "2025-12-01T00:00:00Z" },
        "spec": { "clusterName": "c1", "selector": {}, "template": template() },
    }))
}

pub fn machine_deployment() -> MachineDeployment {
    decode(json!({
        "metadata": { "name": "md1", "namespace": "ns", "uid": "du", "annotations": {} },
        "spec": { "clusterName": "c1", "selector": {}, "template": template() },
    }))
}
