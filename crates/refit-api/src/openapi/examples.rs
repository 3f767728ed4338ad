//! Examples of every payload, as they are on the wire.

use serde_json::{Value, json};

use crate::hooks::API_VERSION;

/// The examples of one hook, each with a name.
pub struct Examples {
    pub requests: Vec<(&'static str, Value)>,
    pub responses: Vec<(&'static str, Value)>,
}

pub fn discovery() -> Examples {
    let handler =
        |name: &str, hook: &str| json!({ "name": name, "requestHook": { "apiVersion": API_VERSION, "hook": hook } });
    let mut patient = handler("update-machine", "UpdateMachine");
    patient["timeoutSeconds"] = 30.into();
    patient["failurePolicy"] = "Fail".into();
    let handlers = json!([
        handler("can-update-machine", "CanUpdateMachine"),
        handler("can-update-machineset", "CanUpdateMachineSet"),
        patient,
    ]);
    Examples {
        requests: vec![("always", json!({ "apiVersion": API_VERSION, "kind": "DiscoveryRequest" }))],
        responses: vec![
            ("handlers", response("Discovery", json!({ "status": "Success", "handlers": handlers }))),
            ("failed", failed("Discovery", "not ready to serve")),
        ],
    }
}

pub fn can_update_machine() -> Examples {
    let objects = |version: &str, memory: &str| {
        json!({
            "machine": machine(version),
            "infrastructureMachine": metal_machine(memory),
            "bootstrapConfig": object("bootstrap.cluster.x-k8s.io/v1beta2", "KubeadmConfig", json!({})),
        })
    };
    let request = json!({
        "apiVersion": API_VERSION,
        "kind": "CanUpdateMachineRequest",
        "settings": { "window": "night" },
        "current": objects("v1.34.0", "8Gi"),
        "desired": objects("v1.34.1", "16Gi"),
    });
    let claims = json!({
        "status": "Success",
        "machinePatch": json_patch(VERSION_PATCH),
        "infrastructureMachinePatch": merge_patch(MEMORY_PATCH),
    });
    Examples {
        requests: vec![("version-and-memory", request)],
        responses: vec![
            ("both-changes", response("CanUpdateMachine", claims)),
            ("no-change", response("CanUpdateMachine", json!({ "status": "Success" }))),
            ("failed", failed("CanUpdateMachine", "the inventory does not answer")),
        ],
    }
}

pub fn can_update_machine_set() -> Examples {
    let objects = |name: &str, version: &str| {
        json!({
            "machineSet": machine_set(name, version),
            "infrastructureMachineTemplate":
                object("infrastructure.example.com/v1", "MetalMachineTemplate", json!({ "template": { "spec": {} } })),
        })
    };
    let request = json!({
        "apiVersion": API_VERSION,
        "kind": "CanUpdateMachineSetRequest",
        "current": objects("workers-old", "v1.34.0"),
        "desired": objects("workers-new", "v1.34.1"),
    });
    let claims = json!({ "status": "Success", "machineSetPatch": json_patch(TEMPLATE_VERSION_PATCH) });
    Examples {
        requests: vec![("version", request)],
        responses: vec![
            ("the-change", response("CanUpdateMachineSet", claims)),
            ("no-change", response("CanUpdateMachineSet", json!({ "status": "Success" }))),
            ("failed", failed("CanUpdateMachineSet", "the inventory does not answer")),
        ],
    }
}

pub fn update_machine() -> Examples {
    let request = json!({
        "apiVersion": API_VERSION,
        "kind": "UpdateMachineRequest",
        "settings": { "window": "night" },
        "desired": {
            "machine": machine("v1.34.1"),
            "infrastructureMachine": metal_machine("16Gi"),
        },
    });
    let progress = json!({ "status": "Success", "message": "draining", "retryAfterSeconds": 30 });
    let done = json!({ "status": "Success", "retryAfterSeconds": 0 });
    let failed = json!({ "status": "Failure", "message": "the host does not answer", "retryAfterSeconds": 0 });
    Examples {
        requests: vec![("version-and-memory", request)],
        responses: vec![
            ("in-progress", response("UpdateMachine", progress)),
            ("done", response("UpdateMachine", done)),
            ("failed", response("UpdateMachine", failed)),
        ],
    }
}

/// `[{"op":"replace","path":"/spec/version","value":"v1.34.1"}]`
const VERSION_PATCH: &str = "W3sib3AiOiJyZXBsYWNlIiwicGF0aCI6Ii9zcGVjL3ZlcnNpb24iLCJ2YWx1ZSI6InYxLjM0LjEifV0=";
/// `[{"op":"replace","path":"/spec/template/spec/version","value":"v1.34.1"}]`
const TEMPLATE_VERSION_PATCH: &str =
    "W3sib3AiOiJyZXBsYWNlIiwicGF0aCI6Ii9zcGVjL3RlbXBsYXRlL3NwZWMvdmVyc2lvbiIsInZhbHVlIjoidjEuMzQuMSJ9XQ==";
/// `{"spec":{"memory":"16Gi"}}`
const MEMORY_PATCH: &str = "eyJzcGVjIjp7Im1lbW9yeSI6IjE2R2kifX0=";

fn json_patch(base64: &str) -> Value {
    json!({ "patchType": "JSONPatch", "patch": base64 })
}

fn merge_patch(base64: &str) -> Value {
    json!({ "patchType": "JSONMergePatch", "patch": base64 })
}

fn response(hook: &str, mut body: Value) -> Value {
    body["apiVersion"] = API_VERSION.into();
    body["kind"] = format!("{hook}Response").into();
    body
}

fn failed(hook: &str, message: &str) -> Value {
    response(hook, json!({ "status": "Failure", "message": message }))
}

fn object(api_version: &str, kind: &str, spec: Value) -> Value {
    json!({
        "apiVersion": api_version,
        "kind": kind,
        "metadata": { "name": "rack-7", "namespace": "site-a" },
        "spec": spec,
    })
}

fn metal_machine(memory: &str) -> Value {
    object("infrastructure.example.com/v1", "MetalMachine", json!({ "memory": memory }))
}

fn machine(version: &str) -> Value {
    object("cluster.x-k8s.io/v1beta2", "Machine", machine_spec(version))
}

fn machine_set(name: &str, version: &str) -> Value {
    let spec = json!({
        "clusterName": "edge",
        "replicas": 3,
        "selector": { "matchLabels": { "cluster.x-k8s.io/deployment-name": "workers" } },
        "template": {
            "metadata": { "labels": { "cluster.x-k8s.io/deployment-name": "workers" } },
            "spec": machine_spec(version),
        },
    });
    let mut machine_set = object("cluster.x-k8s.io/v1beta2", "MachineSet", spec);
    machine_set["metadata"]["name"] = name.into();
    machine_set
}

fn machine_spec(version: &str) -> Value {
    json!({
        "clusterName": "edge",
        "version": version,
        "bootstrap": {
            "configRef": { "apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "KubeadmConfig", "name": "rack-7" },
        },
        "infrastructureRef": { "apiGroup": "infrastructure.example.com", "kind": "MetalMachine", "name": "rack-7" },
    })
}
