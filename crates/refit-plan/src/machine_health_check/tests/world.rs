//! A check and its Machines, kept by an API server in miniature.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use refit_api::cluster::Machine;
use refit_api::conditions::get;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::effect::{Effect, Patch};
use crate::machine::{NodeSeen, UpdateLimits};
use crate::machine_health_check::*;
use crate::merge;

pub const LONG_AGO: &str = "2025-12-01T00:00:00Z";
pub const A_MINUTE_AGO: &str = "2025-12-31T23:59:00Z";
pub const UPDATING: &str = "in-place-updates.internal.cluster.x-k8s.io/update-in-progress";

pub fn decode<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

pub fn condition(type_: &str, status: &str, since: &str) -> Value {
    json!({ "type": type_, "status": status, "reason": "Why", "message": "", "lastTransitionTime": since })
}

pub fn machine(name: &str) -> Machine {
    decode(json!({
        "metadata": {
            "name": name, "namespace": "ns", "uid": name, "resourceVersion": "1", "creationTimestamp": LONG_AGO,
            "labels": { "cluster.x-k8s.io/cluster-name": "c1", "pool": "a" },
            "annotations": {},
        },
        "spec": {
            "clusterName": "c1", "bootstrap": {},
            "infrastructureRef": { "apiGroup": "i", "kind": "K", "name": name },
        },
        "status": { "nodeRef": { "name": format!("node-{name}") } },
    }))
}

pub fn node(ready: &str, since: &str) -> NodeSeen {
    NodeSeen::Found(Box::new(decode(json!({ "status": { "conditions": [condition("Ready", ready, since)] } }))))
}

pub fn healthy(name: &str) -> MachineSeen {
    MachineSeen {
        machine: machine(name),
        node: node("True", LONG_AGO),
        update_limits: UpdateLimits::default(),
        request: RequestSeen::Missing,
    }
}

pub fn not_ready(name: &str) -> MachineSeen {
    MachineSeen { node: node("Unknown", LONG_AGO), ..healthy(name) }
}

pub fn annotated(mut seen: MachineSeen, key: &str, value: &str) -> MachineSeen {
    seen.machine.metadata.annotations.get_or_insert_default().insert(key.to_owned(), value.to_owned());
    seen
}

pub fn with_condition(mut seen: MachineSeen, type_: &str, status: &str, since: &str) -> MachineSeen {
    seen.machine.status.conditions.push(decode(condition(type_, status, since)));
    seen
}

/// A check on Nodes that are not ready for five minutes and Machines that are `Bad` for ten.
pub fn observed(machines: Vec<MachineSeen>) -> Observed {
    Observed {
        now: "2026-01-01T00:00:00Z".parse().unwrap(),
        check: decode(json!({
            "metadata": {
                "name": "check", "namespace": "ns", "uid": "ku", "resourceVersion": "1", "generation": 1,
                "labels": { "cluster.x-k8s.io/cluster-name": "c1" },
                "ownerReferences": [
                    { "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": "c1", "uid": "cu" },
                ],
            },
            "spec": {
                "clusterName": "c1",
                "selector": { "matchLabels": { "pool": "a" } },
                "checks": {
                    "unhealthyNodeConditions": [{ "type": "Ready", "status": "Unknown", "timeoutSeconds": 300 }],
                    "unhealthyMachineConditions": [
                        { "type": "Bad", "status": "True", "timeoutSeconds": 600 },
                        { "type": "Updating", "status": "True", "timeoutSeconds": 3600 },
                    ],
                },
            },
        })),
        cluster: decode(json!({
            "metadata": { "name": "c1", "namespace": "ns", "uid": "cu" }, "spec": {},
            "status": { "conditions": [
                condition("ControlPlaneInitialized", "True", LONG_AGO),
                condition("InfrastructureReady", "True", LONG_AGO),
            ] },
        })),
        machines,
        template: TemplateSeen::NotReferenced,
    }
}

/// Carries out what is decided until nothing is left, and gives the reasons of the events.
pub fn settle(observed: &mut Observed) -> Vec<&'static str> {
    let mut told = Vec::new();
    for _ in 0..10 {
        let effects = decide(observed).plan.effects;
        if effects.is_empty() {
            return told;
        }
        told.extend(effects.into_iter().filter_map(|effect| carry_out(observed, effect)));
    }
    panic!("no rest: {:#?}", decide(observed).plan);
}

/// Does what a server would, and gives the reason of an event.
pub fn carry_out(observed: &mut Observed, effect: Effect) -> Option<&'static str> {
    match effect {
        Effect::Emit(event) => return Some(event.reason),
        Effect::Patch(patch) if patch.target.kind == "MachineHealthCheck" => {
            observed.check = merged(&observed.check, &patch);
        }
        Effect::Patch(patch) => {
            let seen = named(observed, &patch.target.name);
            seen.machine = merged(&seen.machine, &patch);
        }
        Effect::Apply(apply) => {
            named(observed, &apply.target.name).request = RequestSeen::Found(apply.intent);
        }
        Effect::Delete(delete) => named(observed, &delete.target.name).request = RequestSeen::Missing,
    }
    None
}

fn named<'a>(observed: &'a mut Observed, name: &str) -> &'a mut MachineSeen {
    observed.machines.iter_mut().find(|seen| seen.name() == name).unwrap()
}

/// Merges, unless the precondition does not hold.
fn merged<K: DeserializeOwned + serde::Serialize>(object: &K, patch: &Patch) -> K {
    let mut value = serde_json::to_value(object).unwrap();
    let version = value["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    assert!(patch.resource_version.as_ref().is_none_or(|expected| *expected == version), "a conflict: {patch:?}");
    merge::apply(&mut value, &patch.merge);
    value["metadata"]["resourceVersion"] = json!(format!("{version}1"));
    decode(value)
}

pub fn said(conditions: &[Condition], type_: &str) -> String {
    let Some(found) = get(conditions, type_) else { return "missing".to_owned() };
    let message = if found.message.is_empty() { String::new() } else { format!(": {}", found.message) };
    format!("{} {}{message}", found.status, found.reason)
}

pub fn health(observed: &Observed, machine: usize) -> String {
    said(&observed.machines[machine].machine.status.conditions, "HealthCheckSucceeded")
}

/// The health of a single Machine.
pub fn check(seen: MachineSeen, expected: &str) {
    let mut observed = observed(vec![seen]);
    settle(&mut observed);
    assert_eq!(health(&observed, 0), expected);
}

pub fn remediation(observed: &Observed, machine: usize) -> String {
    said(&observed.machines[machine].machine.status.conditions, "OwnerRemediated")
}

/// The same, with a template for repairs by others.
pub fn external(machines: Vec<MachineSeen>) -> Observed {
    let mut observed = observed(machines);
    observed.check.spec.remediation.template_ref =
        Some(decode(json!({ "apiVersion": "fix.io/v1", "kind": "FixTemplate", "name": "t" })));
    observed.template = TemplateSeen::Found(json!({ "spec": { "template": { "spec": { "reboot": true } } } }));
    observed
}
