use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use refit_api::policy::InPlacePolicy;
use refit_api::resource::CustomKind;
use refit_api::rollout::{ChangedObject, FieldChange, RolloutDecision, RolloutProgress, RolloutState};
use refit_api::vocabulary::refit::annotations::{UPDATE_PLAN, UPDATE_PROGRESS};
use serde_json::json;

use super::*;
use crate::coverage::testing::{frozen_plan, hash};
use crate::machine::progress::Progress;

fn owned<K: CustomKind + Default>(name: &str, owner: &str) -> K {
    let mut object = K::default();
    let metadata = object.meta_mut();
    metadata.name = Some(name.to_owned());
    metadata.namespace = Some("ns".to_owned());
    metadata.uid = Some(name.to_owned());
    metadata.resource_version = Some("1".to_owned());
    let reference = json!([{ "apiVersion": "v1", "kind": "K", "name": owner, "uid": owner, "controller": true }]);
    metadata.owner_references = serde_json::from_value(reference).ok();
    object
}

/// A MachineDeployment that rolls out to `new`, whose machines have these owners.
struct World {
    deployment: MachineDeployment,
    cluster: Cluster,
    new: MachineSet,
    machines: Vec<Machine>,
    waiting_on: Vec<WaitingOn>,
    rollouts: Vec<MachineRollout>,
    /// What was told.
    told: Vec<(&'static str, String)>,
}

impl World {
    fn new(owners: &[&str]) -> Self {
        let mut deployment: MachineDeployment = owned("md", "c");
        let replicas = i32::try_from(owners.len()).ok();
        deployment.spec.replicas = replicas;
        deployment.status.replicas = replicas;
        deployment.status.available_replicas = replicas;
        deployment.status.up_to_date_replicas = replicas;
        let names = (0..owners.len()).map(|number| format!("m{number}"));
        let machines = names.zip(owners).map(|(name, owner)| owned(&name, owner)).collect();
        Self {
            deployment,
            cluster: owned("c", ""),
            new: owned("new", "md"),
            machines,
            waiting_on: Vec::new(),
            rollouts: Vec::new(),
            told: Vec::new(),
        }
    }

    /// The same with a rollout that was begun.
    fn begun(owners: &[&str]) -> Self {
        Self { rollouts: vec![rollout("new")], ..Self::new(owners) }
    }

    fn status(&self) -> &MachineRolloutStatus {
        &self.rollouts[0].status
    }

    fn decide(&self, seconds: i64) -> Plan {
        self.decide_on(Some(&self.new), seconds)
    }

    /// Decides while this is the MachineSet of the wanted template.
    fn decide_on(&self, new: Option<&MachineSet>, seconds: i64) -> Plan {
        decide(&Observed {
            now: at(seconds),
            deployment: &self.deployment,
            cluster: &self.cluster,
            new,
            machines: &self.machines.iter().collect::<Vec<_>>(),
            waiting_on: &self.waiting_on,
            rollouts: &self.rollouts.iter().collect::<Vec<_>>(),
        })
    }

    /// Decides, and takes in the status that is written.
    fn step(&mut self, seconds: i64) {
        for effect in self.decide(seconds).effects {
            let patch = match effect {
                Effect::Patch(patch) => patch,
                Effect::Emit(event) => {
                    self.told.push((event.reason, event.message));
                    continue;
                }
                other => panic!("only the status must be written: {other:?}"),
            };
            let rollout = self.rollouts.iter_mut().find(|it| it.metadata.name.as_deref() == Some(&patch.target.name));
            let rollout = rollout.expect("it must be there");
            let mut status = serde_json::to_value(&rollout.status).expect("it must encode");
            let changes = patch.merge["status"].as_object().cloned().unwrap_or_default();
            status.as_object_mut().expect("it must be an object").extend(changes);
            status.as_object_mut().expect("it must be an object").retain(|_, value| !value.is_null());
            rollout.status = serde_json::from_value(status).expect("it must decode");
        }
        assert!(self.decide(seconds).effects.is_empty(), "what is written is not written again");
    }
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).expect("it must be a time")
}

/// A machine whose update is under way and says this of it.
fn updating(name: &str, reason: &str, words: &str) -> Machine {
    let mut machine: Machine = owned(name, "new");
    let plan = frozen_plan("q", "t", &["can.memory"]);
    let progress = Progress { plan: Some(hash("q")), attempts: 2, ..Progress::default() };
    machine.metadata.annotations = Some(
        [
            ("in-place-updates.internal.cluster.x-k8s.io/update-in-progress".to_owned(), String::new()),
            (UPDATE_PLAN.to_owned(), plan.encode()),
            (UPDATE_PROGRESS.to_owned(), progress.encode().expect("there must be some")),
        ]
        .into(),
    );
    machine.status.conditions = vec![condition("Updating", reason, words)];
    machine
}

fn condition(type_: &str, reason: &str, words: &str) -> k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition {
    let time = "2026-01-01T00:00:00Z";
    let condition = json!({
        "type": type_, "status": "True", "reason": reason, "message": words, "lastTransitionTime": time,
    });
    serde_json::from_value(condition).expect("it must be a condition")
}

fn rollout(revision: &str) -> MachineRollout {
    let mut rollout: MachineRollout = owned(revision, "md");
    rollout.spec.revision = revision.to_owned();
    rollout
}

#[test]
fn machines_are_counted_once_each_until_all_are_done() {
    let mut world = World::begun(&["old", "old"]);
    world.step(1);
    let progress = RolloutProgress { machines: 2, waiting: 2, ..RolloutProgress::default() };
    assert_eq!(world.status().progress, Some(progress));
    world.machines[0] = owned("m0", "new");
    world.machines[1] = updating("m1", "InPlaceUpdating", "In-place update in progress");
    world.step(2);
    let progress = RolloutProgress { machines: 2, updating: 1, updated: 1, ..RolloutProgress::default() };
    assert_eq!(world.status().progress, Some(progress));
    assert_eq!(world.decide(2).requeue_after, Some(REFRESH), "words change without any other event");
    world.machines[1] = owned("m1", "new");
    world.step(9);
    let status = world.status();
    assert!(status.completion_time.is_some() && status.waiting.is_empty(), "{status:?}");
    assert_eq!(status.message.as_deref(), Some("all machines are up-to-date, after 8s"));
    assert_eq!(world.decide(19), Plan::default(), "what is closed stays as it is");
}

#[test]
fn machines_that_wait_are_named_with_what_they_wait_for() {
    let mut world = World::begun(&["old"; 30]);
    world.machines[20] = updating("m20", "InPlaceUpdating", "In-place update in progress: half way");
    world.machines[21] = updating("m21", "InPlaceUpdating", "In-place update in progress");
    world.machines[22] = owned("m22", "new");
    world.waiting_on = vec![WaitingOn::Availability { available: 28, minimum: 28 }; 2];
    world.rollouts[0].status.decision = Some(RolloutDecision::InPlace);
    world.step(1);
    let waiting = &world.status().waiting;
    let words = |index: usize| (waiting[index].machine.as_str(), waiting[index].on.as_str());
    assert_eq!(waiting.len(), 10, "the others are counted");
    assert_eq!(words(0), ("m20", "In-place update in progress: half way"));
    assert_eq!(words(1), ("m21", "the first answer of its extension"));
    assert_eq!(
        words(2),
        ("m0", "no more machines may be unavailable: 28 available, 28 required"),
        "a reason is told once"
    );
    assert_eq!(world.status().progress.as_ref().map(|it| (it.waiting, it.updating)), Some((27, 2)));
}

#[test]
fn failures_are_told_with_extension_tries_and_words() {
    let mut world = World::begun(&["old"; 3]);
    world.machines[0] = updating("m0", "InPlaceUpdateFailed", "update.memory: no disk (try 2)");
    world.machines[1] = updating("m1", "InPlaceUpdateFailed", "update.memory: no power");
    let given_up = condition("refit.dev/UpdateFailed", "RetriesExhausted", "update.memory: no power");
    world.machines[1].status.conditions.push(given_up);
    world.step(1);
    let told = world.status().failures.iter();
    let told: Vec<_> = told.map(|it| (&*it.machine, it.extension.as_deref(), it.attempts, &*it.message)).collect();
    let memory = Some("memory");
    let expected = [("m0", memory, 2, "update.memory: no disk (try 2)"), ("m1", memory, 2, "update.memory: no power")];
    assert_eq!(told, expected);
    let progress = world.status().progress.clone().expect("there must be some");
    assert_eq!((progress.updating, progress.failed), (1, 1), "one of them is tried again");
}

/// Changes the world, and compares where the rollout stands and what was told of it.
fn check(change: impl FnOnce(&mut World), state: RolloutState, message: &str, told: &[(&'static str, &str)]) {
    let mut world = World::begun(&["old"]);
    change(&mut world);
    world.step(1);
    assert_eq!(world.status().state, Some(state));
    assert_eq!(world.status().message.as_deref(), Some(message));
    let said: Vec<(&str, &str)> = world.told.iter().map(|(reason, words)| (*reason, words.as_str())).collect();
    assert_eq!(said, told);
}

fn change(path: &str, covered_by: Option<&str>) -> FieldChange {
    FieldChange {
        object: ChangedObject::InfrastructureMachine,
        path: path.to_owned(),
        from: Some("1".to_owned()),
        to: Some("2".to_owned()),
        covered_by: covered_by.map(str::to_owned),
    }
}

#[test]
fn it_is_told_whether_a_rollout_moves_and_why_not() {
    use RolloutState::{Blocked, Deciding, OnDelete, Paused, Progressing};
    let decided = |world: &mut World| {
        world.rollouts[0].status.decision = Some(RolloutDecision::InPlace);
        world.rollouts[0].status.changes = vec![change("spec.memory", Some("can.memory"))];
    };
    check(|_| {}, Deciding, "waiting for extensions to answer", &[]);
    check(decided, Progressing, "spec.memory from 1 to 2 by can.memory", &[]);
    let waits = |world: &mut World| {
        decided(world);
        world.waiting_on = vec![WaitingOn::Updates { machines: vec!["m".to_owned()] }];
    };
    check(waits, Progressing, "waiting for the update of machine m", &[]);
    let fails = |world: &mut World| {
        waits(world);
        world.machines[0] = updating("m", "InPlaceUpdateFailed", "update.memory: no power (try 1)");
    };
    let failing = "waiting for the update of machine m (update.memory: no power (try 1))";
    check(fails, Progressing, failing, &[]);
    let paused = "MachineDeployment spec.paused is set to true";
    check(|world| world.deployment.spec.paused = Some(true), Paused, paused, &[("RolloutPaused", paused)]);
    let paused = "Cluster spec.paused is set to true";
    check(|world| world.cluster.spec.paused = Some(true), Paused, paused, &[("RolloutPaused", paused)]);
    let on_delete = |world: &mut World| {
        let strategy = json!({ "type": "OnDelete" });
        world.deployment.spec.rollout.strategy = serde_json::from_value(strategy).expect("it must decode");
    };
    check(on_delete, OnDelete, "machines change when they are deleted", &[]);
    let blocked = |world: &mut World| {
        let words = condition("refit.dev/RolloutBlocked", "UpdatesFailed", "machine m0 failed");
        world.deployment.status.conditions = vec![words];
        world.machines[0] = updating("m0", "InPlaceUpdateFailed", "no power");
    };
    check(blocked, Blocked, "machine m0 failed (no power)", &[]);
    let said = |world: &mut World| {
        blocked(world);
        world.deployment.status.conditions[0].message = "machine m0 failed (no power)".to_owned();
    };
    check(said, Blocked, "machine m0 failed (no power)", &[]);
    let resumed = |world: &mut World| {
        decided(world);
        world.rollouts[0].status.state = Some(Blocked);
    };
    let again = ("RolloutResumed", "machines change again");
    check(resumed, Progressing, "spec.memory from 1 to 2 by can.memory", &[again]);
}

#[test]
fn it_is_told_once_how_machines_change() {
    let deployment: MachineDeployment = owned("md", "c");
    let words = |decision, reason: Option<&str>, changes: &[FieldChange]| {
        let reason = reason.map(str::to_owned);
        let status =
            MachineRolloutStatus { decision, reason, changes: changes.to_vec(), ..MachineRolloutStatus::default() };
        assert_eq!(decided(&deployment, &status, &status), None, "once is enough");
        decided(&deployment, &MachineRolloutStatus::default(), &status).map(|event| event.message)
    };
    let changes = [change("spec.memory", Some("can.memory")), change("spec.cpus", None)];
    let in_place = "machines are updated in place: spec.memory from 1 to 2 by can.memory";
    assert_eq!(words(Some(RolloutDecision::InPlace), None, &changes[..1]).as_deref(), Some(in_place));
    let replaced = "machines are replaced: the policy is to replace machines";
    let why = Some("the policy is to replace machines");
    assert_eq!(words(Some(RolloutDecision::Replace), why, &changes).as_deref(), Some(replaced));
    assert_eq!(words(Some(RolloutDecision::Blocked), why, &changes), None, "the MachineDeployment tells that");
}

/// The counters are the MachineDeployment's own: nobody reads that all is well while it says otherwise.
#[test]
fn a_rollout_is_not_complete_while_the_machine_deployment_counts_otherwise() {
    let mut world = World::begun(&["new", "new"]);
    world.rollouts[0].status.decision = Some(RolloutDecision::Replace);
    world.deployment.status.up_to_date_replicas = Some(0);
    world.step(1);
    assert_eq!(world.status().state, Some(RolloutState::Progressing));
    let counted = "waiting for all of 2 machines to be counted: 0 up-to-date, 2 available";
    assert_eq!(world.status().message.as_deref(), Some(counted));
    world.deployment.status.up_to_date_replicas = Some(2);
    world.step(2);
    assert_eq!(world.status().state, Some(RolloutState::Completed));
}

/// Forth, back and forth again are three rollouts, to two MachineSets.
#[test]
fn the_same_template_again_is_another_rollout() {
    let numbered = |number: i64| {
        let mut rollout = rollout("new");
        rollout.metadata.name = Some(format!("new-{number}"));
        rollout.spec.number = Some(number);
        rollout
    };
    let mut world = World::new(&["old"]);
    world.rollouts = vec![numbered(2), numbered(4)];
    world.new.metadata.annotations = Some([(REVISION.to_owned(), "4".to_owned())].into());
    world.step(1);
    let state = |world: &World, index: usize| world.rollouts[index].status.state;
    assert_eq!((state(&world, 0), state(&world, 1)), (Some(RolloutState::Overtaken), Some(RolloutState::Deciding)));
    // It is written down before its MachineSet is.
    world.rollouts.push(numbered(6));
    world.step(2);
    assert_eq!((state(&world, 1), state(&world, 2)), (Some(RolloutState::Overtaken), Some(RolloutState::Deciding)));
}

/// The user takes a change back, or the process ends, before the MachineSet of the change was written.
#[test]
fn a_rollout_to_a_machine_set_that_never_came_is_closed() {
    let mut world = World::new(&["new"]);
    world.new.metadata.annotations = Some([(REVISION.to_owned(), "6".to_owned())].into());
    world.rollouts = vec![rollout("next")];
    world.rollouts[0].spec.number = Some(7);
    assert!(world.decide_on(None, 1).effects.is_empty(), "its MachineSet is to be made yet");
    world.step(2);
    assert_eq!(world.status().state, Some(RolloutState::Overtaken));
}

#[test]
fn every_machine_that_goes_is_written_down_before_with_why() {
    let mut going = rollout("new");
    going.status.decision = Some(RolloutDecision::Replace);
    going.status.reason = Some("no extension covers spec.cpus".to_owned());
    let old: MachineSet = owned("old", "md");
    let mut new: MachineSet = owned("new", "md");
    new.metadata.annotations = Some([("refit.dev/scaffolding".to_owned(), "m1".to_owned())].into());
    let names: Vec<Machine> = (0..MAX_DELETIONS + 2).map(|number| owned(&format!("m{number}"), "x")).collect();
    let write = |rollout: &mut MachineRollout, machine_set: &MachineSet, machines: &[&Machine]| {
        let effect = deletions(&Deletions { now: at(1), machine_set, machines, rollout });
        let Some(Effect::Patch(patch)) = effect else { return false };
        assert_eq!(patch.resource_version.as_deref(), Some("1"), "another MachineSet may write to the same list");
        let status = &patch.merge["status"];
        rollout.status.deleted = status["deleted"].as_i64().and_then(|count| i32::try_from(count).ok());
        rollout.status.deletions = serde_json::from_value(status["deletions"].clone()).expect("it must decode");
        true
    };
    assert!(write(&mut going, &old, &[&names[0]]));
    assert!(!write(&mut going, &old, &[&names[0]]), "once is enough");
    assert!(write(&mut going, &new, &[&names[1]]));
    let said: Vec<&str> = going.status.deletions.iter().map(|it| it.reason.as_str()).collect();
    assert_eq!(said, ["it is replaced: no extension covers spec.cpus", "it stood in while the others were updated"]);
    let mut asked: Machine = owned("asked", "x");
    asked.metadata.annotations = Some([("cluster.x-k8s.io/remediate-machine".to_owned(), String::new())].into());
    let mut other = going.clone();
    assert!(write(&mut other, &old, &[&asked]));
    let said = other.status.deletions.last().map(|it| it.reason.as_str());
    assert_eq!(said, Some("somebody asked for another machine in its place, by cluster.x-k8s.io/remediate-machine"));
    write(&mut going, &old, &names.iter().collect::<Vec<_>>());
    assert_eq!(going.status.deletions.len(), MAX_DELETIONS, "the last are listed");
    assert_eq!(going.status.deleted, i32::try_from(names.len()).ok(), "all are counted");
}

/// Somebody deleted the MachineSet, and another one of the same number took its place.
#[test]
fn a_rollout_to_a_machine_set_that_is_gone_is_closed() {
    let mut world = World::new(&["old"]);
    world.rollouts = vec![rollout("gone"), rollout("new")];
    world.rollouts.iter_mut().for_each(|it| it.spec.number = Some(2));
    world.new.metadata.annotations = Some([(REVISION.to_owned(), "2".to_owned())].into());
    world.step(1);
    let states: Vec<_> = world.rollouts.iter().map(|it| it.status.state).collect();
    assert_eq!(states, [Some(RolloutState::Overtaken), Some(RolloutState::Deciding)]);
}

#[test]
fn a_rollout_takes_as_long_as_it_was_on_record() {
    let mut world = World::begun(&["new"]);
    world.rollouts[0].metadata.creation_timestamp = Some(Time(at(10)));
    world.step(40);
    assert_eq!(world.status().message.as_deref(), Some("all machines are up-to-date, after 30s"));
}

#[test]
fn a_machine_that_is_paused_is_said_to_be() {
    let mut world = World::begun(&["new"]);
    let mut machine = updating("m0", "InPlaceUpdating", "setting the memory");
    let paused = refit_api::conditions::paused("Machine", refit_api::conditions::PausedBy::Annotation);
    refit_api::conditions::set(&mut machine.status.conditions, paused, None, at(0));
    world.machines = vec![machine];
    world.step(1);
    assert_eq!(world.status().waiting[0].on, "Machine has the cluster.x-k8s.io/paused annotation");
}

#[test]
fn another_change_closes_what_is_going_on() {
    let mut world = World::new(&["old"]);
    world.rollouts = vec![rollout("before"), rollout("new")];
    world.step(1);
    assert_eq!(world.rollouts[0].status.message.as_deref(), Some("overtaken by another change"));
    assert_eq!(world.rollouts[0].status.state, Some(RolloutState::Overtaken));
    assert!(world.rollouts[0].status.completion_time.is_some() && world.rollouts[1].status.completion_time.is_none());
}

#[test]
fn the_oldest_go_when_there_are_more_than_are_kept() {
    let mut world = World::new(&["new"]);
    for number in 0..KEPT + 2 {
        let mut closed = rollout(&format!("r{number:02}"));
        let time = format!("2026-01-01T00:00:{number:02}Z");
        closed.status.completion_time = serde_json::from_value(json!(time)).ok();
        world.rollouts.push(closed);
    }
    let deleted = world.decide(1).effects.into_iter().map(|effect| match effect {
        Effect::Delete(delete) => delete.target.name,
        other => panic!("{other:?}"),
    });
    assert_eq!(deleted.collect::<Vec<_>>(), ["r00", "r01"]);
}

#[test]
fn what_was_blocked_and_is_not_any_more_is_decided_anew_and_nothing_is_resumed() {
    let mut world = World::begun(&["old"]);
    world.rollouts[0].status.decision = Some(RolloutDecision::Blocked);
    world.rollouts[0].status.state = Some(RolloutState::Blocked);
    world.step(1);
    assert_eq!(world.status().state, Some(RolloutState::Deciding));
    assert!(world.told.iter().all(|(reason, _)| *reason != "RolloutResumed"), "{:?}", world.told);
}

#[test]
fn machines_that_were_replaced_stay_on_record_when_the_others_are_updated_in_place() {
    let mut status = MachineRolloutStatus::default();
    let decide = |status: &mut MachineRolloutStatus| {
        set_verdict(&Verdict::InPlace, InPlacePolicy::Require, None, || None, status);
        (status.decision, status.reason.clone())
    };
    assert_eq!(decide(&mut status), (Some(RolloutDecision::InPlace), None));
    let gone = json!([{ "machine": "m1", "reason": "it is replaced: the policy", "time": "2026-01-01T00:00:00Z" }]);
    status.deletions = serde_json::from_value(gone).expect("it must decode");
    let words = "1 machine was replaced, the others are updated in place";
    assert_eq!(decide(&mut status), (Some(RolloutDecision::Replace), Some(words.to_owned())));
}

/// `kubectl delete --cascade=orphan`, and another MachineDeployment of the same name: the garbage collector set the rollouts free.
#[test]
fn rollouts_that_nobody_owns_belong_to_the_machine_deployment_of_that_name() {
    let free = |name: &str, closed_at: Option<i64>| {
        let mut rollout = rollout(name);
        rollout.metadata.owner_references = None;
        rollout.status.completion_time = closed_at.map(|seconds| Time(at(seconds)));
        rollout
    };
    let mut world = World::new(&["old"]);
    world.rollouts = vec![free("before", None), free("new", None)];
    world.rollouts.extend((0..KEPT).map(|number| free(&format!("r{number:02}"), i64::try_from(number).ok())));
    let done = |world: &World| -> BTreeMap<String, Vec<&str>> {
        let mut done: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for effect in world.decide(20).effects {
            let (target, what) = match effect {
                Effect::Delete(delete) => (delete.target, "deleted"),
                Effect::Patch(patch) if patch.merge["status"]["state"] == "Overtaken" => (patch.target, "closed"),
                Effect::Patch(patch) if patch.merge.get("status").is_some() => (patch.target, "followed"),
                Effect::Patch(patch) => {
                    assert_eq!(patch.resource_version.as_deref(), Some("1"), "it is for the version that was read");
                    assert_eq!(patch.merge["metadata"]["ownerReferences"][0]["uid"], "md");
                    (patch.target, "adopted")
                }
                other => panic!("{other:?}"),
            };
            done.entry(target.name).or_default().push(what);
        }
        done
    };
    let first = done(&world);
    assert_eq!(first["before"], ["adopted", "closed"]);
    assert_eq!(first["new"], ["adopted", "followed"], "it is the rollout that goes on");
    assert_eq!((&first["r00"][..], &first["r01"][..]), (&["deleted"][..], &["deleted"][..]), "as ever");
    assert_eq!(first["r02"], ["adopted"]);
    world.deployment.metadata.deletion_timestamp = Some(Time(at(20)));
    let left: Vec<_> = done(&world).into_iter().collect();
    let closed = |name: &str| (name.to_owned(), vec!["closed"]);
    assert_eq!(left, [closed("before"), closed("new")], "one that is being deleted takes nothing on");
}

#[test]
fn a_machine_deployment_that_is_being_deleted_closes_what_goes_on() {
    let mut world = World::begun(&["old"]);
    world.deployment.metadata.deletion_timestamp = Some(Time(at(1)));
    world.step(2);
    let status = world.status();
    assert_eq!((status.state, &status.completion_time), (Some(RolloutState::Overtaken), &Some(Time(at(2)))));
    assert_eq!(status.message.as_deref(), Some("MachineDeployment md is being deleted"));
}

/// Why a machine goes while the others are updated in place, what is decided by then, and what the event of its MachineSet says.
#[test]
fn a_machine_that_makes_room_for_a_new_one_is_replaced() {
    let (annotate, failed) =
        (|key: &str, value: &str| Some([(key.to_owned(), value.to_owned())].into()), "RetriesExhausted");
    let fewer = annotate("refit.dev/scaled-down", "1");
    let replaced = "it is replaced by a machine that the rollout has made, as refit.dev/keep-originals is not true";
    let in_part = Some("1 machine was replaced, the others are updated in place");
    let cases = [
        ("old", None, "", RolloutDecision::Replace, in_part, replaced, ""),
        (
            "old",
            fewer.clone(),
            "",
            RolloutDecision::InPlace,
            None,
            "fewer machines are wanted",
            ": fewer machines are wanted",
        ),
        ("new", fewer, "", RolloutDecision::InPlace, None, "fewer machines are wanted", ": fewer machines are wanted"),
        (
            "old",
            None,
            failed,
            RolloutDecision::InPlace,
            None,
            "it is unhealthy: RetriesExhausted",
            ": it is unhealthy: RetriesExhausted",
        ),
    ];
    for (set, annotations, unhealthy, decision, reason, deletion, event) in cases {
        let mut rollout = rollout("new");
        rollout.status.decision = Some(RolloutDecision::InPlace);
        let mut set: MachineSet = owned(set, "md");
        set.metadata.annotations = annotations;
        let mut machine: Machine = owned("m1", "x");
        if !unhealthy.is_empty() {
            let mut condition = condition("HealthCheckSucceeded", "Unhealthy", unhealthy);
            condition.status = "False".to_owned();
            machine.status.conditions.push(condition);
        }
        let written = deletions(&Deletions { now: at(1), machine_set: &set, machines: &[&machine], rollout: &rollout });
        let Some(Effect::Patch(patch)) = written else { panic!("it must be written down: {written:?}") };
        let status = &patch.merge["status"];
        assert_eq!(status["deletions"][0]["reason"], deletion);
        let decided = status.get("decision").map_or(json!("InPlace"), Clone::clone);
        assert_eq!((decided, status["reason"].as_str()), (json!(decision), reason), "{deletion}");
        let told = crate::machine_set::delete::delete(&set, &machine).into_iter().find_map(|effect| match effect {
            Effect::Emit(event) => Some(event.message),
            _ => None,
        });
        assert_eq!(told, Some(format!("Deleted Machine \"m1\"{event}")));
    }
}

/// The next one goes for the same, and not for what is said of the rollout by then.
#[test]
fn machines_that_make_room_are_counted() {
    let mut rollout = rollout("new");
    rollout.status.decision = Some(RolloutDecision::InPlace);
    let (set, one, two): (MachineSet, Machine, Machine) = (owned("old", "md"), owned("m1", "x"), owned("m2", "x"));
    for machine in [&one, &two] {
        let written = deletions(&Deletions { now: at(1), machine_set: &set, machines: &[machine], rollout: &rollout });
        let Some(Effect::Patch(patch)) = written else { panic!("it must be written down: {written:?}") };
        let mut status = serde_json::to_value(&rollout.status).expect("it must encode");
        status
            .as_object_mut()
            .expect("it must be one")
            .extend(patch.merge["status"].as_object().expect("it is").clone());
        rollout.status = serde_json::from_value(status).expect("it must decode");
    }
    let reasons: Vec<&str> = rollout.status.deletions.iter().map(|it| it.reason.as_str()).collect();
    assert!(reasons.iter().all(|reason| reason.starts_with("it is replaced by a machine")), "{reasons:?}");
    assert_eq!(rollout.status.reason.as_deref(), Some("2 machines were replaced, the others are updated in place"));
}
