use serde_json::{Value, json};

use crate::admission::testing::{check, check_default, check_update};
use crate::cluster::Machine;

#[test]
fn the_cluster_is_named_in_a_label() {
    check_default::<Machine>(json!({}), "/metadata/labels/cluster.x-k8s.io~1cluster-name", json!("c"));
}

#[test]
fn version_gets_its_prefix() {
    check_default::<Machine>(json!({ "spec": { "version": "1.34.0" } }), "/spec/version", json!("v1.34.0"));
    check_default::<Machine>(json!({}), "/spec/version", Value::Null);
}

#[test]
fn deletion_of_the_node_is_tried_for_ten_seconds() {
    let pointer = "/spec/deletion/nodeDeletionTimeoutSeconds";
    check_default::<Machine>(json!({}), pointer, json!(10));
    check_default::<Machine>(json!({ "spec": { "deletion": { "nodeDeletionTimeoutSeconds": 0 } } }), pointer, json!(0));
}

#[test]
fn bootstrap_has_a_source_unless_the_machine_is_of_a_pool() {
    let with_metadata =
        |metadata: Value| json!({ "metadata": metadata, "spec": { "bootstrap": { "dataSecretName": null } } });
    let owner =
        |kind: &str| json!({ "ownerReferences": [{ "apiVersion": "v1", "kind": kind, "name": "o", "uid": "u" }] });
    check::<Machine>(json!({}), &[]);
    check::<Machine>(with_metadata(json!({})), &["spec.bootstrap"]);
    check::<Machine>(with_metadata(json!({ "labels": { "cluster.x-k8s.io/pool-name": "p" } })), &[]);
    check::<Machine>(with_metadata(owner("MachinePool")), &[]);
    check::<Machine>(with_metadata(owner("MachineSet")), &["spec.bootstrap"]);
}

#[test]
fn the_cluster_name_is_immutable() {
    check_update::<Machine>(json!({}), json!({}), &[]);
    check_update::<Machine>(json!({}), json!({ "spec": { "clusterName": "d" } }), &["spec.clusterName"]);
}

#[test]
fn the_version_is_strict() {
    check::<Machine>(json!({ "spec": { "version": "v1.34.0" } }), &[]);
    check::<Machine>(json!({ "spec": { "version": "v1.34" } }), &["spec.version"]);
}

#[test]
fn what_an_update_in_place_changes_is_not_immutable() {
    let changed =
        json!({ "spec": { "version": "v1.35.0", "failureDomain": "b", "infrastructureRef": { "name": "y" } } });
    check_update::<Machine>(json!({ "spec": { "version": "v1.34.0", "failureDomain": "a" } }), changed, &[]);
}

#[test]
fn reserved_taints_are_refused() {
    check::<Machine>(tainted("a.io/b", json!({})), &[]);
    check::<Machine>(tainted("node.cluster.x-k8s.io/uninitialized", json!({})), &["spec.taints[0].key"]);
}

#[test]
fn only_control_planes_have_the_taint_of_control_planes() {
    let key = "node-role.kubernetes.io/control-plane";
    check::<Machine>(tainted(key, json!({})), &["spec.taints[0].key"]);
    check::<Machine>(tainted(key, json!({ "cluster.x-k8s.io/control-plane": "" })), &[]);
}

fn tainted(key: &str, labels: Value) -> Value {
    let taint = json!({ "key": key, "effect": "NoSchedule", "propagation": "Always" });
    json!({ "metadata": { "labels": labels }, "spec": { "taints": [taint] } })
}
