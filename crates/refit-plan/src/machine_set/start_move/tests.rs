use refit_api::cluster::Machine;
use refit_api::vocabulary::annotations::{MOVE_MACHINES_TO_MACHINESET, RECEIVE_MACHINES_FROM_MACHINESETS};
use serde_json::{Value, json};

use super::*;
use crate::coverage::UpdatePlan;
use crate::coverage::testing::{frozen_plan, hash, name, planned};
use crate::machine::progress::{Failure, Progress};
use crate::reading::Read;
use crate::testing::{Store, at, labels_of, machine_of, machine_set, template};

struct World {
    from: MachineSet,
    to: MachineSet,
    machine: Machine,
    host_template: Value,
    host: Read<Value>,
    plan: FrozenPlan,
}

fn world() -> World {
    let (mut from, mut to) = (machine_set("old", 1), machine_set("new", 1));
    to.metadata.annotations = Some(labels_of(&[(RECEIVE_MACHINES_FROM_MACHINESETS, "older,old")]));
    for set in [&mut from, &mut to] {
        set.spec.template.spec.bootstrap.config_ref = None;
        set.spec.template.spec.bootstrap.data_secret_name = Some("data".to_owned());
    }
    let mut machine = machine_of(&from, "m");
    machine.spec.bootstrap.config_ref = None;
    let host = json!({ "apiVersion": "x.io/v1", "kind": "Host", "metadata": { "name": "m", "uid": "u" } });
    let host_template = template("HostTemplate", "new-host", json!({ "cpus": 4 }));
    World { from, to, machine, host_template, host: Read::Found(host), plan: frozen_plan("q", "t", &["can.memory"]) }
}

impl World {
    fn moving(&self) -> Move<'_> {
        Move {
            from: &self.from,
            to: &self.to,
            templates: Templates { infrastructure: &self.host_template, bootstrap: None },
            parts: MachineParts { machine: &self.machine, infrastructure: &self.host, bootstrap: None },
            plan: &self.plan,
        }
    }

    fn accepted(&self) -> Rehearsed {
        Rehearsed { rehearsal: self.moving().rehearse().expect("it must be rehearsed"), outcome: Outcome::Accepted }
    }
}

#[test]
fn a_move_is_one_patch_of_owner_label_and_marks() {
    let mut world = world();
    let other = OwnerReference { uid: "x".to_owned(), kind: "Other".to_owned(), ..OwnerReference::default() };
    world.machine.metadata.owner_references.get_or_insert_default().insert(0, other.clone());
    let effect = world.moving().start(&world.accepted()).expect("it must move");
    let Effect::Patch(patch) = effect else { panic!("it must be a patch") };
    let owners = json!([
        other,
        { "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineSet", "name": "new", "uid": "uid-new", "controller": true, "blockOwnerDeletion": true },
    ]);
    let expected = json!({ "metadata": {
        "ownerReferences": owners,
        "labels": { "machine-template-hash": "1-new", "cluster.x-k8s.io/set-name": "new" },
        "annotations": { UPDATE_IN_PROGRESS: "", PENDING_ACKNOWLEDGE_MOVE: "", UPDATE_PLAN: world.plan.encode() },
    } });
    assert_eq!(patch.merge, expected);
    assert_eq!(patch.target.uid.as_deref(), Some("uid-m"));
    assert_eq!(patch.resource_version.as_deref(), Some("1"), "owners that others add meanwhile are not lost");
}

#[test]
fn a_moved_machine_belongs_to_one_machine_set_only() {
    let mut world = world();
    let mut store = Store::default();
    store.insert_typed(&world.machine);
    world.machine = store.typed("m").expect("it must be there");
    let effect = world.moving().start(&world.accepted()).expect("it must move");
    store.carry_out(std::slice::from_ref(&effect));
    assert!(store.try_carry_out(&effect).is_err(), "a doubled writer is refused");
    world.machine = store.typed("m").expect("it must be there");
    let references = world.machine.metadata.owner_references.clone().unwrap_or_default();
    assert!(owners::is_controlled_by_uid(&references, "uid-new") && references.len() == 1);
    let error = world.moving().rehearse().expect_err("it has moved");
    assert_eq!(error.to_string(), "Machine m is not controlled by MachineSet old");
}

/// DESIGN 5.6: a webhook that rejects the spec after the move parks the machine for ever.
#[test]
fn a_machine_whose_new_spec_would_be_refused_stays() {
    let world = world();
    let kinds = |world: &World| -> Vec<String> {
        let rehearsal = world.moving().rehearse().expect("it must be rehearsed");
        rehearsal.writes.iter().map(|write| write.target().kind.clone()).collect()
    };
    assert_eq!(kinds(&world), ["Host", "Machine"], "all of it is rehearsed, in its order");
    let rehearsal = world.moving().rehearse().expect("it must be rehearsed");
    let refusal = Refusal {
        code: 422,
        words: "spec.cpus is immutable".to_owned(),
        fields: vec!["spec.cpus".to_owned()],
        takes_new_object: true,
    };
    let outcome = Outcome::Refused { object: rehearsal.writes[0].target().clone(), refusal };
    let error = world.moving().start(&Rehearsed { rehearsal, outcome }).expect_err("it must stay");
    assert_eq!(error.to_string(), "Machine m stays: Host m would be refused: spec.cpus is immutable");
    let NotMoved::Refused { refusal, .. } = error else { panic!("{error}") };
    assert!(refusal.for_good, "only another host has other processors");
}

/// A rehearsal that differs from the play proves nothing.
#[test]
fn what_is_rehearsed_before_a_move_is_what_is_written_after_it() {
    let check = |marks: &[(&str, &str)]| {
        let mut world = world();
        world.to.spec.template.spec.version = Some("v1.99.0".to_owned());
        world.to.spec.template.spec.failure_domain = Some("fd2".to_owned());
        world.machine.metadata.annotations = Some(labels_of(marks));
        let mut store = Store::default();
        store.insert_typed(&world.machine);
        world.machine = store.typed("m").expect("it must be there");
        let rehearsed = world.accepted();
        store.carry_out(&[world.moving().start(&rehearsed).expect("it must move")]);
        world.machine = store.typed("m").expect("it must be there");
        let Move { to, templates, parts, .. } = world.moving();
        let mut written = complete_move::complete_move(to, templates, parts, at(0)).expect("it must be completed");
        // The time of the hand-over is not known before.
        let Some(Effect::Patch(last)) = written.last_mut() else { panic!("{written:?}") };
        let annotations = last.merge["metadata"]["annotations"].as_object_mut().expect("there must be some");
        assert!(annotations.remove(UPDATE_PROGRESS).is_some());
        let rehearsed: Vec<Effect> = rehearsed.rehearsal.writes.into_iter().map(Effect::from).collect();
        assert_eq!(rehearsed, written, "{marks:?}");
    };
    check(&[]);
    check(&[(PENDING_HOOKS, "Other")]);
    check(&[(UPDATE_IN_PROGRESS, ""), (PENDING_HOOKS, "Other,UpdateMachine"), (UPDATE_FAILED, "old")]);
}

#[test]
fn a_rehearsal_of_something_else_does_not_count() {
    let mut world = world();
    let rehearsed = world.accepted();
    world.host_template = template("HostTemplate", "new-host", json!({ "cpus": 8 }));
    let error = world.moving().start(&rehearsed).expect_err("it must stay");
    assert_eq!(error.to_string(), "Machine m was rehearsed for something else than it would become now");
}

#[test]
fn both_sides_must_agree_and_the_machine_must_be_free() {
    let check = |change: &dyn Fn(&mut World), expected: &str| {
        let mut world = world();
        change(&mut world);
        let error = world.moving().rehearse().expect_err("it must stay");
        assert_eq!(error.to_string(), expected);
    };
    check(
        &|world| world.to.metadata.annotations = Some(labels_of(&[(RECEIVE_MACHINES_FROM_MACHINESETS, "a,b")])),
        "MachineSet old is set to move replicas to new, but new only accepts Machines from a,b",
    );
    check(
        &|world| world.to.metadata.annotations = None,
        "MachineSet old is set to move replicas to new, but new only accepts Machines from ",
    );
    check(
        &|world| {
            let annotations = world.to.metadata.annotations.get_or_insert_default();
            annotations.insert(MOVE_MACHINES_TO_MACHINESET.to_owned(), "old".to_owned());
        },
        "MachineSet new takes no Machines from old: it is set to move its own to old",
    );
    check(&|world| world.to.metadata.labels = None, "MachineSet new does not have the machine-template-hash label");
    check(
        &|world| {
            let labels = world.to.metadata.labels.get_or_insert_default();
            labels.insert(DEPLOYMENT_NAME.to_owned(), "another".to_owned());
        },
        "MachineSets old and new are not of the same MachineDeployment",
    );
    check(&|world| world.machine.metadata.owner_references = None, "Machine m is not controlled by MachineSet old");
    check(
        &|world| world.machine.metadata.deletion_timestamp = world.machine.metadata.creation_timestamp.clone(),
        "Machine m is being deleted",
    );
    check(
        &|world| world.machine.metadata.annotations = Some(labels_of(&[(UPDATE_IN_PROGRESS, "")])),
        "Machine m cannot move while it is Released",
    );
    check(&|world| world.host = Read::Missing, "Machine m stays: what it would become cannot be computed");
    check(
        &|world| world.from.metadata.uid = None,
        "MachineSet \"old\" has no name or no uid, so nothing can belong to it",
    );
}

#[test]
fn what_is_left_of_an_older_plan_is_run_first() {
    let mut world = world();
    let left = frozen_plan("q0", "t0", &["can.kubeadm"]);
    world.machine.metadata.annotations = Some(labels_of(&[(UPDATE_PLAN, &left.encode())]));
    let Ok(Effect::Patch(patch)) = world.moving().start(&world.accepted()) else { panic!("it must move") };
    let plan = frozen_plan("q", "t", &["can.kubeadm", "can.memory"]);
    assert_eq!(patch.merge["metadata"]["annotations"][UPDATE_PLAN], json!(plan.encode()));
    world.machine.metadata.annotations = Some(labels_of(&[(UPDATE_PLAN, "nonsense")]));
    let error = world.moving().start(&world.accepted()).expect_err("it must stay");
    assert!(matches!(error, NotMoved::UnreadablePlan { .. }), "{error}");
}

/// Its frozen plan is over, and what is left of it comes before the new one.
#[test]
fn a_machine_whose_update_failed_moves_without_the_marks_of_that() {
    let mut world = world();
    let left = frozen_plan("old", "t", &["can.files"]).encode();
    let marks = [(UPDATE_IN_PROGRESS, ""), (PENDING_HOOKS, "Other,UpdateMachine"), (UPDATE_PLAN, &left)];
    world.machine.metadata.annotations = Some(labels_of(&marks));
    assert!(matches!(world.moving().rehearse(), Err(NotMoved::Busy { stage: Stage::Updating, .. })));
    world.machine.metadata.annotations.get_or_insert_default().insert(UPDATE_FAILED.to_owned(), "old".to_owned());
    let Ok(Effect::Patch(patch)) = world.moving().start(&world.accepted()) else { panic!("it must move") };
    let annotations = &patch.merge["metadata"]["annotations"];
    assert_eq!((&annotations[UPDATE_FAILED], &annotations[UPDATE_PROGRESS]), (&Value::Null, &Value::Null));
    assert!(annotations.as_object().is_some_and(|all| all.contains_key(UPDATE_FAILED)), "it must be taken off");
    assert_eq!(annotations[PENDING_HOOKS], "Other");
    let plan = FrozenPlan::decode(annotations[UPDATE_PLAN].as_str().expect("it must have a plan")).expect("readable");
    assert_eq!(plan.remaining().len(), 2, "{plan:?}");
}

/// The machine is being updated by a plan, and it has gone like this so far.
fn mark_updating(world: &mut World, plan: &FrozenPlan, progress: &Progress) {
    let (plan, progress) = (plan.encode(), progress.encode().expect("there is something to say"));
    let marks = [
        (UPDATE_IN_PROGRESS, ""),
        (PENDING_HOOKS, "UpdateMachine"),
        (UPDATE_PLAN, &plan),
        (UPDATE_PROGRESS, &progress),
    ];
    world.machine.metadata.annotations = Some(labels_of(&marks));
}

/// An attempt that an extension answered with failure is over: the machine may take another target before the next one.
#[test]
fn a_machine_moves_between_two_tries_and_never_during_one() {
    let mut world = world();
    let left = frozen_plan("old", "t", &["can.files"]);
    let failed = Progress::handed_over(Some(left.question.clone()), at(0)).failed(Failure::Answered, at(0));
    for progress in [failed.retrying(), failed.failed(Failure::Unanswered, at(1))] {
        mark_updating(&mut world, &left, &progress);
        assert!(matches!(world.moving().rehearse(), Err(NotMoved::Busy { .. })), "{progress:?}");
    }
    mark_updating(&mut world, &left, &failed);
    let Ok(Effect::Patch(patch)) = world.moving().start(&world.accepted()) else { panic!("it must move") };
    assert_eq!(patch.resource_version.as_deref(), Some("1"), "a try that has begun meanwhile makes it void");
    let annotations = &patch.merge["metadata"]["annotations"];
    assert!(annotations.as_object().is_some_and(|all| all.contains_key(UPDATE_PROGRESS)));
    assert_eq!((&annotations[UPDATE_PROGRESS], &annotations[PENDING_HOOKS]), (&Value::Null, &Value::Null));
}

/// The extension that was at work is gone. What it was to change, another one changes on the way to the new target.
#[test]
fn a_machine_whose_extension_is_gone_moves_with_a_plan_of_extensions_that_exist() {
    let mut world = world();
    let plan = |question: &str, extension: &str, fields: &[&str]| {
        let (question, target) = (hash(question), hash("t"));
        UpdatePlan { question, target, steps: vec![planned(extension, fields)] }.freeze()
    };
    let left = plan("old", "can.memory", &["spec.memory"]);
    let mut progress = Progress::handed_over(Some(left.question.clone()), at(0));
    progress.missing = vec![name("can.memory")];
    mark_updating(&mut world, &left, &progress);
    assert!(matches!(world.moving().rehearse(), Err(NotMoved::Busy { .. })), "it may come back");
    progress.is_gone = true;
    mark_updating(&mut world, &left, &progress);
    let run = |world: &World| {
        let Ok(Effect::Patch(patch)) = world.moving().start(&world.accepted()) else { panic!("it must move") };
        let annotations = &patch.merge["metadata"]["annotations"];
        assert_eq!((&annotations[UPDATE_PROGRESS], &annotations[PENDING_HOOKS]), (&Value::Null, &Value::Null));
        let plan = annotations[UPDATE_PLAN].as_str().expect("it must have a plan");
        FrozenPlan::decode(plan).expect("readable").remaining().to_vec()
    };
    world.plan = plan("q", "can.memory-2", &["spec.memory"]);
    assert_eq!(run(&world), [name("can.memory-2")]);
    world.plan = plan("q", "can.processors", &["spec.cpus"]);
    assert_eq!(run(&world), [name("can.memory"), name("can.processors")], "the memory must be changed by somebody");
}
