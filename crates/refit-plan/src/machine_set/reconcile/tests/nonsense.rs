//! Input that makes no sense gives a verdict.

use refit_api::cluster::MachineSet;
use refit_api::vocabulary::annotations::{PENDING_ACKNOWLEDGE_MOVE, UPDATE_IN_PROGRESS};
use serde_json::{Value, json};

use super::world::World;
use crate::effect::Part;
use crate::machine_set::reconcile::{Observed, decide};
use crate::reading::{Listed, Read};

/// The problems of a MachineSet with two machines, with their causes, after a change. The number of tasks, too.
fn check(change: impl FnOnce(&mut Observed), tasks: usize, expected: &[&str]) {
    let mut observed = World::running(&[("ms", 2)]).observe("ms");
    change(&mut observed);
    let decision = decide(&observed);
    let words = |problem: &crate::machine_set::reconcile::Problem| {
        let causes = std::iter::successors(Some(problem as &dyn std::error::Error), |&error| error.source());
        causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
    };
    let found: Vec<String> = decision.problems.iter().map(words).collect();
    assert_eq!((found, decision.tasks.len()), (expected.iter().map(|&text| text.to_owned()).collect(), tasks));
}

fn set(change: impl FnOnce(&mut MachineSet)) -> impl FnOnce(&mut Observed) {
    |observed| change(&mut observed.machine_set)
}

#[test]
fn numbers_that_make_no_sense_change_nothing() {
    let told = "spec.replicas is -5, so no Machine is created, moved or deleted; set it to 0 or more";
    check(set(|set| set.spec.replicas = Some(-5)), 0, &[told]);
    check(set(|set| set.spec.replicas = None), 0, &[]);
    check(|observed| observed.random.clear(), 0, &[]);
}

#[test]
fn a_machine_set_that_is_nobody_says_so() {
    let no_uid = "MachineSet \"ms\" has no name or no uid, so nothing can belong to it";
    let claim = format!("it cannot be told whose Machine ms-bbbbb is: {no_uid}");
    check(set(|set| set.metadata.uid = None), 0, &[&claim]);
    let forget = |observed: &mut Observed| {
        observed.machine_set.metadata.labels = None;
        observed.machine_set.spec.selector = Default::default();
    };
    // The label of its cluster and the selector come first, and then it is looked at again.
    check(forget, 1, &[]);
}

#[test]
fn names_that_cannot_be_made_create_nothing() {
    let change = |set: &mut MachineSet| {
        set.spec.replicas = Some(3);
        set.spec.machine_naming.template = Some("fixed".to_owned());
    };
    let expected = "no Machine can be created: \
                    spec.machineNaming.template must contain {{ .random }}, or all Machines would have one name";
    check(set(change), 0, &[expected]);
}

#[test]
fn empty_versions_are_compared_with_nothing() {
    let change = |observed: &mut Observed| {
        observed.machine_set.spec.replicas = Some(3);
        observed.machine_set.spec.template.spec.version = Some(String::new());
        observed.control_plane = Some(Read::Found(json!({
            "spec": { "version": "v1.31.0" }, "status": { "version": "v1.31.0" },
        })));
    };
    check(change, 3 - 2, &[]);
}

#[test]
fn objects_that_are_gone_are_told_and_the_rest_is_synced() {
    let change = |observed: &mut Observed| {
        if let Listed::All(machines) = &mut observed.machines {
            machines[0].infrastructure = Read::Missing.into();
        }
    };
    check(change, 0, &["Machine ms-bbbbb lacks an object: Host ms-bbbbb does not exist"]);
}

#[test]
fn templates_that_are_none_create_nothing() {
    let change = |observed: &mut Observed| {
        observed.machine_set.spec.replicas = Some(3);
        observed.templates.infrastructure = Read::Found(Value::Null);
    };
    let mut observed = World::running(&[("ms", 2)]).observe("ms");
    change(&mut observed);
    let decision = decide(&observed);
    assert!(!decision.problems.is_empty(), "it must be told");
    assert!(decision.tasks.iter().all(|task| !task.about.starts_with("Machine ")), "{:?}", decision.tasks);
}

#[test]
fn marks_that_contradict_each_other_are_told() {
    let mut world = World::running(&[("ms", 1)]);
    let machine = world.machines().remove(0);
    world.patch_machine(
        &machine,
        Part::Object,
        json!({ "metadata": { "annotations": { PENDING_ACKNOWLEDGE_MOVE: "" } } }),
    );
    let decision = world.decide("ms");
    assert_eq!(decision.problems.len(), 1, "{:?}", decision.problems);
    let marks = json!({ UPDATE_IN_PROGRESS: "" });
    let machine = world.machines().remove(0);
    world.patch_machine(&machine, Part::Object, json!({ "metadata": { "annotations": marks } }));
    assert_eq!(world.decide("ms").problems, [], "nobody will count it: its update begins");
    world.settle();
    assert!(!crate::fleet::is_updating(&world.machines()[0]));
}
