//! The writes of a hand-over, to the letter.

use refit_api::vocabulary::annotations::{PENDING_HOOKS, UPDATE_IN_PROGRESS};
use refit_api::vocabulary::managers::KUBEADM_CONTROL_PLANE;
use refit_api::vocabulary::refit::annotations::UPDATE_PLAN;
use serde_json::{Value, json};

use crate::control_plane::tests::fixtures::NEW;
use crate::control_plane::tests::walk_through::world;
use crate::control_plane::{Step, decide};
use crate::coverage::testing::frozen_plan;
use crate::effect::{Apply, Effect, Patch};

/// The writes for machine `b`, which does not lead etcd, in a control plane that is to be upgraded.
fn writes(change: impl FnOnce(&mut crate::control_plane::Observed)) -> Vec<Effect> {
    let mut world = world(3, 0, &[]);
    world.upgrade();
    let mut observed = world.observe();
    observed.at("b").annotate(PENDING_HOOKS, "Other");
    observed.machines.retain(|name, _| name == "b");
    observed.control_plane.spec.replicas = Some(1);
    observed.at("b").cover();
    change(&mut observed);
    // What was accepted is put on record before the first of them.
    let is_record =
        |effect: &Effect| matches!(effect, Effect::Patch(patch) if patch.target.kind == "KubeadmControlPlane");
    let write = |step| match step {
        Step::Write(effect) if !is_record(&effect) => Some(effect),
        _ => None,
    };
    decide(&observed).steps.into_iter().filter_map(write).collect()
}

fn apply(effect: &Effect) -> &Apply {
    let Effect::Apply(apply) = effect else { panic!("{effect:?} must be an apply") };
    apply
}

fn patch(effect: &Effect) -> &Patch {
    let Effect::Patch(patch) = effect else { panic!("{effect:?} must be a patch") };
    patch
}

fn annotations(value: &Value) -> &Value {
    &value["metadata"]["annotations"]
}

#[test]
fn the_mark_and_the_plan_are_one_patch_for_the_version_that_was_seen() {
    let writes = writes(|_| ());
    let mark = patch(&writes[0]);
    let plan = frozen_plan("q", "t", &["can.memory"]).encode();
    assert_eq!(mark.merge, json!({ "metadata": { "annotations": { UPDATE_IN_PROGRESS: "", UPDATE_PLAN: plan } } }));
    assert!(mark.resource_version.is_some() && mark.target.uid.is_some());
}

#[test]
fn objects_get_spec_and_mark_but_no_other_metadata() {
    let writes = writes(|_| ());
    let infrastructure = apply(&writes[1]);
    assert_eq!((infrastructure.target.kind.as_str(), infrastructure.manager), ("DevMachine", KUBEADM_CONTROL_PLANE));
    assert!(infrastructure.target.uid.is_some(), "it is never created by this");
    assert_eq!(infrastructure.intent["spec"], json!({ "memory": "t2" }));
    let expected = json!({
        "cluster.x-k8s.io/cloned-from-name": "t2",
        "cluster.x-k8s.io/cloned-from-groupkind": "DevMachineTemplate.infrastructure.cluster.x-k8s.io",
        UPDATE_IN_PROGRESS: "",
    });
    assert_eq!(annotations(&infrastructure.intent), &expected);
    assert!(infrastructure.intent["metadata"].get("labels").is_none());
    let config = apply(&writes[2]);
    assert_eq!(config.target.kind, "KubeadmConfig");
    assert_eq!(annotations(&config.intent), &json!({ UPDATE_IN_PROGRESS: "" }));
    assert!(config.intent["metadata"].get("labels").is_none());
}

#[test]
fn the_version_comes_after_the_objects_and_the_hook_after_that() {
    let writes = writes(|_| ());
    assert_eq!(apply(&writes[3]).intent["spec"]["version"], NEW);
    assert_eq!(
        patch(&writes[4]).merge,
        json!({ "metadata": { "annotations": { PENDING_HOOKS: "Other,UpdateMachine" } } })
    );
    let Effect::Emit(event) = &writes[5] else { panic!("{:?} must be an event", writes[5]) };
    assert_eq!(
        (event.reason, event.message.as_str()),
        ("SuccessfulStartInPlaceUpdate", "Machine starting in-place update")
    );
}

#[test]
fn an_init_configuration_that_nobody_owns_is_taken_away() {
    let init = |observed: &mut crate::control_plane::Observed| {
        let config = observed.at("b").kubeadm_config.as_mut().unwrap();
        config.spec.init_configuration.skip_phases = vec!["addon".to_owned()];
    };
    let writes = writes(init);
    assert_eq!(patch(&writes[3]).merge, json!({ "spec": { "initConfiguration": null } }));
    assert_eq!(patch(&writes[3]).target.kind, "KubeadmConfig");
}
