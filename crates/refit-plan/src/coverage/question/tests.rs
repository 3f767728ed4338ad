use serde_json::{Value, json};

use super::super::testing::{machine_objects, machine_set_objects, merge_patch, name, object, provider_object};
use super::*;
use crate::coverage::{FieldValue, PatchProblem};

fn paths(changes: &Changes) -> Vec<String> {
    changes.listed.iter().map(|change| format!("{:?} {}", change.object, change.path)).collect()
}

fn machine_question(edit: impl Fn(&mut MachineObjects)) -> Question {
    let current = machine_objects("v1.34.0", json!({ "memoryMiB": 1 }), Some(json!({ "files": [] })));
    let mut desired = current.clone();
    edit(&mut desired);
    Question::about_machine(current, desired).expect("the question must be fine")
}

fn machine_with(spec: Value) -> impl Fn(&mut MachineObjects) {
    move |objects| {
        let mut machine = serde_json::to_value(&objects.machine).expect("a Machine must encode");
        for (name, value) in spec.as_object().expect("fields") {
            machine["spec"][name] = value.clone();
        }
        objects.machine = serde_json::from_value(machine).expect("the Machine must decode");
    }
}

#[test]
fn of_a_machine_only_what_updates_are_for_counts() {
    let check = |spec: Value, expected: &[&str]| {
        let question = machine_question(machine_with(spec));
        assert_eq!(paths(&question.changes()), expected);
        assert_eq!(question.is_settled(), expected.is_empty());
    };
    check(json!({ "version": "v1.35.0" }), &["Machine spec.version"]);
    check(json!({ "failureDomain": "b" }), &["Machine spec.failureDomain"]);
    check(
        json!({
            "clusterName": "other", "bootstrap": { "dataSecretName": "s" }, "providerID": "p", "minReadySeconds": 5,
            "infrastructureRef": { "apiGroup": "x.io", "kind": "K", "name": "n" },
            "readinessGates": [{ "conditionType": "X" }], "taints": [{ "key": "k", "effect": "NoSchedule", "propagation": "Always" }],
            "deletion": { "nodeDrainTimeoutSeconds": 5, "nodeVolumeDetachTimeoutSeconds": 5, "nodeDeletionTimeoutSeconds": 5 },
        }),
        &[],
    );
}

#[test]
fn of_provider_objects_the_whole_spec_counts_and_strictly() {
    let check = |current: Value, desired: Value, expected: &[&str]| {
        let objects = |spec: Value| machine_objects("v1", spec, None);
        let question = Question::about_machine(objects(current.clone()), objects(desired.clone())).expect("a question");
        assert_eq!(paths(&question.changes()), expected);
        let objects = |spec: Value| machine_set_objects("v1", spec, None);
        let question = Question::about_machine_set(objects(current), objects(desired)).expect("a question");
        let in_template: Vec<_> = expected.iter().map(|path| path.replace("spec", "spec.template.spec")).collect();
        assert_eq!(paths(&question.changes()), in_template);
    };
    check(json!({ "taints": 1 }), json!({ "taints": 2 }), &["InfrastructureMachine spec.taints"]);
    check(json!({}), json!({ "a": null }), &["InfrastructureMachine spec.a"]);
    check(json!({}), json!({ "a": {} }), &["InfrastructureMachine spec.a"]);
    check(json!({ "a": 1 }), json!({ "a": 1.0 }), &["InfrastructureMachine spec.a"]);
    check(json!({ "a": 1, "b": 2 }), json!({ "b": 2, "a": 1 }), &[]);
}

#[test]
fn a_change_of_kind_or_group_is_not_coverable_and_one_of_version_is_none() {
    let check = |edit: fn(&mut Value), expected: &[&str]| {
        let question = machine_question(|desired| {
            let mut value = desired.infrastructure_machine.as_value().clone();
            edit(&mut value);
            desired.infrastructure_machine = object(value);
        });
        assert_eq!(paths(&question.changes()), expected);
        assert_eq!((question.changes_type(), question.is_settled()), (!expected.is_empty(), expected.is_empty()));
    };
    check(|object| object["kind"] = json!("Other"), &["InfrastructureMachine kind"]);
    check(|object| object["apiVersion"] = json!("x.io/v1beta2"), &["InfrastructureMachine apiVersion"]);
    check(|object| object["apiVersion"] = json!("infrastructure.cluster.x-k8s.io/v1"), &[]);
}

#[test]
fn a_bootstrap_object_on_one_side_only_is_not_coverable() {
    let question = machine_question(|desired| desired.bootstrap_config = None);
    assert!(question.changes_type() && !question.is_settled());
    let changes = question.changes();
    assert_eq!(paths(&changes), ["BootstrapConfig apiVersion", "BootstrapConfig kind", "BootstrapConfig spec"]);
    assert_eq!(changes.listed[1].before, FieldValue::Text("KubeadmConfig".to_owned()));
    assert_eq!(changes.listed[1].after, FieldValue::Absent);
}

#[test]
fn extensions_see_stripped_objects_with_the_labels_of_desired() {
    let labelled = |labels: Value| {
        let mut infrastructure = provider_object("infrastructure", "DevMachine", json!({ "spec": {}, "status": {} }));
        let mut value = infrastructure.into_value();
        value["metadata"]["labels"] = labels.clone();
        value["metadata"]["annotations"] = labels;
        infrastructure = object(value);
        MachineObjects { infrastructure_machine: infrastructure, ..machine_objects("v1", json!({}), None) }
    };
    let current = labelled(json!({ "old": "1" }));
    let question = Question::about_machine(current, labelled(json!({ "new": "1" }))).expect("a question");
    let Request::Machine(request) = question.request() else { panic!("a Machine was asked about") };
    let expected = json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "DevMachine", "spec": {},
        "metadata": { "name": "m", "namespace": "ns", "labels": { "new": "1" }, "annotations": { "new": "1" } },
    });
    assert_eq!(request.current.infrastructure_machine.as_value(), &expected);
    assert_eq!(request.desired.infrastructure_machine.as_value(), &expected);
    assert_eq!(request.current.machine.kind(), Some("Machine"));
    assert_eq!(request.current.machine.as_value().get("status"), None);

    let bare = labelled(json!({}));
    let question = Question::about_machine(labelled(json!({ "old": "1" })), bare).expect("a question");
    let Request::Machine(request) = question.request() else { panic!("a Machine was asked about") };
    assert_eq!(request.current.infrastructure_machine, request.desired.infrastructure_machine);
}

#[test]
fn templates_are_shown_with_their_own_labels() {
    let mut current = machine_set_objects("v1", json!({}), None);
    let mut value = current.infrastructure_machine_template.into_value();
    value["metadata"]["labels"] = json!({ "old": "1" });
    current.infrastructure_machine_template = object(value);
    let question =
        Question::about_machine_set(current, machine_set_objects("v1", json!({}), None)).expect("a question");
    let Request::MachineSet(request) = question.request() else { panic!("a MachineSet was asked about") };
    let labels = &request.current.infrastructure_machine_template.as_value()["metadata"]["labels"];
    assert_eq!(labels, &json!({ "old": "1" }));
    assert!(question.is_settled(), "labels do not count");
}

#[test]
fn an_object_without_a_kind_is_refused() {
    let mut objects = machine_objects("v1", json!({}), None);
    objects.infrastructure_machine = object(json!({ "spec": {} }));
    let error = Question::about_machine(objects.clone(), objects).expect_err("the kind is missing");
    assert_eq!(error.to_string(), "the InfrastructureMachine has no kind");
}

#[test]
fn the_hash_is_of_all_that_is_shown_and_the_target_hash_of_what_counts_of_desired() {
    let objects = |version: &str, memory: u64| machine_objects(version, json!({ "memoryMiB": memory }), None);
    let question = |current, desired| Question::about_machine(current, desired).expect("a question");
    let base = question(objects("v1", 1), objects("v2", 2));
    let renamed = |mut objects: MachineObjects| {
        objects.machine.metadata.name = Some("other".to_owned());
        objects
    };
    assert_eq!(base.hash(), question(objects("v1", 1), objects("v2", 2)).hash());
    for other in [
        question(objects("v1", 2), objects("v2", 2)),
        question(objects("v1", 1), objects("v2", 3)),
        question(renamed(objects("v1", 1)), objects("v2", 2)),
    ] {
        assert_ne!(base.hash(), other.hash());
    }
    assert_eq!(base.target_hash(), question(objects("v0", 7), renamed(objects("v2", 2))).target_hash());
    assert_ne!(base.target_hash(), question(objects("v1", 1), objects("v3", 2)).target_hash());
    assert_ne!(base.target_hash(), question(objects("v1", 1), objects("v2", 3)).target_hash());
}

#[test]
fn a_patched_machine_is_read_back_as_a_machine() {
    let question = machine_question(machine_with(json!({ "version": "v1.35.0" })));
    let after = |patch: Value| {
        let patches = Patches { machine: Some(merge_patch(patch)), ..Patches::default() };
        question.after(&patches, &name("a.b"))
    };
    let unknown =
        json!({ "spec": { "version": "v1.35.0", "unknown": 1, "clusterName": "x", "minReadySeconds": "wrong" } });
    let left = after(unknown).expect("the patch must apply");
    assert!(left.is_settled());
    let Request::Machine(request) = left.request() else { panic!("a Machine was asked about") };
    let spec = request.current.machine.spec().expect("a spec");
    assert_eq!(spec["clusterName"], json!("c"), "what does not count stays as it is");
    assert_eq!((spec.get("unknown"), spec.get("minReadySeconds")), (None, None));

    let error = after(json!({ "spec": { "version": 5 } })).expect_err("a version is a string");
    assert!(matches!(&error.problem, PatchProblem::WrongType { path, .. } if path == "spec.version"), "{error}");
    assert!(error.to_string().starts_with("the patch of a.b for the Machine is wrong: spec.version: "), "{error}");
}

#[test]
fn a_patch_for_a_bootstrap_object_that_is_not_there_is_ignored() {
    let objects = machine_objects("v1", json!({}), None);
    let question = Question::about_machine(objects.clone(), objects).expect("a question");
    let patches = Patches { bootstrap: Some(merge_patch(json!([]))), ..Patches::default() };
    assert_eq!(question.after(&patches, &name("a.b")), Ok(question.clone()));
}

#[test]
fn join_tokens_are_neither_shown_nor_counted() {
    let with_token = |token: &str| {
        let discovery = json!({ "bootstrapToken": { "token": token, "caCertHashes": ["h"] } });
        machine_set_objects("v1", json!({}), Some(json!({ "joinConfiguration": { "discovery": discovery } })))
    };
    let question = Question::about_machine_set(with_token("abcdef.1"), with_token("abcdef.2")).expect("a question");
    assert!(question.is_settled());
    let Request::MachineSet(request) = question.request() else { panic!("it must be about a MachineSet") };
    let shown = serde_json::to_string(&request).expect("a request must encode");
    assert!(shown.contains("caCertHashes") && !shown.contains("abcdef"), "{shown}");
}
