//! What changes without an update, and who holds it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use refit_api::vocabulary::annotations::KUBEADM_CLUSTER_CONFIGURATION;
use refit_api::vocabulary::managers::{KUBEADM_CONTROL_PLANE, KUBEADM_CONTROL_PLANE_METADATA};
use serde_json::{Value, json};

use crate::control_plane::applied::{is_applied, owned};
use crate::control_plane::tests::fixtures::{observed, start};
use crate::control_plane::tests::walk_through::world;
use crate::control_plane::{Observed, Step, decide};
use crate::effect::Effect;

#[test]
fn labels_follow_the_template_and_leave_with_it() {
    let mut world = world(3, 0, &[]);
    world.change(|control_plane| {
        control_plane.spec.machine_template.metadata.labels.insert("team".to_owned(), "x".to_owned());
    });
    world.settle();
    let label = |world: &crate::control_plane::tests::world::World, kind: &str| {
        world.object(kind, "b")["metadata"]["labels"].get("team").cloned()
    };
    for kind in ["Machine", "DevMachine", "KubeadmConfig"] {
        assert_eq!(label(&world, kind), Some(json!("x")), "{kind}");
    }
    world.change(|control_plane| control_plane.spec.machine_template.metadata.labels.clear());
    world.settle();
    for kind in ["Machine", "DevMachine", "KubeadmConfig"] {
        assert_eq!(label(&world, kind), None, "{kind}");
    }
    assert_eq!(world.log, Vec::<String>::new(), "no machine is replaced or updated for it");
}

#[test]
fn the_manager_of_the_spec_lets_go_of_labels_after_a_creation() {
    let mut world = world(3, 0, &[]);
    world.change(|control_plane| control_plane.spec.replicas = Some(5));
    world.settle();
    let new = world.names().into_iter().find(|name| name.starts_with("cp-")).unwrap();
    for kind in ["DevMachine", "KubeadmConfig"] {
        let object = world.object(kind, &new);
        let spec = owned(&object, KUBEADM_CONTROL_PLANE).unwrap();
        assert_eq!(spec["f:metadata"]["f:labels"], Value::Null, "{kind}");
        let annotations =
            spec["f:metadata"]["f:annotations"].as_object().map(|held| held.keys().cloned().collect::<Vec<_>>());
        let origin = ["cluster.x-k8s.io/cloned-from-groupkind", "cluster.x-k8s.io/cloned-from-name"];
        let expected = (kind == "DevMachine").then(|| origin.map(|name| format!("f:{name}")).to_vec());
        assert_eq!(annotations, expected, "{kind}");
        assert!(spec["f:spec"].as_object().is_some_and(|fields| !fields.is_empty()), "{kind}");
        let metadata = owned(&object, KUBEADM_CONTROL_PLANE_METADATA).unwrap();
        assert!(metadata["f:metadata"]["f:labels"].get("f:cluster.x-k8s.io/control-plane").is_some(), "{kind}");
        assert_eq!(metadata["f:spec"], json!({}), "{kind}");
    }
}

/// The entries of an object as they were before two managers shared it, and after the API server has lost them.
fn old_entries(case: &str) -> Value {
    let label = json!({ "f:metadata": { "f:labels": { "f:cluster.x-k8s.io/cluster-name": {} } } });
    let applied = json!({ "manager": KUBEADM_CONTROL_PLANE, "operation": "Apply", "fieldsV1": label });
    let spec = json!({ "f:spec": { "f:memory": {} } });
    match case {
        "v1.11" => json!([applied, { "manager": "manager", "operation": "Update", "fieldsV1": spec }]),
        "lost" => json!([{ "manager": "before-first-apply", "operation": "Update", "fieldsV1": spec }]),
        other => panic!("no such case: {other}"),
    }
}

#[test]
fn owners_of_older_releases_and_lost_ones_are_mended_once() {
    for case in ["v1.11", "lost"] {
        for kind in ["DevMachine", "KubeadmConfig", "Machine"] {
            // Nothing is wrong with a Machine that two wrote.
            if (case, kind) == ("v1.11", "Machine") {
                continue;
            }
            let mut world = world(3, 0, &[]);
            world.edit(kind, "b", |object| object["metadata"]["managedFields"] = old_entries(case));
            let first = decide(&world.observe()).steps;
            let Some(Step::Write(Effect::Patch(patch))) = first.first() else { panic!("{case} {kind}: {first:?}") };
            assert!(patch.resource_version.is_some(), "{case} {kind}: it is for the version that was read");
            world.settle();
            assert_eq!(world.log, Vec::<String>::new(), "{case} {kind}: no machine is touched for it");
            let object = world.object(kind, "b");
            let managers: Vec<&str> = object["metadata"]["managedFields"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|entry| entry["manager"].as_str())
                .collect();
            let expected = if kind == "Machine" { KUBEADM_CONTROL_PLANE } else { KUBEADM_CONTROL_PLANE_METADATA };
            assert_eq!(managers, [expected], "{case} {kind}");
            assert_eq!(decide(&world.observe()).steps, [], "{case} {kind}");
        }
    }
}

#[test]
fn a_machine_on_its_way_out_gets_timeouts_and_taints_only() {
    let mut observed = observed(3);
    observed.at("b").machine.metadata.deletion_timestamp = Some(Time(start()));
    observed.control_plane.spec.machine_template.spec.deletion.node_drain_timeout_seconds = Some(5);
    observed.control_plane.spec.machine_template.metadata.labels.insert("team".to_owned(), "x".to_owned());
    let writes: Vec<Value> = decide(&observed)
        .steps
        .into_iter()
        .filter_map(|step| match step {
            Step::Write(Effect::Patch(patch)) if patch.target.name == "b" => Some(patch.merge),
            Step::Write(Effect::Apply(apply)) if apply.target.name == "b" => Some(apply.intent),
            _ => None,
        })
        .collect();
    assert_eq!(writes, [json!({ "spec": { "deletion": { "nodeDrainTimeoutSeconds": 5 } } })]);
}

#[test]
fn what_was_applied_is_not_applied_again() {
    let held = |fields: Value| json!([{ "manager": "m", "operation": "Apply", "fieldsV1": fields }]);
    let object = |fields: Value| {
        json!({
            "metadata": { "labels": { "a": "1", "b": "2" }, "managedFields": held(fields) },
            "spec": { "x": 1, "list": [{ "k": "v", "other": 2 }], "y": 2 },
        })
    };
    let intent = json!({ "metadata": { "labels": { "a": "1" } }, "spec": { "x": 1, "list": [{ "k": "v" }] } });
    let own = json!({ "f:metadata": { "f:labels": { "f:a": {} } }, "f:spec": { "f:x": {}, "f:list": { "k:{}": {} } } });
    assert!(is_applied(&object(own.clone()), "m", &intent));
    assert!(!is_applied(&object(own.clone()), "other", &intent), "nothing is held yet");
    let mut more = own.clone();
    more["f:metadata"]["f:labels"]["f:b"] = json!({});
    assert!(!is_applied(&object(more), "m", &intent), "a label is let go");
    let mut more = own.clone();
    more["f:spec"]["f:y"] = json!({});
    assert!(!is_applied(&object(more), "m", &intent), "a field is let go");
    let mut more = own.clone();
    more["f:spec"]["f:list"]["k:{1}"] = json!({});
    assert!(!is_applied(&object(more), "m", &intent), "an item is let go");
    let mut other = intent.clone();
    other["spec"]["x"] = json!(2);
    assert!(!is_applied(&object(own), "m", &other), "a value is another");
}

#[test]
fn the_annotation_of_older_releases_is_let_go() {
    let mut observed = world(1, 0, &[]).observe();
    let applied = |observed: &Observed| {
        let decision = decide(observed);
        decision
            .steps
            .iter()
            .any(|step| matches!(step, Step::Write(Effect::Apply(apply)) if apply.target.kind == "Machine"))
    };
    assert!(!applied(&observed));
    let metadata = &mut observed.at("a").machine.metadata;
    metadata.annotations.as_mut().unwrap().insert(KUBEADM_CLUSTER_CONFIGURATION.to_owned(), "{}".to_owned());
    for entry in metadata.managed_fields.as_mut().unwrap() {
        let fields = &mut entry.fields_v1.as_mut().unwrap().0;
        fields["f:metadata"]["f:annotations"][format!("f:{KUBEADM_CLUSTER_CONFIGURATION}")] = json!({});
    }
    assert!(applied(&observed));
}
