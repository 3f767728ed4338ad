use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::decode;
use crate::hooks::*;

fn encode<P: Serialize>(payload: &P) -> Value {
    serde_json::to_value(payload).expect("a payload must encode")
}

/// What comes back is what was sent, and says its type even if the peer did not.
fn check_round_trip<P: DeserializeOwned + Serialize>(kind: &str, sent: Value) {
    let payload: P = decode(&sent).expect("the payload must decode");
    let mut expected = sent;
    expected["apiVersion"] = API_VERSION.into();
    expected["kind"] = kind.into();
    assert_eq!(encode(&payload), expected);
}

#[test]
fn discovery_comes_back_as_it_was_sent() {
    check_round_trip::<DiscoveryRequest>(
        "DiscoveryRequest",
        json!({ "kind": "DiscoveryRequest", "apiVersion": API_VERSION }),
    );
    check_round_trip::<DiscoveryResponse>(
        "DiscoveryResponse",
        json!({ "status": "Success", "handlers": [{
            "name": "can-update-machine",
            "requestHook": { "apiVersion": API_VERSION, "hook": "CanUpdateMachine" },
            "timeoutSeconds": 10,
            "failurePolicy": "Fail",
        }] }),
    );
}

#[test]
fn can_update_machine_comes_back_as_it_was_sent() {
    check_round_trip::<CanUpdateMachineRequest>(
        "CanUpdateMachineRequest",
        json!({
            "apiVersion": API_VERSION, "kind": "CanUpdateMachineRequest", "settings": { "k": "v" },
            "current": {
                "machine": {
                    "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
                    "metadata": { "name": "cp-0", "namespace": "ns1", "labels": {}, "annotations": {} },
                    "spec": { "clusterName": "c1", "version": "v1.34.0", "bootstrap": {}, "infrastructureRef": {} },
                },
                "infrastructureMachine": {
                    "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "DevMachine",
                    "metadata": { "name": "cp-0", "namespace": "ns1" }, "spec": {},
                },
                "bootstrapConfig": {
                    "apiVersion": "bootstrap.cluster.x-k8s.io/v1beta2", "kind": "KubeadmConfig",
                    "metadata": { "name": "cp-0", "namespace": "ns1" }, "spec": {},
                },
            },
            "desired": { "machine": {}, "infrastructureMachine": {}, "bootstrapConfig": {} },
        }),
    );
    check_round_trip::<CanUpdateMachineResponse>(
        "CanUpdateMachineResponse",
        json!({
            "status": "Success",
            "machinePatch": {
                "patchType": "JSONPatch",
                "patch": "W3sib3AiOiJyZXBsYWNlIiwicGF0aCI6Ii9zcGVjL3ZlcnNpb24iLCJ2YWx1ZSI6InYxLjM0LjEifV0=",
            },
            "infrastructureMachinePatch": { "patchType": "JSONPatch", "patch": "W10=" },
        }),
    );
}

#[test]
fn can_update_machine_set_comes_back_as_it_was_sent() {
    let objects =
        json!({ "machineSet": { "spec": {} }, "infrastructureMachineTemplate": {}, "bootstrapConfigTemplate": {} });
    let request = json!({ "current": objects, "desired": objects });
    check_round_trip::<CanUpdateMachineSetRequest>("CanUpdateMachineSetRequest", request);
    let patch = json!({ "patchType": "JSONMergePatch", "patch": "e30=" });
    check_round_trip::<CanUpdateMachineSetResponse>(
        "CanUpdateMachineSetResponse",
        json!({
            "status": "Success",
            "machineSetPatch": patch,
            "infrastructureMachineTemplatePatch": patch,
            "bootstrapConfigTemplatePatch": patch,
        }),
    );
}

#[test]
fn update_machine_comes_back_as_it_was_sent() {
    check_round_trip::<UpdateMachineRequest>(
        "UpdateMachineRequest",
        json!({ "desired": { "machine": { "spec": { "x": null } }, "infrastructureMachine": { "spec": [] } } }),
    );
    check_round_trip::<UpdateMachineResponse>(
        "UpdateMachineResponse",
        json!({ "status": "Success", "message": "draining", "retryAfterSeconds": 30 }),
    );
}

#[test]
fn embedded_objects_keep_what_no_type_knows() {
    let spec = json!({ "a": null, "b": {}, "c": [], "d": 1.5, "e": i64::MIN, "f": u64::MAX });
    let odd = json!({ "kind": "X", "spec": spec, "z": "" });
    let sent = json!({ "desired": { "machine": odd, "infrastructureMachine": odd, "bootstrapConfig": odd } });
    check_round_trip::<UpdateMachineRequest>("UpdateMachineRequest", sent);
}

#[test]
fn the_time_to_wait_is_always_written() {
    let check = |response: UpdateMachineResponse, expected: Value| {
        let mut encoded = encode(&response);
        let object = encoded.as_object_mut().expect("a payload must be an object");
        assert_eq!(object.remove("apiVersion"), Some(API_VERSION.into()));
        assert_eq!(object.remove("kind"), Some("UpdateMachineResponse".into()));
        assert_eq!(encoded, expected);
    };
    let half_a_minute = RetryAfterSeconds::new(30).expect("30 must be a time to wait");
    check(UpdateMachineResponse::done(), json!({ "status": "Success", "retryAfterSeconds": 0 }));
    check(
        UpdateMachineResponse::in_progress("draining", half_a_minute),
        json!({ "status": "Success", "message": "draining", "retryAfterSeconds": 30 }),
    );
    check(
        UpdateMachineResponse::failed("no answer"),
        json!({ "status": "Failure", "message": "no answer", "retryAfterSeconds": 0 }),
    );
}

#[test]
fn a_negative_time_to_wait_is_not_passed_on() {
    let sent = json!({ "status": "Success", "retryAfterSeconds": -1 });
    let response: UpdateMachineResponse = decode(&sent).expect("the response must decode");
    assert!(serde_json::to_value(&response).is_err());
}

#[test]
fn an_object_without_a_claim_has_no_patch() {
    let none = CanUpdateMachineResponse::success(MachinePatches::default());
    assert_eq!(
        encode(&none),
        json!({ "apiVersion": API_VERSION, "kind": "CanUpdateMachineResponse", "status": "Success" })
    );
    let none = CanUpdateMachineSetResponse::success(MachineSetPatches::default());
    assert_eq!(
        encode(&none),
        json!({ "apiVersion": API_VERSION, "kind": "CanUpdateMachineSetResponse", "status": "Success" })
    );
}

#[test]
fn claims_reach_the_fields_of_their_objects() {
    let claim = |name: &str| Some(Patch::json(&[PatchOperation::Remove { path: JsonPointer::new([name]) }]));
    let patches =
        MachinePatches { machine: claim("m"), infrastructure_machine: claim("i"), bootstrap_config: claim("b") };
    let encoded = encode(&CanUpdateMachineResponse::success(patches.clone()));
    assert_eq!(encoded["machinePatch"], encode(&claim("m")));
    assert_eq!(encoded["infrastructureMachinePatch"], encode(&claim("i")));
    assert_eq!(encoded["bootstrapConfigPatch"], encode(&claim("b")));
    let decoded: CanUpdateMachineResponse = decode(&encoded).expect("the response must decode");
    assert_eq!(decoded.into_patches(), Ok(patches));

    let patches = MachineSetPatches {
        machine_set: claim("m"),
        infrastructure_machine_template: claim("i"),
        bootstrap_config_template: claim("b"),
    };
    let encoded = encode(&CanUpdateMachineSetResponse::success(patches.clone()));
    assert_eq!(encoded["machineSetPatch"], encode(&claim("m")));
    assert_eq!(encoded["infrastructureMachineTemplatePatch"], encode(&claim("i")));
    assert_eq!(encoded["bootstrapConfigTemplatePatch"], encode(&claim("b")));
    let decoded: CanUpdateMachineSetResponse = decode(&encoded).expect("the response must decode");
    assert_eq!(decoded.into_patches(), Ok(patches));
}

#[test]
fn handlers_are_listed_by_name() {
    let handler = |name: &str| {
        ExtensionHandler::new(HandlerName::new(name).expect("the name must be valid"), Hook::UpdateMachine)
    };
    let response = DiscoveryResponse::success(vec![handler("b"), handler("c"), handler("a")]);
    let names: Vec<&str> = response.handlers().iter().map(|handler| handler.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c"]);
    assert_eq!(
        encode(&response)["handlers"][0],
        json!({ "name": "a", "requestHook": { "apiVersion": API_VERSION, "hook": "UpdateMachine" } })
    );
}

#[test]
fn settings_of_the_request_win_over_those_of_the_extension_config() {
    let settings = |entries: &[(&str, &str)]| -> Settings {
        entries.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    };
    let mut request = UpdateMachineRequest::new(UpdateMachineRequestObjects::default());
    request.settings = settings(&[("a", "request")]);
    request.add_settings(&settings(&[("a", "config"), ("b", "config")]));
    assert_eq!(request.settings, settings(&[("a", "request"), ("b", "config")]));

    let mut discovery = DiscoveryRequest::default();
    discovery.add_settings(&settings(&[("a", "config")]));
    assert_eq!(encode(&discovery), json!({ "apiVersion": API_VERSION, "kind": "DiscoveryRequest" }));
}
