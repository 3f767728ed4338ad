use serde_json::{Value, json};

use super::*;
use crate::admission::testing::{check, check_default, check_update, decode};

fn topology(version: &str) -> Value {
    json!({ "spec": { "topology": { "classRef": { "name": "class" }, "version": version } } })
}

fn control_plane(name: Option<&str>) -> Value {
    let reference =
        |name| json!({ "apiGroup": "controlplane.cluster.x-k8s.io", "kind": "KubeadmControlPlane", "name": name });
    json!({ "spec": { "controlPlaneRef": name.map(reference) } })
}

#[test]
fn a_cluster_without_topology_has_no_defaults() {
    let mut cluster = decode::<Cluster>(json!({}));
    cluster.set_defaults(None);
    assert_eq!(cluster, decode::<Cluster>(json!({})));
}

#[test]
fn the_version_of_a_topology_gets_its_prefix() {
    for version in ["1.34.0", "v1.34.0"] {
        check_default::<Cluster>(topology(version), "/spec/topology/version", json!("v1.34.0"));
    }
}

#[test]
fn the_user_is_told_that_a_topology_is_only_kept() {
    let [without, with, changed] = [json!({}), topology("v1.34.0"), topology("v1.35.0")].map(decode::<Cluster>);
    let told = Verdict { errors: Vec::new(), warnings: vec![TOPOLOGY_WARNING.to_owned()] };
    assert_eq!(with.validate(None), told);
    assert_eq!(changed.validate(Some(&with)), told);
    assert_eq!(with.validate(Some(&with)), Verdict::default());
    assert_eq!(without.validate(None), Verdict::default());
}

#[test]
fn the_name_fits_into_a_label() {
    let name = |name: &str| json!({ "metadata": { "name": name } });
    check::<Cluster>(name(&"a".repeat(63)), &[]);
    for bad in ["-a", &"a".repeat(64)] {
        check::<Cluster>(name(bad), &["metadata.name"]);
    }
}

#[test]
fn a_cluster_is_made_of_something() {
    let without_infrastructure = |mut patch: Value| {
        patch["spec"]["infrastructureRef"] = Value::Null;
        patch
    };
    check::<Cluster>(json!({}), &[]);
    check::<Cluster>(without_infrastructure(control_plane(Some("kcp"))), &[]);
    check::<Cluster>(without_infrastructure(topology("v1.34.0")), &[]);
    check::<Cluster>(without_infrastructure(json!({ "spec": { "paused": true } })), &["spec"]);
}

#[test]
fn the_infrastructure_cannot_be_removed() {
    let with = control_plane(Some("a"));
    let mut without = with.clone();
    without["spec"]["infrastructureRef"] = Value::Null;
    check_update::<Cluster>(with.clone(), without.clone(), &["spec.infrastructureRef"]);
    check_update::<Cluster>(without, with, &[]);
}

#[test]
fn the_control_plane_cannot_be_removed() {
    check_update::<Cluster>(control_plane(Some("a")), control_plane(None), &["spec.controlPlaneRef"]);
    check_update::<Cluster>(control_plane(Some("a")), control_plane(Some("b")), &[]);
    check_update::<Cluster>(control_plane(None), control_plane(Some("a")), &[]);
}

#[test]
fn the_topology_cannot_be_removed() {
    check_update::<Cluster>(topology("v1.34.0"), json!({}), &["spec.topology"]);
    check_update::<Cluster>(topology("v1.34.0"), topology("v1.34.0"), &[]);
}

#[test]
fn networks_are_in_cidr_notation() {
    let network = |pods: &str, services: &str| {
        json!({ "spec": { "clusterNetwork": {
            "pods": { "cidrBlocks": ["10.0.0.0/16", pods] },
            "services": { "cidrBlocks": [services] },
        } } })
    };
    for good in ["192.168.0.0/16", "192.168.1.7/32", "0.0.0.0/0", "fd00::/48", "::/128"] {
        check::<Cluster>(network(good, good), &[]);
    }
    for bad in
        ["", "10.0.0.0", "10.0.0.0/33", "10.0.0.0/+8", "10.0.0.0/", "10.0.0/8", "010.0.0.0/8", "fd00::/129", "a/8"]
    {
        check::<Cluster>(
            network(bad, bad),
            &["spec.clusterNetwork.pods.cidrBlocks[1]", "spec.clusterNetwork.services.cidrBlocks[0]"],
        );
    }
}

#[test]
fn a_misspelt_policy_is_refused() {
    let annotated = |key: &str, value: &str| json!({ "metadata": { "annotations": { key: value } } });
    check::<Cluster>(annotated("refit.dev/in-place", "Require"), &[]);
    check::<Cluster>(annotated("refit.dev/in-place", "Yes"), &["metadata.annotations[refit.dev/in-place]"]);
    check::<Cluster>(annotated("refit.dev/keep-original", "true"), &["metadata.annotations[refit.dev/keep-original]"]);
}
