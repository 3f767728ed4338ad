use refit_api::cluster::Machine;
use refit_api::vocabulary::annotations::{MOVE_MACHINES_TO_MACHINESET, RECEIVE_MACHINES_FROM_MACHINESETS};
use serde_json::{Value, json};

use super::*;
use crate::coverage::testing::frozen_plan;
use crate::reading::Read;
use crate::testing::{Store, labels_of, machine_of, machine_set, template};

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
    let mut world = world();
    let kinds = |world: &World| -> Vec<String> {
        let rehearsal = world.moving().rehearse().expect("it must be rehearsed");
        rehearsal.applies.into_iter().map(|apply| apply.target.kind).collect()
    };
    assert_eq!(kinds(&world), ["Host"], "what changes with the move is rehearsed");
    world.to.spec.template.spec.version = Some("v1.99.0".to_owned());
    assert_eq!(kinds(&world), ["Host", "Machine"], "in its order");
    let rehearsal = world.moving().rehearse().expect("it must be rehearsed");
    let outcome =
        Outcome::Refused { object: rehearsal.applies[0].target.clone(), why: "spec.cpus is immutable".to_owned() };
    let error = world.moving().start(&Rehearsed { rehearsal, outcome }).expect_err("it must stay");
    assert_eq!(error.to_string(), "Machine m stays: Host m would be refused: spec.cpus is immutable");
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
