use serde_json::{Value, json};

use crate::admission::testing::{check, check_default, check_update};
use crate::cluster::MachineDeployment;
use crate::vocabulary::refit::annotations::{IN_PLACE, ORDER};

fn strategy(strategy: Value) -> Value {
    json!({ "spec": { "rollout": { "strategy": strategy } } })
}

fn annotated(key: &str, value: &str) -> Value {
    json!({ "metadata": { "annotations": { key: value } } })
}

#[test]
fn an_empty_selector_becomes_one_for_the_name_and_the_cluster() {
    let labels = json!({ "cluster.x-k8s.io/cluster-name": "c", "cluster.x-k8s.io/deployment-name": "md" });
    check_default::<MachineDeployment>(json!({}), "/spec/selector", json!({ "matchLabels": labels }));
    check_default::<MachineDeployment>(json!({}), "/spec/template/metadata/labels", labels);
}

#[test]
fn a_selector_of_the_user_gets_the_cluster_only() {
    let patch = json!({ "spec": {
        "selector": { "matchLabels": { "a": "b" } },
        "template": { "metadata": { "labels": { "a": "b" } } },
    } });
    let labels = json!({ "a": "b", "cluster.x-k8s.io/cluster-name": "c" });
    check_default::<MachineDeployment>(patch.clone(), "/spec/selector/matchLabels", labels.clone());
    check_default::<MachineDeployment>(patch, "/spec/template/metadata/labels", labels);
}

#[test]
fn the_strategy_defaults_to_a_rolling_update_by_surge() {
    let expected = json!({ "type": "RollingUpdate", "rollingUpdate": { "maxSurge": 1, "maxUnavailable": 0 } });
    for given in [json!({}), strategy(json!({})), strategy(json!({ "type": "RollingUpdate" }))] {
        check_default::<MachineDeployment>(given, "/spec/rollout/strategy", expected.clone());
    }
}

#[test]
fn bounds_that_are_set_stay() {
    let given = json!({ "type": "RollingUpdate", "rollingUpdate": { "maxSurge": "20%", "maxUnavailable": 2 } });
    check_default::<MachineDeployment>(strategy(given.clone()), "/spec/rollout/strategy", given);
}

#[test]
fn on_delete_has_no_bounds() {
    let given = json!({ "type": "OnDelete" });
    check_default::<MachineDeployment>(strategy(given.clone()), "/spec/rollout/strategy", given);
}

#[test]
fn in_place_defaults_to_one_unavailable_and_no_surge() {
    for strategy_ in [json!({ "type": "InPlace" }), json!({ "type": "InPlace", "fallback": "RollingUpdate" })] {
        let expected = json!({ "maxSurge": 0, "maxUnavailable": 1 });
        check_default::<MachineDeployment>(strategy(strategy_), "/spec/rollout/strategy/rollingUpdate", expected);
    }
}

/// Where admission is not installed, whoever reads the strategy gets the same bounds.
#[test]
fn the_bounds_that_are_read_are_those_that_admission_writes() {
    let bounded = json!({ "type": "InPlace", "fallback": "RollingUpdate", "rollingUpdate": { "maxSurge": 2 } });
    for given in [json!({}), json!({ "type": "RollingUpdate" }), json!({ "type": "InPlace" }), bounded] {
        let read: crate::cluster::MachineDeploymentRolloutStrategy =
            serde_json::from_value(given.clone()).expect("it must be a strategy");
        let bounds = serde_json::to_value(read.bounds()).expect("bounds must encode");
        check_default::<MachineDeployment>(strategy(given), "/spec/rollout/strategy/rollingUpdate", bounds);
    }
}

#[test]
fn a_fallback_has_bounds_of_its_own() {
    let fallback = |bounds: Value| {
        strategy(json!({ "type": "InPlace", "fallback": "RollingUpdate", "fallbackRollingUpdate": bounds }))
    };
    let path = "spec.rollout.strategy.fallbackRollingUpdate";
    check::<MachineDeployment>(fallback(json!({ "maxSurge": 1, "maxUnavailable": 0 })), &[]);
    check::<MachineDeployment>(fallback(json!({ "maxUnavailable": "20%" })), &[]);
    check::<MachineDeployment>(fallback(json!({ "maxUnavailable": "some" })), &[&format!("{path}.maxUnavailable")]);
    check::<MachineDeployment>(fallback(json!({ "maxSurge": 0, "maxUnavailable": 0 })), &[path]);
    // In place needs no other machine, so the fallback has none either, unless it says so.
    check::<MachineDeployment>(fallback(json!({ "maxUnavailable": 0 })), &[path]);
    let without = strategy(json!({ "type": "InPlace", "fallbackRollingUpdate": { "maxSurge": 1 } }));
    check::<MachineDeployment>(without, &[path]);
}

#[test]
fn the_name_fits_into_a_label() {
    let name = |name: &str| json!({ "metadata": { "name": name } });
    check::<MachineDeployment>(name(&"a".repeat(63)), &[]);
    // Such a name cannot be a label of the template either.
    check::<MachineDeployment>(
        name(&"a".repeat(64)),
        &["metadata.name", "spec.selector", "spec.template.metadata.labels"],
    );
}

#[test]
fn bounds_are_numbers_or_percentages() {
    let bounds = |max_surge: Value, max_unavailable: Value| {
        strategy(json!({ "rollingUpdate": { "maxSurge": max_surge, "maxUnavailable": max_unavailable } }))
    };
    let path = "spec.rollout.strategy.rollingUpdate";
    check::<MachineDeployment>(bounds(json!(1), json!("10%")), &[]);
    check::<MachineDeployment>(bounds(json!("1"), json!(0)), &[&format!("{path}.maxSurge")]);
    check::<MachineDeployment>(bounds(json!(1), json!("some")), &[&format!("{path}.maxUnavailable")]);
}

#[test]
fn bounds_are_not_both_zero() {
    let path = "spec.rollout.strategy.rollingUpdate";
    let zero = |value: Value| json!({ "maxSurge": value, "maxUnavailable": 0 });
    for type_ in ["RollingUpdate", "InPlace"] {
        check::<MachineDeployment>(strategy(json!({ "type": type_, "rollingUpdate": zero(json!(0)) })), &[path]);
        check::<MachineDeployment>(strategy(json!({ "type": type_, "rollingUpdate": zero(json!("0%")) })), &[]);
    }
}

#[test]
fn max_in_flight_is_a_number_or_a_percentage() {
    let patch = |value: Value| json!({ "spec": { "remediation": { "maxInFlight": value } } });
    check::<MachineDeployment>(patch(json!(1)), &[]);
    check::<MachineDeployment>(patch(json!("20%")), &[]);
    check::<MachineDeployment>(patch(json!("20")), &["spec.remediation.maxInFlight"]);
}

#[test]
fn only_in_place_has_a_fallback() {
    let patch = |type_: &str| strategy(json!({ "type": type_, "fallback": "RollingUpdate" }));
    check::<MachineDeployment>(patch("InPlace"), &[]);
    for other in ["RollingUpdate", "OnDelete"] {
        check::<MachineDeployment>(patch(other), &["spec.rollout.strategy.fallback"]);
    }
}

#[test]
fn a_misspelt_policy_is_refused() {
    check::<MachineDeployment>(annotated(IN_PLACE, "Require"), &[]);
    check::<MachineDeployment>(annotated(IN_PLACE, "Requires"), &["metadata.annotations[refit.dev/in-place]"]);
    check::<MachineDeployment>(
        annotated("refit.dev/in-plase", "Require"),
        &["metadata.annotations[refit.dev/in-plase]"],
    );
    check::<MachineDeployment>(annotated(ORDER, "1"), &["metadata.annotations[refit.dev/order]"]);
}

#[test]
fn a_policy_cannot_become_misspelt() {
    let field = "metadata.annotations[refit.dev/in-place]";
    check_update::<MachineDeployment>(annotated(IN_PLACE, "Require"), annotated(IN_PLACE, "require"), &[field]);
    check_update::<MachineDeployment>(annotated(IN_PLACE, "Require"), annotated(IN_PLACE, "Never"), &[]);
}

#[test]
fn strategy_and_annotation_do_not_contradict_each_other() {
    let check_both = |policy: &str, type_: &str, expected: &[&str]| {
        let mut patch = annotated(IN_PLACE, policy);
        patch["spec"] = strategy(json!({ "type": type_ }))["spec"].clone();
        check::<MachineDeployment>(patch, expected);
    };
    check_both("Never", "InPlace", &["metadata.annotations[refit.dev/in-place]"]);
    check_both("Require", "InPlace", &[]);
    check_both("Never", "RollingUpdate", &[]);
}
