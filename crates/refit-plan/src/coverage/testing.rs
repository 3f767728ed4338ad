//! Objects, patches and answers for tests.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use refit_api::hooks::{
    CanUpdateMachineResponse, CanUpdateMachineSetResponse, CanonicalName, HookResponse, MachinePatches,
    MachineSetPatches, Patch, RawObject,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::*;

pub fn name(name: &str) -> CanonicalName {
    name.parse().expect("the name must parse")
}

/// A hash that is the same for the same text.
pub fn hash(of: &str) -> ContentHash {
    ContentHash::of(&json!(of))
}

/// A plan with these extensions still to run.
pub fn frozen_plan(question: &str, target: &str, run: &[&str]) -> FrozenPlan {
    let steps = run.iter().map(|text| PlannedExtension { name: name(text), claims: Changes::default() });
    UpdatePlan { question: hash(question), target: hash(target), steps: steps.collect() }.freeze()
}

/// An extension of a plan that has promised to change these fields of the host.
pub fn planned(text: &str, fields: &[&str]) -> PlannedExtension {
    let change = |path: &&str| FieldChange {
        object: refit_api::rollout::ChangedObject::InfrastructureMachine,
        path: refit_api::admission::FieldPath::new(*path),
        before: FieldValue::Absent,
        after: FieldValue::Hidden,
    };
    PlannedExtension { name: name(text), claims: Changes { listed: fields.iter().map(change).collect(), more: 0 } }
}

pub fn extension(text: &str, order: i32) -> Extension {
    Extension { name: name(text), order }
}

pub fn object(value: Value) -> RawObject {
    RawObject::try_from(value).expect("the value must be an object")
}

fn typed<K: DeserializeOwned>(value: Value) -> K {
    serde_json::from_value(value).expect("the object must decode")
}

/// The parts of a Machine that differ between tests.
pub fn machine_objects(version: &str, infrastructure: Value, bootstrap: Option<Value>) -> MachineObjects {
    MachineObjects {
        machine: typed(json!({
            "metadata": { "name": "m", "namespace": "ns", "uid": "1" },
            "spec": machine_spec(version),
            "status": { "phase": "Running" },
        })),
        infrastructure_machine: provider_object("infrastructure", "DevMachine", json!({ "spec": infrastructure })),
        bootstrap_config: bootstrap.map(|spec| provider_object("bootstrap", "KubeadmConfig", json!({ "spec": spec }))),
    }
}

/// The parts of a MachineSet that differ between tests.
pub fn machine_set_objects(version: &str, infrastructure: Value, bootstrap: Option<Value>) -> MachineSetObjects {
    let template = |spec: Value| json!({ "spec": { "template": { "spec": spec } } });
    MachineSetObjects {
        machine_set: typed(json!({
            "metadata": { "name": "ms", "namespace": "ns" },
            "spec": { "clusterName": "c", "template": { "spec": machine_spec(version) } },
        })),
        infrastructure_machine_template: provider_object(
            "infrastructure",
            "DevMachineTemplate",
            template(infrastructure),
        ),
        bootstrap_config_template: bootstrap
            .map(|spec| provider_object("bootstrap", "KubeadmConfigTemplate", template(spec))),
    }
}

pub fn provider_object(group: &str, kind: &str, rest: Value) -> RawObject {
    let mut value = rest;
    value["apiVersion"] = json!(format!("{group}.cluster.x-k8s.io/v1beta2"));
    value["kind"] = json!(kind);
    value["metadata"] = json!({ "name": "m", "namespace": "ns", "resourceVersion": "7" });
    object(value)
}

fn machine_spec(version: &str) -> Value {
    json!({
        "clusterName": "c",
        "bootstrap": { "configRef": { "apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "KubeadmConfig", "name": "m" } },
        "infrastructureRef": { "apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "DevMachine", "name": "m" },
        "version": version,
    })
}

/// A patch as a peer sends it, with any type and any document.
pub fn raw_patch(patch_type: &str, document: &[u8]) -> Patch {
    let patch = json!({ "patchType": patch_type, "patch": STANDARD.encode(document) });
    let response: CanUpdateMachineResponse =
        typed(json!({ "kind": "CanUpdateMachineResponse", "status": "Success", "machinePatch": patch }));
    response.into_patches().expect("the status must be success").machine.expect("the patch must be defined")
}

pub fn json_patch(operations: Value) -> Patch {
    raw_patch("JSONPatch", operations.to_string().as_bytes())
}

pub fn merge_patch(document: Value) -> Patch {
    raw_patch("JSONMergePatch", document.to_string().as_bytes())
}

/// An answer about a Machine, with merge patches for the objects that are not `null`.
pub fn claims(machine: Value, infrastructure: Value, bootstrap: Value) -> Answer {
    let patch = |document: Value| (!document.is_null()).then(|| merge_patch(document));
    Answer::Replied(
        CanUpdateMachineResponse::success(MachinePatches {
            machine: patch(machine),
            infrastructure_machine: patch(infrastructure),
            bootstrap_config: patch(bootstrap),
        })
        .into(),
    )
}

pub fn set_claims(patches: MachineSetPatches) -> Answer {
    Answer::Replied(CanUpdateMachineSetResponse::success(patches).into())
}

pub fn failure(message: &str) -> Answer {
    Answer::Replied(CanUpdateMachineResponse::failed(message).into())
}

/// Asks until there is nothing left to ask. `reply` plays the extensions.
pub fn compose(
    question: Question,
    extensions: impl IntoIterator<Item = Extension>,
    mut reply: impl FnMut(&CanonicalName, &Request) -> Answer,
) -> Coverage {
    let mut composition = Composition::new(question, extensions).expect("the extensions must be accepted");
    loop {
        let (extension, answer) = match composition.next_step() {
            Step::Ask { extension, request } => (extension.clone(), reply(extension, &request)),
            Step::Done(coverage) => return coverage,
        };
        composition.answer(&extension, answer).expect("the answer must be awaited");
    }
}
