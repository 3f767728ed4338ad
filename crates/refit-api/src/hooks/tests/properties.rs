use std::collections::BTreeSet;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::decode;
use crate::hooks::*;

/// Field names of all payloads, so that arbitrary JSON gets past the outermost object.
const FIELDS: &str = "apiVersion kind settings status message retryAfterSeconds handlers name requestHook hook \
    timeoutSeconds failurePolicy current desired machine machineSet infrastructureMachine \
    infrastructureMachineTemplate bootstrapConfig bootstrapConfigTemplate machinePatch machineSetPatch \
    infrastructureMachinePatch bootstrapConfigPatch patchType patch other";

fn any_leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        prop::sample::select(vec!["Success", "Failure", "JSONPatch", "W10=", "W10", ""]).prop_map(Value::from),
    ]
}

fn any_json() -> impl Strategy<Value = Value> {
    any_leaf().prop_recursive(5, 64, 6, |inner| {
        let field = prop::sample::select(FIELDS.split(' ').collect::<Vec<_>>()).prop_map(str::to_owned);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((field, inner), 0..8).prop_map(|fields| Value::Object(Map::from_iter(fields))),
        ]
    })
}

/// Name, hook, timeout and failure policy; some of them wrong, few enough that whole lists are good.
type AnyHandler = (&'static str, &'static str, i32, &'static str);

fn any_handler() -> impl Strategy<Value = AnyHandler> {
    (
        prop::sample::select(vec!["a", "b", "c-1", "a", "b", "c-1", "", "A", "a.b", "-"]),
        prop::sample::select(vec!["UpdateMachine", "UpdateMachine", "UpdateMachine", "updatemachine"]),
        -2..33,
        prop::sample::select(vec!["Fail", "Ignore", "Fail", "Ignore", "X"]),
    )
}

/// An error names a field that is there; what decodes keeps its meaning when it is passed on.
fn judge<P: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(sent: &Value) -> Result<(), TestCaseError> {
    match decode::<P>(sent) {
        Err((path, message)) => {
            prop_assert!(path == "." || holds(sent, &path), "{path} is not in {sent}");
            prop_assert!(!message.is_empty());
        }
        Ok(payload) => {
            let Ok(encoded) = serde_json::to_value(&payload) else {
                prop_assert!(sent["retryAfterSeconds"].as_i64().is_some_and(|seconds| seconds < 0), "{sent}");
                return Ok(());
            };
            prop_assert_eq!(decode::<P>(&encoded), Ok(payload));
        }
    }
    Ok(())
}

/// Whether the value has something at a path such as `handlers[0].name`.
fn holds(value: &Value, path: &str) -> bool {
    let pointer: String = path.replace('[', ".").replace(']', "").split('.').map(|part| format!("/{part}")).collect();
    value.pointer(&pointer).is_some()
}

proptest! {
    #[test]
    fn arbitrary_json_is_a_payload_or_an_error_at_a_field(sent in any_json()) {
        judge::<DiscoveryRequest>(&sent)?;
        judge::<DiscoveryResponse>(&sent)?;
        judge::<CanUpdateMachineRequest>(&sent)?;
        judge::<CanUpdateMachineResponse>(&sent)?;
        judge::<CanUpdateMachineSetRequest>(&sent)?;
        judge::<CanUpdateMachineSetResponse>(&sent)?;
        judge::<UpdateMachineRequest>(&sent)?;
        judge::<UpdateMachineResponse>(&sent)?;
    }

    #[test]
    fn handlers_are_taken_all_or_none(handlers in prop::collection::vec(any_handler(), 0..4)) {
        let names: BTreeSet<&str> = handlers.iter().map(|(name, ..)| *name).collect();
        let is_good = |(name, hook, seconds, policy): &AnyHandler| {
            ["a", "b", "c-1"].contains(name) && *hook == "UpdateMachine" && (0..31).contains(seconds) && *policy != "X"
        };
        let good = names.len() == handlers.len() && handlers.iter().all(is_good);

        let sent: Vec<Value> = handlers.iter().map(|(name, hook, seconds, policy)| {
            let hook = json!({ "apiVersion": API_VERSION, "hook": hook });
            json!({ "name": name, "requestHook": hook, "timeoutSeconds": seconds, "failurePolicy": policy })
        }).collect();
        let response = decode(&json!({ "status": "Success", "handlers": sent })).expect("the response must decode");
        match discovered_handlers(&response, "ext") {
            Ok(found) => prop_assert!(good && found.len() == handlers.len()),
            Err(error) => prop_assert!(!good, "{}", error),
        }
    }

    #[test]
    fn any_document_of_a_patch_survives(document in prop::collection::vec(any::<u8>(), 1..200)) {
        let patch = json!({ "patchType": "JSONPatch", "patch": BASE64_STANDARD.encode(&document) });
        let sent = json!({ "status": "Success", "machinePatch": patch });
        let response: CanUpdateMachineResponse = decode(&sent).expect("the response must decode");
        let encoded = serde_json::to_value(&response).expect("the response must encode");
        prop_assert_eq!(&encoded["machinePatch"], &sent["machinePatch"]);
        let patches = response.into_patches().expect("the response must be a success");
        let machine = patches.machine.expect("the patch must be defined");
        prop_assert_eq!(machine.document(), document.as_slice());
    }

    #[test]
    fn any_object_is_stripped_without_a_panic(sent in any_json()) {
        if let Ok(object) = RawObject::try_from(sent) {
            let stripped = object.stripped();
            prop_assert_eq!(stripped.spec(), object.spec());
            prop_assert_eq!(stripped.stripped(), stripped);
        }
    }
}
