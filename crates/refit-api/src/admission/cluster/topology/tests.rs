use serde_json::{Value, json};

use crate::admission::testing::{check, check_update};
use crate::cluster::Cluster;
use crate::vocabulary::annotations::{
    AUTOSCALER_MAX_SIZE, AUTOSCALER_MIN_SIZE, TOPOLOGY_UPGRADE_CONCURRENCY, UNSAFE_UPDATE_CLASS_NAME,
    UNSAFE_UPDATE_VERSION,
};

/// A Cluster whose topology is as it should be, save for the members of `change`.
fn topology(change: Value) -> Value {
    let mut topology = json!({ "classRef": { "name": "class" }, "version": "v1.34.0" });
    for (key, value) in change.as_object().into_iter().flatten() {
        topology[key] = value.clone();
    }
    json!({ "spec": { "topology": topology } })
}

fn annotated(key: &str, value: &str, change: Value) -> Value {
    let mut patch = topology(change);
    patch["metadata"] = json!({ "annotations": { key: value } });
    patch
}

/// Worker machines `a` of each sort, with the members of `change` on top.
fn workers(sort: &str, change: Value) -> Value {
    let mut machines = json!({ "class": "worker", "name": "a" });
    for (key, value) in change.as_object().into_iter().flatten() {
        machines[key] = value.clone();
    }
    topology(json!({ "workers": { sort: [machines] } }))
}

/// Checks members that all three sorts of machines have.
#[track_caller]
fn check_everywhere(change: Value, refused: Option<&str>) {
    let fields = |path: &str| refused.map(|field| format!("{path}.{field}"));
    let check_at =
        |patch: Value, path: &str| check::<Cluster>(patch, &fields(path).as_deref().into_iter().collect::<Vec<_>>());
    check_at(topology(json!({ "controlPlane": change })), "spec.topology.controlPlane");
    check_at(workers("machineDeployments", change.clone()), "spec.topology.workers.machineDeployments[a]");
    check_at(workers("machinePools", change), "spec.topology.workers.machinePools[a]");
}

#[test]
fn the_version_is_strict() {
    check::<Cluster>(topology(json!({})), &[]);
    check::<Cluster>(topology(json!({ "version": "v1.34" })), &["spec.topology.version"]);
}

#[test]
fn metadata_is_such_that_objects_can_have_it() {
    check_everywhere(json!({ "metadata": { "labels": { "a": "b" } } }), None);
    check_everywhere(json!({ "metadata": { "labels": { "a": "b c" } } }), Some("metadata.labels"));
}

#[test]
fn reserved_taints_are_refused() {
    let taints = |key: &str| json!({ "taints": [{ "key": key, "effect": "NoSchedule", "propagation": "Always" }] });
    check_everywhere(taints("a.io/b"), None);
    check_everywhere(taints("node.kubernetes.io/not-ready"), Some("taints[0].key"));
}

#[test]
fn names_are_unique_within_their_sort() {
    let named = |names: [&str; 2]| names.map(|name| json!({ "class": "worker", "name": name }));
    for sort in ["machineDeployments", "machinePools"] {
        let field = format!("spec.topology.workers.{sort}[1].name");
        check::<Cluster>(topology(json!({ "workers": { sort: named(["a", "b"]) } })), &[]);
        check::<Cluster>(topology(json!({ "workers": { sort: named(["a", "a"]) } })), &[&field]);
    }
    let both = json!({ "machineDeployments": [named(["a", "b"])[0]], "machinePools": [named(["a", "b"])[0]] });
    check::<Cluster>(topology(json!({ "workers": both })), &[]);
}

#[test]
fn bounds_of_a_rollout_leave_it_room() {
    let path = "spec.topology.workers.machineDeployments[a].rollout.strategy.rollingUpdate";
    let bounds = |surge: Value, unavailable: Value| {
        let bounds = json!({ "maxSurge": surge, "maxUnavailable": unavailable });
        let strategy = json!({ "type": "RollingUpdate", "rollingUpdate": bounds });
        workers("machineDeployments", json!({ "rollout": { "strategy": strategy } }))
    };
    check::<Cluster>(bounds(json!(1), json!("10%")), &[]);
    check::<Cluster>(bounds(json!(0), json!(0)), &[path]);
    check::<Cluster>(bounds(json!("x"), json!("y")), &[&format!("{path}.maxUnavailable"), &format!("{path}.maxSurge")]);
}

#[test]
fn health_checks_follow_the_rules_of_machine_health_checks() {
    let health_check = |timeout: i32, bound: &str| {
        json!({ "healthCheck": {
            "checks": { "nodeStartupTimeoutSeconds": timeout },
            "remediation": { "triggerIf": { "unhealthyLessThanOrEqualTo": bound } },
        } })
    };
    let fields = |path: &str| {
        let path = format!("spec.topology.{path}.healthCheck");
        [
            format!("{path}.checks.nodeStartupTimeoutSeconds"),
            format!("{path}.remediation.triggerIf.unhealthyLessThanOrEqualTo"),
        ]
    };
    let control_plane = |change: Value| topology(json!({ "controlPlane": change }));
    let deployment = |change: Value| workers("machineDeployments", change);
    check::<Cluster>(control_plane(health_check(30, "40%")), &[]);
    check::<Cluster>(control_plane(health_check(29, "x")), &fields("controlPlane").each_ref().map(String::as_str));
    check::<Cluster>(deployment(health_check(30, "40%")), &[]);
    let expected = fields("workers.machineDeployments[a]");
    check::<Cluster>(deployment(health_check(29, "x")), &expected.each_ref().map(String::as_str));
}

#[test]
fn max_in_flight_is_a_number_or_a_percentage() {
    let patch = |value: &str| {
        workers("machineDeployments", json!({ "healthCheck": { "remediation": { "maxInFlight": value } } }))
    };
    check::<Cluster>(patch("20%"), &[]);
    let field = "spec.topology.workers.machineDeployments[a].healthCheck.remediation.maxInFlight";
    check::<Cluster>(patch("20"), &[field]);
}

#[test]
fn replicas_are_set_by_the_user_or_by_the_autoscaler() {
    for key in [AUTOSCALER_MIN_SIZE, AUTOSCALER_MAX_SIZE] {
        let metadata = json!({ "annotations": { key: "1" } });
        check::<Cluster>(workers("machineDeployments", json!({ "metadata": metadata })), &[]);
        check::<Cluster>(
            workers("machineDeployments", json!({ "metadata": metadata, "replicas": 3 })),
            &["spec.topology.workers.machineDeployments[a].replicas"],
        );
    }
    check::<Cluster>(workers("machineDeployments", json!({ "replicas": 3 })), &[]);
}

#[test]
fn at_least_one_deployment_is_upgraded_at_a_time() {
    let field = format!("metadata.annotations[{TOPOLOGY_UPGRADE_CONCURRENCY}]");
    check::<Cluster>(annotated(TOPOLOGY_UPGRADE_CONCURRENCY, "1", json!({})), &[]);
    for bad in ["0", "-1", "all", ""] {
        check::<Cluster>(annotated(TOPOLOGY_UPGRADE_CONCURRENCY, bad, json!({})), &[&field]);
    }
}

#[test]
fn an_existing_cluster_gets_no_topology() {
    check_update::<Cluster>(json!({}), topology(json!({})), &["spec.topology"]);
    check_update::<Cluster>(json!({}), annotated(UNSAFE_UPDATE_CLASS_NAME, "", json!({})), &[]);
}

#[test]
fn the_version_does_not_go_down() {
    let version = |version: &str| json!({ "version": version });
    let old = topology(version("v1.34.2"));
    for good in ["v1.34.2", "v1.34.2-rc.1", "v1.34.3", "v1.36.0"] {
        check_update::<Cluster>(old.clone(), topology(version(good)), &[]);
    }
    for bad in ["v1.34.1", "v1.33.9"] {
        check_update::<Cluster>(old.clone(), topology(version(bad)), &["spec.topology.version"]);
        check_update::<Cluster>(old.clone(), annotated(UNSAFE_UPDATE_VERSION, "", version(bad)), &[]);
    }
}
