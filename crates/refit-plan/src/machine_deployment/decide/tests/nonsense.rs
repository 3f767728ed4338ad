//! What makes no sense gets a verdict: words, and nothing that costs a machine.

use refit_api::cluster::{Machine, MachineSet};
use refit_api::vocabulary::annotations::{MOVE_MACHINES_TO_MACHINESET, RECEIVE_MACHINES_FROM_MACHINESETS, REVISION};
use refit_api::vocabulary::condition_types as types;
use refit_api::vocabulary::labels::MACHINE_TEMPLATE_HASH;
use refit_api::vocabulary::refit::annotations::{IN_PLACE, UPDATE_TIMEOUT};
use serde_json::{Value, json};

use super::world::{Says, World, settled};
use crate::effect::{Effect, Patch, Target};
use crate::testing::{labels_of, machine_of, machine_set};

/// A change of the spec that cannot be acted on: it is told, and nothing is touched.
#[track_caller]
fn check_refused(spec: Value, problem: &str) {
    let mut world = settled(2);
    world.change(json!({ "spec": spec }));
    world.new_template("v2");
    let before = (world.machine_sets(), world.machines());
    world.settle();
    assert_eq!(world.problems, [problem]);
    assert_eq!(world.waiting_on, [problem]);
    assert_eq!((world.machine_sets(), world.machines()), before);
    assert_eq!(world.deployment().status.observed_generation, Some(1), "nobody has dealt with it");
}

#[test]
fn numbers_that_make_no_sense_are_refused() {
    check_refused(json!({ "replicas": -1 }), "spec.replicas must not be negative, it is -1");
    check_refused(json!({ "replicas": null }), "spec.replicas is not set");
    let limit = |field: &str, value: Value| json!({ "rollout": { "strategy": { "type": "RollingUpdate", "rollingUpdate": { field: value } } } });
    check_refused(
        limit("maxSurge", json!("many")),
        "spec.rollout.strategy makes no sense: \"many\" is neither an integer nor a percentage such as \"25%\"",
    );
    check_refused(
        limit("maxUnavailable", json!(-3)),
        "spec.rollout.strategy makes no sense: maxUnavailable must not be negative, it resolves to -3",
    );
}

#[test]
fn three_hundred_percent_is_much_and_no_nonsense() {
    let mut world = settled(2);
    let limits = json!({ "maxSurge": "300%", "maxUnavailable": "300%" });
    world
        .change(json!({ "spec": { "rollout": { "strategy": { "type": "RollingUpdate", "rollingUpdate": limits } } } }));
    world.new_template("v2");
    world.settle();
    assert_eq!((world.machines().len(), world.deleted.len(), world.problems.len()), (2, 2, 0));
    assert!(world.most <= 8);
}

/// A misspelt `Require` that counted as `Prefer` would replace the very machines that it was to keep.
#[test]
fn a_policy_that_cannot_be_read_replaces_nothing_and_leaves_scaling_alone() {
    for (annotation, value) in [(IN_PLACE, "Required"), (UPDATE_TIMEOUT, "soon")] {
        let mut world = settled(2);
        world.says = Says::Yes;
        world.policy(&[(annotation, value)]);
        world.new_template("v2");
        world.change(json!({ "spec": { "replicas": 3 } }));
        world.settle();
        assert_eq!((world.machines().len(), world.deleted.len(), world.asked), (3, 0, 0));
        assert!(world.problems[0].contains(annotation) && world.problems[0].contains(value), "{:?}", world.problems);
        assert!(world.waiting_on[0].contains(value), "{:?}", world.waiting_on);
    }
}

/// Machines of a MachineSet that is gone, of one that only has the name of ours, and of nobody.
#[test]
fn machines_with_dangling_owners_do_not_count() {
    let mut world = settled(2);
    let set = world.machine_sets().remove(0);
    let mut namesake = set.clone();
    namesake.metadata.uid = Some("somebody-else".to_owned());
    let mut orphan = machine_of(&set, "m90");
    orphan.metadata.owner_references = None;
    for machine in [machine_of(&machine_set("gone", 1), "m91"), machine_of(&namesake, "m92"), orphan] {
        world.store.insert_typed(&machine);
    }
    let decision = world.decide();
    assert!(decision.plan.effects.is_empty() && decision.reports.is_empty(), "{decision:?}");
    assert_eq!(world.deployment().status.replicas, Some(2));
}

/// Marks that send machines in a circle, or to nowhere, are taken off: they are decided anew in every pass.
#[test]
fn a_circle_of_moves_is_broken() {
    let mut world = settled(2);
    world.new_template("v2");
    world.pass();
    let sets = world.machine_sets();
    let [a, b] = &sets[..] else { panic!("there must be two") };
    let name = |set: &MachineSet| set.metadata.name.clone().expect("it has a name");
    let pairs = [(a, name(b)), (b, name(a))];
    for (set, other) in &pairs {
        let marks =
            json!({ MOVE_MACHINES_TO_MACHINESET: other, RECEIVE_MACHINES_FROM_MACHINESETS: format!("{other},nobody") });
        let patch = Patch::object(Target::of(*set), json!({ "metadata": { "annotations": marks } }));
        world.store.carry_out(&[Effect::Patch(patch)]);
    }
    world.says = Says::Yes;
    world.settle();
    assert_eq!((world.machines(), world.machine_sets().len()), (vec!["m1".to_owned(), "m2".to_owned()], 1));
}

#[test]
fn empty_versions_roll_out_as_any_other() {
    let mut world = settled(2);
    world.says = Says::Yes;
    world.limits(0, 1);
    for version in [json!(null), json!("")] {
        world.change(
            json!({ "spec": { "template": { "spec": { "version": version, "failureDomain": version.to_string() } } } }),
        );
        world.settle();
        assert_eq!(world.condition(types::ROLLING_OUT), "False NotRollingOut: ");
        assert_eq!(world.machines(), ["m1", "m2"]);
    }
}

#[test]
fn a_revision_that_is_no_number_is_told_and_stops_nothing() {
    let mut world = settled(2);
    let set = world.machine_sets().remove(0);
    let merge = json!({ "metadata": { "annotations": { REVISION: "seven" } } });
    world.store.carry_out(&[Effect::Patch(Patch::object(Target::of(&set), merge))]);
    world.change(json!({ "spec": { "replicas": 3 } }));
    world.settle();
    assert_eq!(world.machines().len(), 3);
    assert_eq!(world.problems, ["revision \"seven\" of the new MachineSet is not a number"]);
}

#[test]
fn a_machine_set_that_cannot_be_told_apart_stops_the_pass() {
    let mut world = settled(2);
    let mut set = world.machine_sets().remove(0);
    set.metadata.labels.as_mut().expect("it has labels").remove(MACHINE_TEMPLATE_HASH);
    world.store.insert_typed(&set);
    world.change(json!({ "spec": { "replicas": 3 } }));
    let decision = world.decide();
    assert!(decision.plan.effects.is_empty(), "{:?}", decision.plan.effects);
    assert!(decision.problems[0].to_string().contains(MACHINE_TEMPLATE_HASH), "{:?}", decision.problems);
}

#[test]
fn a_selector_that_selects_everything_or_nothing_readable_is_refused() {
    for (selector, problem) in [
        (json!({ "matchLabels": null }), "is empty and would select all MachineSets"),
        (json!({ "matchLabels": { "no label!": "x" } }), "cannot be used"),
    ] {
        let mut world = settled(1);
        let mut stray = machine_set("stray", 1);
        stray.metadata.labels = Some(labels_of(&[]));
        world.store.insert_typed(&stray);
        world.change(json!({ "spec": { "selector": selector } }));
        let decision = world.decide();
        assert!(decision.plan.effects.is_empty());
        let words: Vec<String> = decision.problems.iter().map(ToString::to_string).collect();
        assert!(words[0].contains(problem), "{words:?}");
    }
}

/// Nothing that admission would have refused makes a decision panic, and none of it deletes anything.
#[test]
fn objects_without_any_identity_are_refused() {
    let strip: [fn(&mut World); 3] = [
        |world| world.cluster.metadata.uid = None,
        |world| {
            let mut deployment = world.deployment();
            deployment.metadata.uid = None;
            world.store.insert_typed(&deployment);
        },
        |world| {
            let mut machine: Machine = world.store.typed("m1").expect("it is there");
            machine.metadata.name = Some(String::new());
            world.store.insert_typed(&machine);
        },
    ];
    for strip in strip {
        let mut world = settled(2);
        strip(&mut world);
        let decision = world.decide();
        assert!(!decision.plan.effects.iter().any(|effect| matches!(effect, Effect::Delete(_) | Effect::Apply(_))));
    }
}
