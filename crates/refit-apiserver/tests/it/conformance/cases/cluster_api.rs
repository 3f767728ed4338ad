//! Cluster API's own definitions, with objects as its controllers write them. Admission is off on both ends.

use serde_json::{Value, json};

use crate::conformance::script::{Case, case};

const MACHINES: &str = "/apis/cluster.x-k8s.io/v1beta2/namespaces/$ns/machines";
const SETS: &str = "/apis/cluster.x-k8s.io/v1beta2/namespaces/$ns/machinesets";
const DEPLOYMENTS: &str = "/apis/cluster.x-k8s.io/v1beta2/namespaces/$ns/machinedeployments";
const CLUSTERS: &str = "/apis/cluster.x-k8s.io/v1beta2/namespaces/$ns/clusters";

fn of_kind(kind: &str, name: &str, spec: Value) -> Value {
    json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": kind, "metadata": {"name": name}, "spec": spec})
}

fn machine_spec() -> Value {
    json!({
        "clusterName": "c",
        "version": "v1.34.0",
        "bootstrap": {"configRef": {"apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "KubeadmConfig", "name": "b"}},
        "infrastructureRef": {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "FakeMachine", "name": "i"},
    })
}

fn set_spec(replicas: i64) -> Value {
    let labels = json!({"matchLabels": {"a": "b"}});
    let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": machine_spec()});
    json!({"clusterName": "c", "replicas": replicas, "selector": labels, "template": template})
}

fn condition(status: &str) -> Value {
    json!({"type": "Ready", "status": status, "reason": "Because", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"})
}

pub fn cases() -> Vec<Case> {
    let machine = format!("{MACHINES}/m");
    let set = format!("{SETS}/s");
    vec![
        case("a machine from creation to deletion")
            .apply(&format!("{machine}?fieldManager=capi-machineset&force=true"), of_kind("Machine", "m", machine_spec()))
            .merge(&machine, json!({"metadata": {"finalizers": ["machine.cluster.x-k8s.io"]}}))
            .merge(&format!("{machine}/status"), json!({"status": {"phase": "Running", "conditions": [condition("True")]}}))
            .apply(
                &format!("{machine}/status?fieldManager=other"),
                json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "metadata": {"name": "m"}, "status": {"conditions": [condition("False")]}}),
            )
            .merge(&machine, json!({"metadata": {"annotations": {"in-place-updates.internal.cluster.x-k8s.io/update-in-progress": ""}}}))
            .merge(&machine, json!({"spec": {"clusterName": ""}}))
            .merge(&machine, json!({"spec": {"version": ""}}))
            .merge(&machine, json!({"spec": {"infrastructureRef": {"kind": ""}}}))
            .merge(&format!("{machine}/status"), json!({"status": {"phase": "Odd"}}))
            .get(&machine)
            .delete(&machine, json!(null))
            .merge(&machine, json!({"metadata": {"finalizers": []}})),
        case("machine sets are scaled")
            .post(SETS, of_kind("MachineSet", "s", set_spec(2)))
            .get(&format!("{set}/scale"))
            .merge(&format!("{set}/scale"), json!({"spec": {"replicas": 3}}))
            .get(&set)
            .merge(&format!("{set}/status"), json!({"status": {"replicas": 3, "selector": "a=b"}}))
            .get(&format!("{set}/scale"))
            .delete(SETS, json!(null)),
        case("what their schemas refuse")
            .post(MACHINES, of_kind("Machine", "a", json!({})))
            .post(SETS, of_kind("MachineSet", "a", json!({"clusterName": "c", "selector": {}})))
            .post(DEPLOYMENTS, of_kind("MachineDeployment", "d", json!({"clusterName": "c"})))
            .post(DEPLOYMENTS, of_kind("MachineDeployment", "d", set_spec(-1)))
            .post(CLUSTERS, of_kind("Cluster", "c", json!({})))
            .post(CLUSTERS, of_kind("Cluster", "c", json!({"paused": "yes"})))
            .post(CLUSTERS, of_kind("Cluster", "c", json!({"controlPlaneEndpoint": {"host": "h", "port": 99_999_999_999_i64}})))
            .post(CLUSTERS, of_kind("Cluster", "d", json!({"paused": true, "clusterNetwork": {"pods": {"cidrBlocks": []}}}))),
    ]
}
