//! How the tests of admission describe objects: a sample of each kind, and what differs from it as a merge patch.

use serde_json::{Value, json};

use super::{Admission, Verdict};
use crate::cluster::{Cluster, Machine, MachineDeployment, MachineHealthCheck, MachineSet};
use crate::runtime::ExtensionConfig;

/// A kind that has a sample: an object that is accepted, with little more than it must have.
pub trait Sample: Admission + std::fmt::Debug + PartialEq {
    fn sample() -> Value;
}

/// Demands that the sample, changed by `patch`, is refused for these fields and no others.
#[track_caller]
pub fn check<K: Sample>(patch: Value, refused_fields: &[&str]) {
    let verdict = defaulted::<K>(patch.clone(), None).validate(None);
    assert_eq!(fields(&verdict), refused_fields, "{} with {patch}: {:?}", K::DEFINITION.kind, verdict.errors);
}

/// Demands that an update from one changed sample to another is refused for these fields and no others.
#[track_caller]
pub fn check_update<K: Sample>(old: Value, new: Value, refused_fields: &[&str]) {
    let old = defaulted::<K>(old, None);
    let verdict = defaulted::<K>(new.clone(), Some(&old)).validate(Some(&old));
    assert_eq!(fields(&verdict), refused_fields, "{} to {new}: {:?}", K::DEFINITION.kind, verdict.errors);
}

/// Demands that defaulting the changed sample gives the field at `pointer` this value; null for none.
#[track_caller]
pub fn check_default<K: Sample>(patch: Value, pointer: &str, expected: Value) {
    let object = encode(&defaulted::<K>(patch.clone(), None));
    assert_eq!(object.pointer(pointer).unwrap_or(&Value::Null), &expected, "{pointer} with {patch}");
}

/// The sample, changed by `patch` and defaulted. Each time, defaulting it again must change nothing.
#[track_caller]
pub fn defaulted<K: Sample>(patch: Value, old: Option<&K>) -> K {
    let mut object = decode::<K>(patch);
    object.set_defaults(old);
    let once = object.clone();
    object.set_defaults(old);
    assert_eq!(object, once, "defaulting twice must equal defaulting once");
    once
}

/// The sample, changed by `patch`.
pub fn decode<K: Sample>(patch: Value) -> K {
    let mut object = K::sample();
    merge(&mut object, &patch);
    serde_json::from_value(object).expect("the changed sample must decode")
}

fn encode<K: Sample>(object: &K) -> Value {
    serde_json::to_value(object).expect("an object must encode")
}

fn fields(verdict: &Verdict) -> Vec<&str> {
    verdict.errors.iter().map(|error| error.field.as_str()).collect()
}

/// A JSON merge patch: a null removes.
fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    let Value::Object(target) = target else { return };
    for (key, value) in patch {
        if value.is_null() {
            target.remove(key);
        } else {
            merge(target.entry(key).or_insert(Value::Null), value);
        }
    }
}

fn reference(kind: &str) -> Value {
    json!({ "apiGroup": "infrastructure.cluster.x-k8s.io", "kind": kind, "name": "x" })
}

fn machine_spec() -> Value {
    json!({
        "clusterName": "c",
        "bootstrap": { "dataSecretName": "data" },
        "infrastructureRef": reference("SimMachine"),
    })
}

impl Sample for Machine {
    fn sample() -> Value {
        json!({ "metadata": { "name": "m" }, "spec": machine_spec() })
    }
}

impl Sample for MachineSet {
    fn sample() -> Value {
        json!({ "metadata": { "name": "ms" }, "spec": { "clusterName": "c", "template": { "spec": machine_spec() } } })
    }
}

impl Sample for MachineDeployment {
    fn sample() -> Value {
        json!({ "metadata": { "name": "md" }, "spec": { "clusterName": "c", "template": { "spec": machine_spec() } } })
    }
}

impl Sample for MachineHealthCheck {
    fn sample() -> Value {
        json!({
            "metadata": { "name": "mhc" },
            "spec": { "clusterName": "c", "selector": { "matchLabels": { "pool": "a" } } },
        })
    }
}

impl Sample for Cluster {
    fn sample() -> Value {
        json!({ "metadata": { "name": "c" }, "spec": { "infrastructureRef": reference("SimCluster") } })
    }
}

impl Sample for ExtensionConfig {
    fn sample() -> Value {
        json!({ "metadata": { "name": "ext" }, "spec": { "clientConfig": { "url": "https://example.com/prefix" } } })
    }
}
