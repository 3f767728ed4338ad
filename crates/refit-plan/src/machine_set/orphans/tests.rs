use serde_json::json;

use super::*;
use crate::testing::{machine_of, machine_set};

/// An object of the MachineSet `ms` that no Machine has taken over.
fn orphan(kind: &str, name: &str) -> Value {
    json!({
        "apiVersion": "x.io/v1",
        "kind": kind,
        "metadata": {
            "name": name, "namespace": "ns", "uid": format!("uid-{name}"), "resourceVersion": "7",
            "annotations": { CLONED_FROM_NAME: format!("ms-{}", kind.to_lowercase()) },
            "ownerReferences": [
                { "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineSet", "name": "ms", "uid": "uid-ms" },
            ],
        },
    })
}

fn with(mut object: Value, pointer: &str, value: Value) -> Value {
    let (parent, name) = pointer.rsplit_once('/').expect("a pointer must have a slash");
    object.pointer_mut(parent).expect("the parent must exist")[name] = value;
    object
}

/// The names of what is finished and of what is deleted.
fn check(hosts: &[Value], configs: &[Value], missing: usize, finished: &[&str], deleted: &[(&str, &str)]) {
    let set = machine_set("ms", 3);
    let machine = machine_of(&set, "taken");
    let objects =
        ProviderObjects { infrastructure: Listed::All(hosts.to_vec()), bootstrap: Some(Listed::All(configs.to_vec())) };
    let found = orphans(&set, &[&machine], &objects, missing).expect("all was read");
    let names: Vec<&str> = found.unfinished.iter().map(|unfinished| unfinished.name.as_str()).collect();
    assert_eq!(names, finished);
    let targets: Vec<(&str, &str)> = found
        .delete
        .iter()
        .map(|effect| match effect {
            Effect::Delete(Delete { target, resource_version }) => {
                assert!(target.uid.is_some(), "a deletion must name a uid");
                assert_eq!(resource_version.as_deref(), Some("7"), "a Machine may have been given it since");
                (target.kind.as_str(), target.name.as_str())
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(targets, deleted);
}

#[test]
fn orphans_are_finished_while_machines_are_missing_and_deleted_otherwise() {
    let hosts = [orphan("Host", "a"), orphan("Host", "b")];
    let configs = [orphan("Boot", "a"), orphan("Boot", "c")];
    check(&hosts, &configs, 2, &["a", "b"], &[("Boot", "c")]);
    check(&hosts, &configs, 0, &[], &[("Host", "a"), ("Host", "b"), ("Boot", "a"), ("Boot", "c")]);
}

#[test]
fn what_a_machine_refers_to_is_no_orphan() {
    check(&[orphan("Host", "taken")], &[orphan("Boot", "taken")], 0, &[], &[]);
}

#[test]
fn what_a_machine_owns_is_no_orphan_even_if_the_machine_is_elsewhere() {
    let machine = json!({ "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "name": "moved", "uid": "m" });
    let mut moved = orphan("Host", "moved");
    moved["metadata"]["ownerReferences"].as_array_mut().expect("it must be a list").push(machine.clone());
    check(&[moved], &[], 0, &[], &[]);
    check(&[with(orphan("Host", "moved"), "/metadata/ownerReferences", json!([machine]))], &[], 0, &[], &[]);
}

#[test]
fn what_another_machine_set_owns_is_left_alone() {
    let other =
        json!([{ "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineSet", "name": "ms", "uid": "anew" }]);
    check(&[with(orphan("Host", "a"), "/metadata/ownerReferences", other)], &[], 1, &[], &[]);
    check(&[with(orphan("Host", "a"), "/metadata/ownerReferences", json!("nonsense"))], &[], 1, &[], &[]);
    check(&[json!(null), json!({ "metadata": {} })], &[], 1, &[], &[]);
}

#[test]
fn what_came_from_another_template_is_not_used() {
    let old = with(orphan("Host", "a"), "/metadata/annotations", json!({ CLONED_FROM_NAME: "before" }));
    check(&[old], &[], 1, &[], &[("Host", "a")]);
}

#[test]
fn what_is_going_is_neither_used_nor_deleted_again() {
    check(&[with(orphan("Host", "a"), "/metadata/deletionTimestamp", json!("2020-01-01T00:00:00Z"))], &[], 1, &[], &[]);
    let going = with(orphan("Host", "a"), "/metadata/deletionTimestamp", json!("2020-01-01T00:00:00Z"));
    check(&[going], &[orphan("Boot", "a")], 1, &[], &[("Boot", "a")]);
}

/// DESIGN 5.3: a failed list is not an empty one.
#[test]
fn a_list_that_failed_decides_nothing() {
    let set = machine_set("ms", 1);
    let failed = Unreadable { what: "Hosts".to_owned(), why: "timeout".to_owned() };
    let lists = |infrastructure, bootstrap| ProviderObjects { infrastructure, bootstrap };
    let unreadable = || Listed::Unreadable(failed.clone());
    for objects in [lists(unreadable(), None), lists(Listed::All(vec![orphan("Host", "a")]), Some(unreadable()))] {
        assert_eq!(orphans(&set, &[], &objects, 0), Err(failed.clone()));
    }
}
