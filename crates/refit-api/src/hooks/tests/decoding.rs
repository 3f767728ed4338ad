use std::fmt::Debug;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::decode;
use crate::hooks::*;

/// All of these mean the same to a peer written in Go.
fn check_same<P: DeserializeOwned + PartialEq + Debug>(sent: &[Value]) {
    let payloads: Vec<P> = sent.iter().map(|sent| decode(sent).expect("the payload must decode")).collect();
    for payload in &payloads {
        assert_eq!(payload, &payloads[0]);
    }
}

fn check_refused<P: DeserializeOwned + Debug>(sent: Value, path: &str) {
    let (found, _) = decode::<P>(&sent).expect_err("the payload must be refused");
    assert_eq!(found, path);
}

#[test]
fn an_empty_object_is_a_discovery_request() {
    assert_eq!(decode(&json!({})), Ok(DiscoveryRequest::default()));
}

#[test]
fn the_path_says_the_type_and_the_body_need_not() {
    check_same::<UpdateMachineResponse>(&[
        json!({ "status": "Success" }),
        json!({ "status": "Success", "apiVersion": API_VERSION, "kind": "UpdateMachineResponse" }),
        json!({ "status": "Success", "apiVersion": "x.io/v9", "kind": "DiscoveryRequest" }),
        json!({ "status": "Success", "apiVersion": null, "kind": null }),
    ]);
}

#[test]
fn unknown_fields_are_ignored() {
    // The misspelt key is from upstream's book.
    check_same::<UpdateMachineRequest>(&[
        json!({ "desired": { "machine": {}, "infrastructureMachine": {} } }),
        json!({ "desired": { "machine": {}, "infrastructureMachine": {}, "boostrapConfig": {} }, "current": 5 }),
    ]);
    check_same::<DiscoveryResponse>(&[
        json!({ "status": "Success", "handlers": [{ "name": "a" }] }),
        json!({ "status": "Success", "handlers": [{ "name": "a", "x": 1, "requestHook": { "y": [] } }], "z": {} }),
    ]);
}

#[test]
fn null_and_absent_are_the_same() {
    check_same::<DiscoveryResponse>(&[
        json!({}),
        json!({ "status": null, "message": null, "handlers": null }),
        json!({ "status": "", "message": "", "handlers": [] }),
    ]);
    let null_handler = json!({ "name": null, "requestHook": null, "timeoutSeconds": null, "failurePolicy": null });
    check_same::<DiscoveryResponse>(&[
        json!({ "handlers": [{}] }),
        json!({ "handlers": [null] }),
        json!({ "handlers": [null_handler] }),
        json!({ "handlers": [{ "requestHook": { "apiVersion": null, "hook": null } }] }),
    ]);
    let null_objects = json!({ "machine": null, "infrastructureMachine": null, "bootstrapConfig": null });
    check_same::<UpdateMachineRequest>(&[
        json!({}),
        json!({ "settings": null, "desired": null }),
        json!({ "settings": {}, "desired": null_objects }),
    ]);
    check_same::<CanUpdateMachineRequest>(&[json!({}), json!({ "current": null, "desired": { "machine": null } })]);
    check_same::<CanUpdateMachineSetRequest>(&[
        json!({}),
        json!({ "current": { "machineSet": null }, "desired": null }),
    ]);
    check_same::<UpdateMachineResponse>(&[
        json!({ "status": "Success" }),
        json!({ "status": "Success", "message": null, "retryAfterSeconds": null }),
        json!({ "status": "Success", "message": "", "retryAfterSeconds": 0 }),
    ]);
    check_same::<CanUpdateMachineResponse>(&[
        json!({ "status": "Success" }),
        json!({ "status": "Success", "machinePatch": null, "infrastructureMachinePatch": {} }),
        json!({ "status": "Success", "bootstrapConfigPatch": { "patchType": "", "patch": null } }),
    ]);
}

#[test]
fn a_setting_that_is_null_is_empty() {
    let request: UpdateMachineRequest = decode(&json!({ "settings": { "a": null } })).expect("the request must decode");
    assert_eq!(request.settings.get("a").map(String::as_str), Some(""));
}

#[test]
fn an_absent_bootstrap_config_is_not_an_empty_one() {
    let bootstrap_config = |sent: Value| {
        let request: UpdateMachineRequest = decode(&json!({ "desired": sent })).expect("the request must decode");
        request.desired.bootstrap_config
    };
    assert_eq!(bootstrap_config(json!({})), None);
    assert_eq!(bootstrap_config(json!({ "bootstrapConfig": {} })), Some(RawObject::default()));
}

#[test]
fn every_status_decodes_and_only_success_passes() {
    let check = |sent: Value, expected: Result<(), StatusError>| {
        let response: CanUpdateMachineResponse = decode(&sent).expect("the response must decode");
        assert_eq!(response.check_status(), expected);
        assert_eq!(response.into_patches().err(), expected.err());
    };
    let unknown = |status: &str| Err(StatusError::Unknown { status: status.to_owned(), message: "m".to_owned() });
    check(json!({ "status": "Success", "message": "m" }), Ok(()));
    check(json!({ "status": "Failure", "message": "m" }), Err(StatusError::Failure { message: "m".to_owned() }));
    check(json!({ "status": "success", "message": "m" }), unknown("success"));
    check(json!({ "status": "", "message": "m" }), unknown(""));
    check(json!({ "message": "m" }), unknown(""));
}

#[test]
fn each_answer_to_update_machine_has_its_outcome() {
    let check = |sent: Value, expected: UpdateOutcome| {
        let response: UpdateMachineResponse = decode(&sent).expect("the response must decode");
        assert_eq!(response.outcome(), expected);
    };
    let success = |seconds: i32| json!({ "status": "Success", "retryAfterSeconds": seconds });
    let retry_after = RetryAfterSeconds::new(30).expect("30 must be a time to wait");
    check(success(30), UpdateOutcome::InProgress { retry_after });
    check(success(0), UpdateOutcome::Done);
    check(json!({ "status": "Success" }), UpdateOutcome::Done);
    check(success(-1), UpdateOutcome::NegativeRetry { retry_after_seconds: -1 });
    check(success(i32::MIN), UpdateOutcome::NegativeRetry { retry_after_seconds: i32::MIN });
    let failure = StatusError::Failure { message: "no".to_owned() };
    check(json!({ "status": "Failure", "message": "no", "retryAfterSeconds": 9 }), UpdateOutcome::Refused(failure));
    let unknown = StatusError::Unknown { status: "Done".to_owned(), message: String::new() };
    check(json!({ "status": "Done" }), UpdateOutcome::Refused(unknown));
}

#[test]
fn a_field_of_the_wrong_type_is_named() {
    check_refused::<DiscoveryResponse>(json!({ "status": 5 }), "status");
    check_refused::<DiscoveryResponse>(
        json!({ "handlers": [{}, { "timeoutSeconds": 1.5 }] }),
        "handlers[1].timeoutSeconds",
    );
    check_refused::<DiscoveryResponse>(
        json!({ "handlers": [{ "requestHook": { "hook": [] } }] }),
        "handlers[0].requestHook.hook",
    );
    check_refused::<UpdateMachineResponse>(json!({ "retryAfterSeconds": 2_147_483_648_i64 }), "retryAfterSeconds");
    check_refused::<UpdateMachineRequest>(json!({ "settings": { "a": 1 } }), "settings.a");
    check_refused::<UpdateMachineRequest>(json!({ "desired": { "machine": [] } }), "desired.machine");
    check_refused::<CanUpdateMachineRequest>(
        json!({ "current": { "bootstrapConfig": "x" } }),
        "current.bootstrapConfig",
    );
    let raw_patch = json!({ "machinePatch": { "patchType": "JSONPatch", "patch": [{ "op": "remove" }] } });
    check_refused::<CanUpdateMachineResponse>(raw_patch, "machinePatch.patch");
    let unpadded = json!({ "machineSetPatch": { "patchType": "JSONPatch", "patch": "W10" } });
    check_refused::<CanUpdateMachineSetResponse>(unpadded, "machineSetPatch.patch");
}

#[test]
fn a_list_is_not_an_object() {
    check_refused::<DiscoveryRequest>(json!([]), ".");
    check_refused::<UpdateMachineResponse>(json!(["Success", "", 0]), ".");
    check_refused::<UpdateMachineRequest>(json!({ "desired": [] }), "desired");
    check_refused::<CanUpdateMachineRequest>(json!({ "current": [{}, {}] }), "current");
    check_refused::<DiscoveryResponse>(json!({ "handlers": [["a"]] }), "handlers[0]");
    check_refused::<DiscoveryResponse>(json!({ "handlers": [{ "requestHook": [] }] }), "handlers[0].requestHook");
    check_refused::<CanUpdateMachineResponse>(json!({ "machinePatch": ["JSONPatch", "W10="] }), "machinePatch");
}
