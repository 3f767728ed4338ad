use serde_json::{Value, json};

use crate::admission::testing::{check, check_default, check_update};
use crate::cluster::MachineHealthCheck;

fn timeout(seconds: i32) -> Value {
    json!({ "spec": { "checks": { "nodeStartupTimeoutSeconds": seconds } } })
}

fn selector(selector: Value) -> Value {
    json!({ "spec": { "selector": selector } })
}

#[test]
fn the_cluster_is_named_in_a_label() {
    check_default::<MachineHealthCheck>(json!({}), "/metadata/labels/cluster.x-k8s.io~1cluster-name", json!("c"));
}

#[test]
fn a_node_has_ten_minutes_to_appear() {
    let pointer = "/spec/checks/nodeStartupTimeoutSeconds";
    check_default::<MachineHealthCheck>(json!({}), pointer, json!(600));
    check_default::<MachineHealthCheck>(timeout(0), pointer, json!(0));
}

#[test]
fn a_node_has_thirty_seconds_at_least_or_for_ever() {
    for good in [0, 30, 600] {
        check::<MachineHealthCheck>(timeout(good), &[]);
    }
    for bad in [-1, 1, 29] {
        check::<MachineHealthCheck>(timeout(bad), &["spec.checks.nodeStartupTimeoutSeconds"]);
    }
}

#[test]
fn the_selector_can_be_read() {
    let expression = |operator: &str| json!({ "matchExpressions": [{ "key": "a", "operator": operator }] });
    check::<MachineHealthCheck>(selector(expression("Exists")), &[]);
    check::<MachineHealthCheck>(selector(expression("Is")), &["spec.selector"]);
}

#[test]
fn the_selector_is_not_empty() {
    check::<MachineHealthCheck>(selector(json!({ "matchLabels": null })), &["spec.selector"]);
}

#[test]
fn the_selector_names_no_other_cluster() {
    let patch = |cluster: &str| selector(json!({ "matchLabels": { "cluster.x-k8s.io/cluster-name": cluster } }));
    check::<MachineHealthCheck>(patch("c"), &[]);
    check::<MachineHealthCheck>(patch("d"), &["spec.selector"]);
}

#[test]
fn the_cluster_name_is_immutable() {
    check_update::<MachineHealthCheck>(json!({}), json!({}), &[]);
    check_update::<MachineHealthCheck>(json!({}), json!({ "spec": { "clusterName": "d" } }), &["spec.clusterName"]);
}

#[test]
fn the_bound_on_unhealthy_machines_is_a_number_or_a_percentage() {
    let patch =
        |bound: Value| json!({ "spec": { "remediation": { "triggerIf": { "unhealthyLessThanOrEqualTo": bound } } } });
    check::<MachineHealthCheck>(patch(json!(2)), &[]);
    check::<MachineHealthCheck>(patch(json!("40%")), &[]);
    check::<MachineHealthCheck>(patch(json!("2")), &["spec.remediation.triggerIf.unhealthyLessThanOrEqualTo"]);
}
