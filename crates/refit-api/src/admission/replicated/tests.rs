use serde_json::{Value, json};

use crate::admission::testing::{check, check_default, check_update, defaulted};
use crate::cluster::{MachineDeployment, MachineSet};
use crate::vocabulary::annotations::{AUTOSCALER_MAX_SIZE, AUTOSCALER_MIN_SIZE, SKIP_PREFLIGHT_CHECKS};

/// Both kinds have the rule.
#[track_caller]
fn check_both(patch: Value, refused_fields: &[&str]) {
    check::<MachineDeployment>(patch.clone(), refused_fields);
    check::<MachineSet>(patch, refused_fields);
}

#[track_caller]
fn check_default_of_both(patch: Value, pointer: &str, expected: Value) {
    check_default::<MachineDeployment>(patch.clone(), pointer, expected.clone());
    check_default::<MachineSet>(patch, pointer, expected);
}

fn autoscaled(min: &str, max: &str) -> Value {
    json!({ "metadata": { "annotations": { AUTOSCALER_MIN_SIZE: min, AUTOSCALER_MAX_SIZE: max } } })
}

#[test]
fn the_samples_are_accepted() {
    check_both(json!({}), &[]);
}

#[test]
fn the_cluster_is_named_in_a_label() {
    check_default_of_both(json!({}), "/metadata/labels/cluster.x-k8s.io~1cluster-name", json!("c"));
}

#[test]
fn version_gets_its_prefix() {
    let patch = json!({ "spec": { "template": { "spec": { "version": "1.34.0" } } } });
    check_default_of_both(patch, "/spec/template/spec/version", json!("v1.34.0"));
}

#[test]
fn replicas_that_are_set_stay() {
    let mut patch = autoscaled("3", "5");
    patch["spec"] = json!({ "replicas": 0 });
    check_default_of_both(patch, "/spec/replicas", json!(0));
}

#[test]
fn replicas_are_one_without_an_autoscaler() {
    check_default_of_both(json!({}), "/spec/replicas", json!(1));
    for only in [AUTOSCALER_MIN_SIZE, AUTOSCALER_MAX_SIZE] {
        check_default_of_both(json!({ "metadata": { "annotations": { only: "3" } } }), "/spec/replicas", json!(1));
    }
}

#[test]
fn new_replicas_start_at_the_least_of_the_autoscaler() {
    check_default_of_both(autoscaled("3", "5"), "/spec/replicas", json!(3));
}

#[test]
fn replicas_handed_to_the_autoscaler_move_into_its_range() {
    for (old, expected) in [(1, 3), (3, 3), (4, 4), (9, 5)] {
        let stored = json!({ "spec": { "replicas": old } });
        let stored_deployment = defaulted::<MachineDeployment>(stored.clone(), None);
        let deployment = defaulted(autoscaled("3", "5"), Some(&stored_deployment));
        assert_eq!(deployment.spec.replicas, Some(expected), "MachineDeployment with {old}");
        let stored_set = defaulted::<MachineSet>(stored, None);
        let set = defaulted(autoscaled("3", "5"), Some(&stored_set));
        assert_eq!(set.spec.replicas, Some(expected), "MachineSet with {old}");
    }
}

#[test]
fn an_autoscaler_range_upside_down_gives_its_least() {
    check_default_of_both(autoscaled("5", "3"), "/spec/replicas", json!(5));
}

#[test]
fn sizes_of_the_autoscaler_are_integers() {
    let (min, max) = (
        format!("metadata.annotations[{AUTOSCALER_MIN_SIZE}]"),
        format!("metadata.annotations[{AUTOSCALER_MAX_SIZE}]"),
    );
    check_both(autoscaled("1", "3"), &[]);
    check_both(autoscaled("one", "3"), &[&min]);
    check_both(autoscaled("1", "3.5"), &[&max]);
    check_both(autoscaled("", ""), &[&min, &max]);
}

#[test]
fn bootstrap_has_a_source() {
    let without = json!({ "spec": { "template": { "spec": { "bootstrap": { "dataSecretName": null } } } } });
    check_both(without, &["spec.template.spec.bootstrap"]);
}

#[test]
fn the_selector_can_be_read() {
    let expression = |operator: &str| json!([{ "key": "a", "operator": operator, "values": ["b"] }]);
    let patch = |operator: &str| {
        json!({ "spec": {
            "selector": { "matchExpressions": expression(operator) },
            "template": { "metadata": { "labels": { "a": "b" } } },
        } })
    };
    check_both(patch("In"), &[]);
    check_both(patch("Like"), &["spec.selector"]);
}

#[test]
fn the_template_matches_the_selector() {
    let patch = |label: &str| {
        json!({ "spec": {
            "selector": { "matchLabels": { "a": "b" } },
            "template": { "metadata": { "labels": { "a": label } } },
        } })
    };
    check_both(patch("b"), &[]);
    check_both(patch("c"), &["spec.template.metadata.labels"]);
}

#[test]
fn skipped_preflight_checks_exist() {
    let field = format!("metadata.annotations[{SKIP_PREFLIGHT_CHECKS}]");
    let patch = |skipped: &str| json!({ "metadata": { "annotations": { SKIP_PREFLIGHT_CHECKS: skipped } } });
    for good in ["", "All", "KubeadmVersionSkew, KubernetesVersionSkew", "ControlPlaneIsStable,ControlPlaneVersionSkew"]
    {
        check_both(patch(good), &[]);
    }
    check_both(patch("all"), &[&field]);
    check_both(patch("All,x,y"), &[&field, &field]);
    check_both(patch("All,"), &[&field]);
}

#[test]
fn the_cluster_name_is_immutable() {
    let moved = json!({ "spec": { "clusterName": "d", "template": { "spec": { "clusterName": "d" } } } });
    check_both(moved.clone(), &[]);
    check_update::<MachineDeployment>(json!({}), json!({}), &[]);
    check_update::<MachineDeployment>(json!({}), moved.clone(), &["spec.clusterName"]);
    check_update::<MachineSet>(json!({}), json!({}), &[]);
    check_update::<MachineSet>(json!({}), moved, &["spec.clusterName"]);
}

#[test]
fn the_cluster_name_is_that_of_the_template() {
    check_both(json!({ "spec": { "template": { "spec": { "clusterName": "d" } } } }), &["spec.clusterName"]);
}

#[test]
fn the_version_of_the_template_is_strict() {
    let patch = |version: &str| json!({ "spec": { "template": { "spec": { "version": version } } } });
    check_both(patch("v1.34.0"), &[]);
    check_both(patch("v1.34"), &["spec.template.spec.version"]);
}

#[test]
fn names_of_machines_are_random_and_valid() {
    let patch = |template: &str| json!({ "spec": { "machineNaming": { "template": template } } });
    check_both(patch("{{ .cluster.name }}-{{ .random }}"), &[]);
    check_both(patch("{{ .cluster.name }}"), &["spec.machineNaming.template"]);
    check_both(patch("{{ .kubeadmControlPlane.name }}-{{ .random }}"), &["spec.machineNaming.template"]);
}

#[test]
fn reserved_taints_are_refused() {
    let patch = |key: &str| {
        let taint = json!({ "key": key, "effect": "NoSchedule", "propagation": "Always" });
        json!({ "spec": { "template": { "spec": { "taints": [taint] } } } })
    };
    check_both(patch("a.io/b"), &[]);
    check_both(patch("node.kubernetes.io/not-ready"), &["spec.template.spec.taints[0].key"]);
    check_both(patch("node-role.kubernetes.io/control-plane"), &["spec.template.spec.taints[0].key"]);
}

#[test]
fn the_metadata_of_the_template_is_valid() {
    let patch =
        |annotation: &str| json!({ "spec": { "template": { "metadata": { "annotations": { annotation: "" } } } } });
    check_both(patch("a.io/b"), &[]);
    check_both(patch("a b"), &["spec.template.metadata.annotations"]);
}
