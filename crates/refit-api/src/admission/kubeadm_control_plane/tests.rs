//! A test per rule: what passes, and what does not and where.

mod change;
mod defaults;
mod state;

use serde_json::{Value, json};

use super::*;

/// A KubeadmControlPlane that breaks no rule, with `patch` merged into it and defaulted.
fn kcp(patch: Value) -> KubeadmControlPlane {
    let mut kcp = written(patch);
    kcp.set_defaults(None);
    kcp
}

/// The same before defaulting.
fn written(patch: Value) -> KubeadmControlPlane {
    let mut object = json!({
        "metadata": { "name": "cp", "namespace": "default" },
        "spec": {
            "version": "v1.31.0",
            "machineTemplate": {
                "spec": { "infrastructureRef": { "apiGroup": "x.io", "kind": "HostTemplate", "name": "cp" } },
            },
        },
    });
    merge(&mut object, patch);
    serde_json::from_value(object).expect("a KubeadmControlPlane must decode")
}

/// A JSON merge patch, without the removing.
fn merge(target: &mut Value, patch: Value) {
    match (target, patch) {
        (Value::Object(target), Value::Object(patch)) => {
            patch.into_iter().for_each(|(key, value)| merge(target.entry(key).or_insert(Value::Null), value));
        }
        (target, patch) => *target = patch,
    }
}

fn spec(spec: Value) -> Value {
    json!({ "spec": spec })
}

fn cluster_configuration(cluster: Value) -> Value {
    spec(json!({ "kubeadmConfigSpec": { "clusterConfiguration": cluster } }))
}

fn external_etcd() -> Value {
    json!({ "external": { "endpoints": ["https://e"], "caFile": "/ca", "certFile": "/cert", "keyFile": "/key" } })
}

/// The errors of a new object.
fn check(patch: Value, expected: &[&str]) {
    assert_eq!(errors(&kcp(patch).validate(None)), expected);
}

/// The errors of the step from one object to another.
fn check_change(old: Value, new: Value, expected: &[&str]) {
    assert_eq!(errors(&kcp(new).validate(Some(&kcp(old)))), expected);
}

fn errors(verdict: &Verdict) -> Vec<String> {
    verdict.errors.iter().map(ToString::to_string).collect()
}
