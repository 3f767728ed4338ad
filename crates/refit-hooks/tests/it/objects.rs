//! Objects and extensions for tests.

use refit_api::hooks::{Hook, RawObject, UpdateMachineRequest, UpdateMachineRequestObjects};
use refit_api::runtime::ExtensionConfig;
use refit_hooks::Extensions;
use refit_hooks::client::Client;
use refit_hooks::registry::Namespace;
use refit_plan::coverage::{MachineObjects, MachineSetObjects, Question};
use serde_json::{Value, json};

use crate::peer::{HOST, Peer};

pub const TOKEN: &str = "abcdef.0123456789abcdef";

/// The ExtensionConfig of a peer, with one handler for each of these hooks.
pub fn config(name: &str, peer: &Peer, hooks: &[Hook]) -> ExtensionConfig {
    config_at(name, json!({ "url": format!("https://{HOST}:{}", peer.port) }), &peer.ca, hooks)
}

pub fn config_at(name: &str, mut client_config: Value, ca: &str, hooks: &[Hook]) -> ExtensionConfig {
    client_config["caBundle"] = json!(k8s_openapi::ByteString(ca.as_bytes().to_vec()));
    let handlers = hooks.iter().map(|hook| {
        json!({
            "name": format!("{}.{name}", handler_of(*hook)),
            "requestHook": { "apiVersion": "hooks.runtime.cluster.x-k8s.io/v1alpha1", "hook": hook.name() },
            "timeoutSeconds": 10,
        })
    });
    let object = json!({
        "metadata": { "name": name, "uid": name, "generation": 1 },
        "spec": { "clientConfig": client_config, "namespaceSelector": {}, "settings": { "mode": "gentle" } },
        "status": { "handlers": handlers.collect::<Vec<_>>() },
    });
    serde_json::from_value(object).expect("the ExtensionConfig must decode")
}

pub fn handler_of(hook: Hook) -> &'static str {
    match hook {
        Hook::CanUpdateMachine => "can-update-machine",
        Hook::CanUpdateMachineSet => "can-update-machineset",
        Hook::UpdateMachine => "update-machine",
        other => panic!("{other} is no hook of updates in place"),
    }
}

/// Extensions that are ready, with these registered.
pub fn extensions(client: Client, configs: &[ExtensionConfig]) -> Extensions {
    let extensions = Extensions::new(client);
    for config in configs {
        extensions.register(config).expect("the ExtensionConfig must be registered");
    }
    extensions.set_ready();
    extensions
}

pub fn namespace() -> Namespace {
    Namespace { name: "ns".to_owned(), labels: None }
}

fn object(value: Value) -> RawObject {
    RawObject::try_from(value).expect("the value must be an object")
}

fn machine_spec(version: &str) -> Value {
    json!({
        "clusterName": "c",
        "bootstrap": { "configRef": { "apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "KubeadmConfig", "name": "m" } },
        "infrastructureRef": { "apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "DevMachine", "name": "m" },
        "version": version,
    })
}

fn bootstrap(spec_path: &str) -> RawObject {
    let spec = json!({
        "joinConfiguration": { "discovery": { "bootstrapToken": { "token": TOKEN, "caCertHashes": ["h"] } } },
        "files": [],
    });
    let mut value = json!({
        "apiVersion": "bootstrap.cluster.x-k8s.io/v1beta2", "kind": "KubeadmConfig",
        "metadata": { "name": "m", "namespace": "ns" },
    });
    match spec_path {
        "template" => value["spec"] = json!({ "template": { "spec": spec } }),
        _ => value["spec"] = spec,
    }
    object(value)
}

fn infrastructure(spec: Value) -> RawObject {
    object(json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "DevMachine",
        "metadata": { "name": "m", "namespace": "ns", "uid": "u", "ownerReferences": [] },
        "spec": spec,
        "status": { "ready": true },
    }))
}

/// Asks for a newer version and more memory of a Machine.
pub fn machine_question() -> Question {
    let side = |version: &str, memory: i32| MachineObjects {
        machine: serde_json::from_value(json!({
            "metadata": { "name": "m", "namespace": "ns", "uid": "1" }, "spec": machine_spec(version),
        }))
        .expect("the Machine must decode"),
        infrastructure_machine: infrastructure(json!({ "memory": memory })),
        bootstrap_config: Some(bootstrap("")),
    };
    Question::about_machine(side("v1.34.0", 1), side("v1.35.0", 2)).expect("the question must be fine")
}

/// The same of all Machines of a MachineSet.
pub fn machine_set_question() -> Question {
    let side = |version: &str, memory: i32| MachineSetObjects {
        machine_set: serde_json::from_value(json!({
            "metadata": { "name": "ms", "namespace": "ns" },
            "spec": { "clusterName": "c", "template": { "spec": machine_spec(version) } },
        }))
        .expect("the MachineSet must decode"),
        infrastructure_machine_template: infrastructure(json!({ "template": { "spec": { "memory": memory } } })),
        bootstrap_config_template: Some(bootstrap("template")),
    };
    Question::about_machine_set(side("v1.34.0", 1), side("v1.35.0", 2)).expect("the question must be fine")
}

pub fn update_request() -> UpdateMachineRequest {
    let machine = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
        "metadata": { "name": "m", "namespace": "ns" }, "spec": machine_spec("v1.35.0"),
    });
    UpdateMachineRequest::new(UpdateMachineRequestObjects {
        machine: object(machine),
        infrastructure_machine: infrastructure(json!({ "memory": 2 })).stripped(),
        bootstrap_config: Some(bootstrap("")),
    })
}

/// A merge patch as it goes over the wire.
pub fn merge_patch(document: Value) -> Value {
    let encoded = k8s_openapi::ByteString(document.to_string().into_bytes());
    json!({ "patchType": "JSONMergePatch", "patch": encoded })
}

/// An answer that claims the version of a Machine.
pub fn covers_version() -> Value {
    json!({ "status": "Success", "machinePatch": merge_patch(json!({ "spec": { "version": "v1.35.0" } })) })
}

/// An answer that claims the memory of a Machine.
pub fn covers_memory() -> Value {
    json!({ "status": "Success", "infrastructureMachinePatch": merge_patch(json!({ "spec": { "memory": 2 } })) })
}

/// An answer that claims both.
pub fn covers_all() -> Value {
    let mut answer = covers_version();
    answer["infrastructureMachinePatch"] = covers_memory()["infrastructureMachinePatch"].clone();
    answer
}
