use std::collections::BTreeSet;

use serde_json::Value;

use super::*;
use crate::cluster::{Machine, MachineSet};
use crate::hooks::{GROUP, HookResponse, RawObject};
use crate::resource::CustomKind;

const PREFIX: &str = "/hooks.runtime.cluster.x-k8s.io/v1alpha1";

/// Every object in a JSON value, the value itself included.
fn objects(value: &Value) -> Vec<&Map<String, Value>> {
    match value {
        Value::Object(object) => std::iter::once(object).chain(object.values().flat_map(objects)).collect(),
        Value::Array(items) => items.iter().flat_map(objects).collect(),
        _ => Vec::new(),
    }
}

fn references(document: &Value) -> BTreeSet<&str> {
    objects(document).iter().filter_map(|object| object.get("$ref")?.as_str()).collect()
}

#[test]
fn every_hook_with_payloads_has_its_path() {
    let document = hooks();
    let paths: Vec<&String> = document["paths"].as_object().expect("paths must be an object").keys().collect();
    let expected = [
        format!("{PREFIX}/canupdatemachine/{{handler}}"),
        format!("{PREFIX}/canupdatemachineset/{{handler}}"),
        format!("{PREFIX}/discovery"),
        format!("{PREFIX}/updatemachine/{{handler}}"),
    ];
    assert_eq!(paths, expected.iter().collect::<Vec<_>>());
    assert!(PREFIX.contains(GROUP));
}

#[test]
fn every_reference_resolves_and_every_component_is_used() {
    let document = hooks();
    let references = references(&document);
    let components = document["components"]["schemas"].as_object().expect("schemas must be an object");
    let known: Vec<String> = components.keys().map(|name| format!("#/components/schemas/{name}")).collect();
    assert_eq!(references, known.iter().map(String::as_str).collect());
}

#[test]
fn a_reference_stands_alone() {
    let document = hooks();
    let schemas = &document["components"];
    for object in objects(schemas).into_iter().filter(|object| object.contains_key("$ref")) {
        assert_eq!(object.len(), 1, "OpenAPI 3.0 ignores what stands beside a reference: {object:?}");
    }
}

#[test]
fn only_the_dialect_of_openapi_3_0_is_used() {
    let document = hooks();
    for object in objects(&document["components"]) {
        for keyword in ["const", "$defs", "definitions", "$schema", "prefixItems", "nullable"] {
            assert!(!object.contains_key(keyword), "{keyword} in {object:?}");
        }
        assert!(!object.get("type").is_some_and(Value::is_array), "several types in {object:?}");
    }
}

#[test]
fn required_fields_are_those_of_the_protocol() {
    let document = hooks();
    let check = |name: &str, expected: &[&str]| {
        let required = document["components"]["schemas"][name]["required"].as_array().cloned().unwrap_or_default();
        let required: BTreeSet<&str> = required.iter().filter_map(Value::as_str).collect();
        assert_eq!(required, expected.iter().copied().collect(), "{name}");
    };
    check("DiscoveryRequest", &[]);
    check("DiscoveryResponse", &["status"]);
    check("ExtensionHandler", &["name", "requestHook"]);
    check("GroupVersionHook", &["apiVersion", "hook"]);
    check("CanUpdateMachineRequest", &["current", "desired"]);
    check("CanUpdateMachineRequestObjects", &["machine", "infrastructureMachine"]);
    check("CanUpdateMachineResponse", &["status"]);
    check("CanUpdateMachineSetRequest", &["current", "desired"]);
    check("CanUpdateMachineSetRequestObjects", &["machineSet", "infrastructureMachineTemplate"]);
    check("CanUpdateMachineSetResponse", &["status"]);
    check("Patch", &["patchType", "patch"]);
    check("UpdateMachineRequest", &["desired"]);
    check("UpdateMachineRequestObjects", &["machine", "infrastructureMachine"]);
    check("UpdateMachineResponse", &["status", "retryAfterSeconds"]);
}

#[test]
fn every_payload_names_its_type() {
    let document = hooks();
    for kind in ["DiscoveryRequest", "CanUpdateMachineSetResponse", "UpdateMachineResponse"] {
        let properties = &document["components"]["schemas"][kind]["properties"];
        assert_eq!(properties["kind"]["enum"], json!([kind]));
        assert_eq!(properties["apiVersion"]["enum"], json!(["hooks.runtime.cluster.x-k8s.io/v1alpha1"]));
    }
}

fn examples_of(content: &Value) -> Vec<Value> {
    let examples = content["content"]["application/json"]["examples"].as_object().expect("examples must be an object");
    examples.values().map(|example| example["value"].clone()).collect()
}

fn check_examples<R: HookRequest>() {
    fn check<P: serde::Serialize + serde::de::DeserializeOwned>(examples: Vec<Value>) {
        assert!(!examples.is_empty());
        for example in examples {
            let decoded: P = serde_path_to_error::deserialize(&example).expect("an example must decode");
            assert_eq!(serde_json::to_value(&decoded).expect("an example must encode"), example);
        }
    }
    let document = hooks();
    let operation = &document["paths"][path_template(R::HOOK)]["post"];
    check::<R>(examples_of(&operation["requestBody"]));
    check::<R::Response>(examples_of(&operation["responses"]["200"]));
    for response in examples_of(&operation["responses"]["200"]) {
        let response: R::Response = serde_json::from_value(response).expect("an example must decode");
        assert!(!matches!(response.status(), crate::hooks::ResponseStatus::Unknown(_)));
    }
}

#[test]
fn every_example_is_what_our_types_write() {
    check_examples::<DiscoveryRequest>();
    check_examples::<CanUpdateMachineRequest>();
    check_examples::<CanUpdateMachineSetRequest>();
    check_examples::<UpdateMachineRequest>();
}

#[test]
fn the_objects_in_examples_are_what_hooks_are_shown() {
    fn check<K: CustomKind>(object: &Value) {
        let object = RawObject::try_from(object.clone()).expect("an example must hold objects");
        object.decode::<K>().expect("the object must decode");
        assert_eq!(object.stripped(), object);
    }
    let request = examples::update_machine().requests.remove(0).1;
    check::<Machine>(&request["desired"]["machine"]);
    for state in ["current", "desired"] {
        let request = examples::can_update_machine().requests.remove(0).1;
        check::<Machine>(&request[state]["machine"]);
        let request = examples::can_update_machine_set().requests.remove(0).1;
        check::<MachineSet>(&request[state]["machineSet"]);
    }
}

#[test]
fn known_kinds_are_described_by_their_own_types() {
    let document = hooks();
    let schemas = &document["components"]["schemas"];
    let check = |pointer: &str, expected: Value| assert_eq!(schemas.pointer(pointer), Some(&expected), "{pointer}");
    let spec = |kind: &str| json!({ "$ref": format!("#/components/schemas/{kind}Spec") });
    check("/Machine/properties/spec", spec("Machine"));
    check("/MachineSet/properties/spec", spec("MachineSet"));
    check("/MachineTemplateSpec/properties/spec/allOf/0", spec("Machine"));
    check("/MachineSpec/properties/version/maxLength", json!(256));
}
