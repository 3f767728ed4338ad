use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use refit_api::hooks::{FailurePolicy, HandlerProblem, Hook};
use serde_json::{Value, json};

use super::*;
use crate::{Claims, MachineUpdate, Paths, Progress, Refusal, UpdateFailure};

/// Claims what it is told to, and ends updates as the setting `end` says.
struct Sample(fn() -> Claims);

impl Updater for Sample {
    fn claims(&self) -> Claims {
        (self.0)()
    }

    async fn update(&self, machine: MachineUpdate) -> Result<Progress, UpdateFailure> {
        match machine.settings().get("end").map(String::as_str) {
            Some("fail") => Err(UpdateFailure::new("no power")),
            Some("panic") => panic!("a bug"),
            Some("hang") => {
                machine.report(format!(
                    "{}/{} to {:?}",
                    machine.namespace(),
                    machine.name(),
                    machine.machine_field("spec.version")
                ));
                std::future::pending().await
            }
            _ => Ok(Progress::Done),
        }
    }
}

fn declared() -> Claims {
    Paths::none().machine("spec.version").infrastructure_of("SimMachine", "spec.memory").bootstrap("spec.files").into()
}

fn extension() -> Extension {
    Extension::builder(Sample(declared)).build().expect("the extension must be right")
}

async fn call(extension: &Extension, path: &str, body: &Value) -> Value {
    let uri = format!("/hooks.runtime.cluster.x-k8s.io/v1alpha1/{path}");
    let request = Request::post(uri).body(Full::new(Bytes::from(body.to_string()))).expect("the request must be right");
    let response = extension.handle(request).await;
    assert_eq!(response.status(), 200);
    let body = response.into_body().collect().await.expect("the body must be there").to_bytes();
    serde_json::from_slice(&body).expect("the body must be JSON")
}

fn machine(version: &str) -> Value {
    json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
        "metadata": { "name": "m", "namespace": "ns", "creationTimestamp": null }, "spec": { "version": version },
    })
}

fn infrastructure(kind: &str, memory: i32) -> Value {
    json!({ "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": kind, "metadata": { "name": "m" }, "spec": { "memory": memory } })
}

fn template(object: &Value) -> Value {
    let kind = match object["kind"].as_str() {
        Some("Machine") => "MachineSet".to_owned(),
        kind => format!("{}Template", kind.unwrap_or_default()),
    };
    json!({
        "apiVersion": object["apiVersion"], "kind": kind, "metadata": { "name": "t" },
        "spec": { "template": { "spec": object["spec"] } },
    })
}

/// The operations of a patch in a response, or `null`.
fn operations(response: &Value, patch: &str) -> Value {
    let Some(document) = response[patch]["patch"].as_str() else { return Value::Null };
    let decoded: refit_api::hooks::CanUpdateMachineResponse = serde_json::from_value(
        json!({ "status": "Success", "machinePatch": { "patchType": "JSONPatch", "patch": document } }),
    )
    .expect("the patch must decode");
    let patch = decoded.into_patches().expect("it is a success").machine.expect("there is a patch");
    serde_json::from_slice(patch.document()).expect("the patch must be JSON")
}

#[tokio::test]
async fn a_machine_and_a_machine_set_get_the_same_claims() {
    let extension = extension();
    let (current, desired) =
        ((machine("v1.34.0"), infrastructure("SimMachine", 1)), (machine("v1.34.1"), infrastructure("SimMachine", 2)));
    let request = json!({
        "current": { "machine": current.0, "infrastructureMachine": current.1 },
        "desired": { "machine": desired.0, "infrastructureMachine": desired.1 },
    });
    let response = call(&extension, "canupdatemachine/can-update-machine", &request).await;
    assert_eq!((&response["status"], &response["kind"]), (&json!("Success"), &json!("CanUpdateMachineResponse")));
    let replace = |path: &str, value: Value| json!([{ "op": "replace", "path": path, "value": value }]);
    assert_eq!(operations(&response, "machinePatch"), replace("/spec/version", json!("v1.34.1")));
    assert_eq!(operations(&response, "infrastructureMachinePatch"), replace("/spec/memory", json!(2)));
    assert_eq!(response.get("bootstrapConfigPatch"), None);

    let request = json!({
        "current": { "machineSet": template(&current.0), "infrastructureMachineTemplate": template(&current.1) },
        "desired": { "machineSet": template(&desired.0), "infrastructureMachineTemplate": template(&desired.1) },
    });
    let response = call(&extension, "canupdatemachineset/can-update-machineset", &request).await;
    assert_eq!(operations(&response, "machineSetPatch"), replace("/spec/template/spec/version", json!("v1.34.1")));
    assert_eq!(
        operations(&response, "infrastructureMachineTemplatePatch"),
        replace("/spec/template/spec/memory", json!(2))
    );
}

#[tokio::test]
async fn an_object_of_another_kind_or_version_is_not_claimed() {
    let extension = extension();
    let check = async |current: Value, desired: Value| {
        let request =
            json!({ "current": { "infrastructureMachine": current }, "desired": { "infrastructureMachine": desired } });
        let response = call(&extension, "canupdatemachine/can-update-machine", &request).await;
        assert_eq!(
            response,
            json!({ "apiVersion": refit_api::hooks::API_VERSION, "kind": "CanUpdateMachineResponse", "status": "Success" })
        );
    };
    check(infrastructure("Other", 1), infrastructure("Other", 2)).await;
    check(infrastructure("Other", 1), infrastructure("SimMachine", 2)).await;
    let mut newer = infrastructure("SimMachine", 2);
    newer["apiVersion"] = json!("infrastructure.cluster.x-k8s.io/v1");
    check(infrastructure("SimMachine", 1), newer).await;
    check(json!({}), json!({})).await;
}

#[tokio::test]
async fn a_decision_sees_the_change_and_its_troubles_are_failures() {
    let decide = || {
        Claims::decided(|change| match change.settings.get("answer").map(String::as_str) {
            Some("refuse") => Err(Refusal("no inventory".to_owned())),
            Some("panic") => panic!("a bug"),
            Some("wrong") => Ok(Paths::none().machine("memory")),
            _ if change.infrastructure.is_of_kind("SimMachine") && change.infrastructure.changes("spec.memory") => {
                Ok(Paths::none().infrastructure("spec.memory"))
            }
            _ => Ok(Paths::none()),
        })
    };
    let extension = Extension::builder(Sample(decide)).build().expect("the extension must be right");
    let ask = async |answer: &str| {
        let request = json!({
            "settings": { "answer": answer },
            "current": { "infrastructureMachine": infrastructure("SimMachine", 1) },
            "desired": { "infrastructureMachine": infrastructure("SimMachine", 2) },
        });
        call(&extension, "canupdatemachine/can-update-machine", &request).await
    };
    assert!(ask("").await["infrastructureMachinePatch"].is_object());
    let check = async |answer, message: &str| {
        let response = ask(answer).await;
        assert_eq!((&response["status"], &response["message"]), (&json!("Failure"), &json!(message)));
    };
    check("refuse", "no inventory").await;
    check("panic", "the extension panicked; its log says where").await;
    check("wrong", "\"memory\" is no path of a field: it must begin with spec, because only changes of the spec count")
        .await;
}

#[tokio::test(start_paused = true)]
async fn updates_are_told_apart_on_the_wire() {
    let extension = extension();
    let check = async |end: &str, status: &str, message: Option<&str>, retry: i32| {
        let request = json!({ "settings": { "end": end }, "desired": { "machine": machine("v1.34.1") } });
        let response = call(&extension, "updatemachine/update-machine?timeout=4s", &request).await;
        let got = (response["status"].as_str(), response["message"].as_str(), response["retryAfterSeconds"].as_i64());
        assert_eq!(got, (Some(status), message, Some(retry.into())), "{end}");
    };
    check("", "Success", None, 0).await;
    check("", "Success", None, 0).await;
    check("fail", "Failure", Some("no power"), 0).await;
    check("panic", "Failure", Some("the extension panicked; its log says where"), 0).await;
    check("hang", "Success", Some("ns/m to Some(String(\"v1.34.1\"))"), 5).await;
    let response = call(&extension, "updatemachine/update-machine", &json!({})).await;
    assert_eq!(response["message"], "the request names no Machine");
}

#[tokio::test(start_paused = true)]
async fn labels_and_annotations_do_not_start_an_update_again() {
    let extension = extension();
    let call = async |annotation: &str, version: &str| {
        let mut machine = machine(version);
        machine["metadata"]["annotations"] = json!({ "a": annotation });
        let request = json!({ "settings": { "end": "hang" }, "desired": { "machine": machine } });
        call(&extension, "updatemachine/update-machine?timeout=1s", &request).await["message"].clone()
    };
    let first = call("1", "v1").await;
    assert_eq!(call("2", "v1").await, first);
    assert_eq!(call("2", "v2").await, "an earlier update of this machine is still running");
    assert_eq!(extension.running_updates(), 1);
}

#[tokio::test]
async fn what_is_no_request_is_a_failure() {
    let extension = extension();
    let path = "/hooks.runtime.cluster.x-k8s.io/v1alpha1/updatemachine/update-machine";
    let deep = "[".repeat(100_000);
    for body in ["", "{", "[]", "5", "{} {}", "{\"desired\":[]}", "\u{0}", deep.as_str()] {
        let request =
            Request::post(path).body(Full::new(Bytes::from(body.to_owned()))).expect("the request must be right");
        let body =
            extension.handle(request).await.into_body().collect().await.expect("the body must be there").to_bytes();
        let response: Value = serde_json::from_slice(&body).expect("the body must be JSON");
        let message = response["message"].as_str().unwrap_or_default();
        assert!(response["status"] == "Failure" && message.starts_with("error unmarshalling request: "), "{response}");
    }
}

#[test]
fn what_discovery_would_refuse_is_refused_at_registration() {
    let check = |builder: ExtensionBuilder, expected: RegistrationError| {
        assert_eq!(builder.build().expect_err("it must be refused"), expected);
    };
    let builder = || Extension::builder(Sample(declared));
    let name = "update-machine".to_owned();
    check(
        builder().handler_name(Hook::CanUpdateMachine, "update-machine"),
        RegistrationError::Handlers { problems: vec![HandlerProblem::DuplicateName { name: name.clone() }] },
    );
    check(builder().failure_policy(Hook::UpdateMachine, FailurePolicy::Ignore), RegistrationError::IgnoredUpdate);
    check(builder().handler_name(Hook::GeneratePatches, "p"), RegistrationError::Hook(Hook::GeneratePatches));
    check(builder().poll_seconds(0), RegistrationError::Poll { seconds: 0 });
    check(builder().poll_seconds(-1), RegistrationError::Poll { seconds: -1 });
    check(builder().max_running_updates(0), RegistrationError::Zero("running updates"));
    check(builder().update_limit(Duration::ZERO), RegistrationError::Zero("an update's time"));
    for wrong in ["Update", "up.date", "", &"u".repeat(64)] {
        let error = builder().handler_name(Hook::UpdateMachine, wrong).build().expect_err("it must be refused");
        assert!(matches!(error, RegistrationError::Handlers { .. }), "{error}");
    }
    for seconds in [-1, 31] {
        let error = builder().timeout_seconds(seconds).build().expect_err("it must be refused");
        assert!(error.to_string().contains("must be between 0 and 30"), "{error}");
    }
    let unknown = FailurePolicy::Unknown("Maybe".to_owned());
    let error = builder().failure_policy(Hook::CanUpdateMachine, unknown).build().expect_err("it must be refused");
    assert!(error.to_string().contains("failurePolicy Maybe"), "{error}");
    let claims: [fn() -> Claims; 3] = [
        || Paths::none().into(),
        || Paths::none().machine("metadata.name").into(),
        || Paths::none().bootstrap_of("", "spec.files").into(),
    ];
    for claims in claims {
        let error = Extension::builder(Sample(claims)).build().expect_err("it must be refused");
        assert!(matches!(error, RegistrationError::Claims(_)), "{error}");
    }
}

#[tokio::test]
async fn discovery_lists_the_handlers_by_name_and_not_itself() {
    let extension = Extension::builder(Sample(declared))
        .handler_name(Hook::UpdateMachine, "a-update")
        .timeout_seconds(7)
        .failure_policy(Hook::CanUpdateMachine, FailurePolicy::Ignore)
        .build()
        .expect("the extension must be right");
    let response = call(&extension, "discovery", &json!({})).await;
    let handler = |name: &str, hook: &str| json!({ "name": name, "requestHook": { "apiVersion": refit_api::hooks::API_VERSION, "hook": hook }, "timeoutSeconds": 7 });
    let mut ignored = handler("can-update-machine", "CanUpdateMachine");
    ignored["failurePolicy"] = json!("Ignore");
    let expected =
        [handler("a-update", "UpdateMachine"), ignored, handler("can-update-machineset", "CanUpdateMachineSet")];
    assert_eq!(response["handlers"], json!(expected));
}
