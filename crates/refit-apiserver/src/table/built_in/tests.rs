use serde_json::json;

use super::*;
use crate::resource::built_in;

/// The cells of an object without its name and, where it is the last of the narrow ones, its age.
fn check(plural: &str, object: &Value, expected: &Value) {
    let resource = built_in::all().iter().find(|resource| resource.plural == plural).expect("it must be built in");
    let printer = printer(resource);
    let row = (printer.row)(object, "2026-01-01T00:10:00Z".parse().unwrap());
    assert_eq!(row.cells.len(), printer.columns.len(), "{plural}: a cell for each column");
    let cells = printer.columns.iter().zip(row.cells).filter(|(column, _)| !matches!(column.name, "Name" | "Age"));
    assert_eq!(&cells.map(|(_, cell)| cell).collect::<Value>(), expected, "{plural}: {object}");
}

/// Ready, status and restarts of a pod.
fn check_pod(pod: &Value, expected: [&str; 3]) {
    let row = (pod::PODS.row)(pod, "2026-01-01T00:10:00Z".parse().unwrap());
    assert_eq!(row.cells[1..4], expected.map(Value::from), "{pod}");
}

#[test]
fn pods_are_summed_up_by_their_containers() {
    let spec = json!({"containers": [{"name": "a"}, {"name": "b"}]});
    let pod = |status: Value| json!({"spec": spec, "status": status});
    check_pod(&pod(json!({"phase": "Pending"})), ["0/2", "Pending", "0"]);
    check_pod(&pod(json!({"phase": "Failed", "reason": "Evicted"})), ["0/2", "Evicted", "0"]);
    let running = json!({"ready": true, "state": {"running": {}}, "restartCount": 0});
    let waiting = json!({"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "restartCount": 3,
        "lastState": {"terminated": {"finishedAt": "2026-01-01T00:09:00Z"}}});
    let statuses = |containers: Value| pod(json!({"phase": "Running", "containerStatuses": containers}));
    check_pod(&statuses(json!([running, running])), ["2/2", "Running", "0"]);
    check_pod(&statuses(json!([running, waiting])), ["1/2", "CrashLoopBackOff", "3 (60s ago)"]);
    let done = json!({"state": {"terminated": {"reason": "Completed", "exitCode": 0}}});
    check_pod(&statuses(json!([done, running])), ["1/2", "NotReady", "0"]);
    let failed = json!({"state": {"terminated": {"exitCode": 3}}});
    check_pod(&statuses(json!([done, failed])), ["0/2", "ExitCode:3", "0"]);
    let mut deleted = statuses(json!([running, running]));
    deleted["metadata"] = json!({"deletionTimestamp": "2026-01-01T00:00:00Z"});
    check_pod(&deleted, ["2/2", "Terminating", "0"]);
}

#[test]
fn pods_that_initialize_say_how_far_they_are() {
    let spec = json!({"containers": [{"name": "a"}], "initContainers": [{"name": "i"}, {"name": "j"}]});
    let pod = |init: Value| json!({"spec": spec, "status": {"phase": "Pending", "initContainerStatuses": init}});
    let done = json!({"name": "i", "state": {"terminated": {"exitCode": 0}}});
    let waiting = json!({"name": "j", "state": {"waiting": {"reason": "PodInitializing"}}, "restartCount": 2});
    check_pod(&pod(json!([done, waiting])), ["0/1", "Init:1/2", "2"]);
    let failed = json!({"name": "i", "state": {"terminated": {"exitCode": 1, "signal": 9}}});
    check_pod(&pod(json!([failed])), ["0/1", "Init:Signal:9", "0"]);
    let sidecar = json!({"spec": {"containers": [{"name": "a"}], "initContainers": [{"name": "s", "restartPolicy": "Always"}]},
        "status": {"phase": "Running", "initContainerStatuses": [{"name": "s", "started": true, "ready": true}]}});
    check_pod(&sidecar, ["1/2", "Running", "0"]);
}

#[test]
fn nodes_show_readiness_roles_and_addresses() {
    let node = json!({
        "metadata": {"labels": {"node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/control-plane": ""}},
        "spec": {"unschedulable": true},
        "status": {
            "conditions": [{"type": "Ready", "status": "False"}],
            "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
            "nodeInfo": {"kubeletVersion": "v1.36.3", "kernelVersion": "6.1", "architecture": "amd64"},
        },
    });
    let expected = json!([
        "NotReady,SchedulingDisabled",
        "control-plane,worker",
        "v1.36.3",
        "10.0.0.1",
        "<none>",
        "<unknown>",
        "6.1 (amd64)",
        "<unknown>",
    ]);
    check("nodes", &node, &expected);
}

#[test]
fn services_show_where_they_are_reached() {
    let service = |kind: &str| {
        json!({"spec": {"type": kind, "clusterIPs": ["10.0.0.7"], "externalName": "x.io",
            "ports": [{"port": 80, "protocol": "TCP"}, {"port": 443, "nodePort": 30443, "protocol": "TCP"}]}})
    };
    let check_external = |kind: &str, external: &str| {
        let ports = "80/TCP,443:30443/TCP";
        check("services", &service(kind), &json!([kind, "10.0.0.7", external, ports, "<none>"]));
    };
    check_external("ClusterIP", "<none>");
    check_external("LoadBalancer", "<pending>");
    check_external("ExternalName", "x.io");
}

#[test]
fn both_forms_of_events_are_printed_alike() {
    let expected = json!(["60s", "Normal", "Made", "machine/m1", "", "refit, host", "made it", "2m", 3]);
    let core = json!({"type": "Normal", "reason": "Made", "message": " made it\n", "count": 3,
        "involvedObject": {"kind": "Machine", "name": "m1"}, "source": {"component": "refit", "host": "host"},
        "firstTimestamp": "2026-01-01T00:08:00Z", "lastTimestamp": "2026-01-01T00:09:00Z"});
    check("events", &core, &expected);
    let new = json!({"type": "Normal", "reason": "Made", "note": "made it", "eventTime": "2026-01-01T00:08:00.000000Z",
        "regarding": {"kind": "Machine", "name": "m1"}, "reportingController": "refit", "reportingInstance": "host",
        "series": {"count": 3, "lastObservedTime": "2026-01-01T00:09:00.000000Z"}});
    check("events", &new, &expected);
}

#[test]
fn an_object_without_anything_has_a_full_row() {
    for resource in built_in::all() {
        let printer = printer(resource);
        let row = (printer.row)(&json!({}), Timestamp::UNIX_EPOCH);
        assert_eq!(row.cells.len(), printer.columns.len(), "{}", resource.plural);
    }
}
