use bytes::Bytes;
use http::{HeaderMap, Method};

use super::*;
use crate::request::{Path, Query, Request, User};
use crate::resource::built_in;

fn now() -> Timestamp {
    "2026-01-01T00:00:10Z".parse().unwrap()
}

fn resource(plural: &str) -> &'static Resource {
    built_in::all().iter().find(|resource| resource.plural == plural).unwrap()
}

fn options(query: &str, body: &str) -> Result<DeleteOptions, Status> {
    DeleteOptions::parse(&Request {
        method: Method::DELETE,
        cluster: "".into(),
        path: Path::Other(String::new()),
        query: Query::parse(query),
        headers: HeaderMap::new(),
        body: Bytes::copy_from_slice(body.as_bytes()),
        user: User::default(),
    })
}

/// What becomes of an object with these metadata, in short.
fn check(plural: &str, live: Value, query: &str, expected: &str) {
    let outcome = delete(resource(plural), &live, &options(query, "").unwrap(), now());
    let found = match outcome {
        Err(status) => status.message,
        Ok(Change::Nothing) => "nothing".to_owned(),
        Ok(Change::Remove(_)) => "gone".to_owned(),
        Ok(Change::Put(object)) => {
            let metadata = &object["metadata"];
            let held: Vec<&str> = finalizers(&object).collect();
            let deleted = metadata["deletionTimestamp"].as_str().unwrap_or_default();
            format!("{deleted} {} {}", metadata["deletionGracePeriodSeconds"], held.join(","))
        }
    };
    assert_eq!(found, expected, "{live} {query}");
}

#[test]
fn finalizers_hold_an_object() {
    let held = json!({"metadata": {"name": "a", "finalizers": ["x/y"]}});
    check("configmaps", json!({"metadata": {"name": "a"}}), "", "gone");
    check("configmaps", held.clone(), "", "2026-01-01T00:00:10Z 0 x/y");
    check("configmaps", held, "propagationPolicy=Foreground", "2026-01-01T00:00:10Z 0 x/y,foregroundDeletion");
    check("configmaps", json!({"metadata": {}}), "propagationPolicy=Orphan", "2026-01-01T00:00:10Z 0 orphan");
    check("events", json!({"metadata": {}}), "propagationPolicy=Orphan", "gone");
}

#[test]
fn a_second_deletion_changes_nothing_but_the_propagation() {
    let marked = |finalizers: Value| {
        let time = "2026-01-01T00:00:01Z";
        json!({"metadata": {"deletionTimestamp": time, "deletionGracePeriodSeconds": 0, "finalizers": finalizers}})
    };
    check("secrets", marked(json!(["x/y"])), "", "nothing");
    check(
        "secrets",
        marked(json!(["orphan"])),
        "propagationPolicy=Foreground",
        "2026-01-01T00:00:01Z 0 foregroundDeletion",
    );
    check("secrets", marked(json!(["orphan"])), "propagationPolicy=Background", "gone");
}

#[test]
fn pods_on_a_node_get_time_to_end() {
    let pod = |phase: &str| json!({"metadata": {}, "spec": {"nodeName": "n"}, "status": {"phase": phase}});
    check("pods", json!({"metadata": {}, "spec": {}}), "", "gone");
    check("pods", pod("Running"), "", "2026-01-01T00:00:40Z 30 ");
    check("pods", pod("Running"), "gracePeriodSeconds=5", "2026-01-01T00:00:15Z 5 ");
    check("pods", pod("Running"), "gracePeriodSeconds=0", "gone");
    check("pods", pod("Succeeded"), "", "gone");
    let ending = json!({
        "metadata": {"deletionTimestamp": "2026-01-01T00:00:40Z", "deletionGracePeriodSeconds": 30},
        "spec": {"nodeName": "n"},
    });
    check("pods", ending.clone(), "", "nothing");
    check("pods", ending.clone(), "gracePeriodSeconds=40", "nothing");
    check("pods", ending.clone(), "gracePeriodSeconds=10", "2026-01-01T00:00:20Z 10 ");
    check("pods", ending, "gracePeriodSeconds=0", "gone");
}

#[test]
fn namespaces_are_emptied_first() {
    let namespace = json!({"metadata": {"name": "a"}, "spec": {"finalizers": ["kubernetes"]}});
    check("namespaces", namespace.clone(), "", "2026-01-01T00:00:10Z null ");
    let mut terminating = namespace;
    terminating["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:01Z".into();
    check("namespaces", terminating.clone(), "", "nothing");
    terminating["spec"] = json!({});
    check("namespaces", terminating, "", "gone");
    let default = json!({"metadata": {"name": "default"}});
    check("namespaces", default, "", "namespaces \"default\" is forbidden: this namespace may not be deleted");
}

#[test]
fn a_deletion_counts_as_a_change_of_what_is_wanted() {
    let live = json!({"metadata": {"generation": 3, "finalizers": ["x/y"]}});
    let outcome = delete(resource("daemonsets"), &live, &DeleteOptions::default(), now());
    let Ok(Change::Put(object)) = outcome else { panic!("it must be held") };
    assert_eq!(object["metadata"]["generation"], 4);
}

#[test]
fn preconditions_name_the_object_that_is_meant() {
    let live = json!({"metadata": {"name": "a", "uid": "y", "resourceVersion": "7"}});
    let check = |plural: &str, body: &str, expected: &str| {
        let refused = delete(resource(plural), &live, &options("", body).unwrap(), now());
        assert_eq!(refused.map_or_else(|status| status.message, |_| String::new()), expected);
    };
    check("leases", r#"{"preconditions":{"uid":"y","resourceVersion":"7"}}"#, "");
    check(
        "leases",
        r#"{"preconditions":{"uid":"x"}}"#,
        "Operation cannot be fulfilled on Lease.coordination.k8s.io \"a\": the UID in the precondition (x) does not match the UID in record (y). The object might have been deleted and then recreated",
    );
    check(
        "leases",
        r#"{"preconditions":{"resourceVersion":"6"}}"#,
        "Operation cannot be fulfilled on Lease.coordination.k8s.io \"a\": the ResourceVersion in the precondition (6) does not match the ResourceVersion in record (7). The object might have been modified",
    );
    check(
        "namespaces",
        r#"{"preconditions":{"uid":"x"}}"#,
        "Operation cannot be fulfilled on namespaces \"a\": Precondition failed: UID in precondition: x, UID in object meta: y",
    );
}

#[test]
fn wrong_options_are_refused() {
    let check = |query: &str, body: &str, expected: &str| {
        let refusal = options(query, body).map_or_else(|status| status.message, |_| String::new());
        assert!(refusal.contains(expected), "{refusal}");
    };
    check(
        "propagationPolicy=Foo",
        "",
        r#"DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Unsupported value: "Foo": supported values: "Foreground", "Background", "Orphan", "nil""#,
    );
    check(
        "",
        r#"{"propagationPolicy":"Orphan","orphanDependents":true}"#,
        r#"propagationPolicy: Invalid value: "Orphan": orphanDependents and deletionPropagation cannot be both set"#,
    );
    check("dryRun=", "", "dryRun: Unsupported value");
    check("", r#"{"dryRun":["x"]}"#, "dryRun: Unsupported value");
    check(
        "",
        r#"{"gracePeriodSeconds":"x"}"#,
        "json: cannot unmarshal string into Go struct field DeleteOptions.gracePeriodSeconds of type int64",
    );
    check("", r#"{"kind":"Foo","apiVersion":"v1"}"#, r#"no kind "Foo" is registered for version "v1""#);
    check("", "{", "");
}
