use refit_api::rollout::{ChangedObject, FieldChange, RolloutDecision, RolloutProgress, RolloutState};
use refit_api::vocabulary::refit::annotations::{IN_PLACE, UPDATE_PLAN, UPDATE_PROGRESS};
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
    wanted_before: Option<&'static str>,
    machines: Vec<Machine>,
    waiting_on: Vec<WaitingOn>,
    rollouts: Vec<MachineRollout>,
    /// What was told.
    told: Vec<(&'static str, String)>,
}

impl World {
    fn new(owners: &[&str]) -> Self {
        let mut deployment: MachineDeployment = owned("md", "c");
        deployment.spec.replicas = i32::try_from(owners.len()).ok();
        let names = (0..owners.len()).map(|number| format!("m{number}"));
        let machines = names.zip(owners).map(|(name, owner)| owned(&name, owner)).collect();
        Self {
            deployment,
            cluster: owned("c", ""),
            new: owned("new", "md"),
            wanted_before: None,
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
        decide(&Observed {
            now: at(seconds),
            deployment: &self.deployment,
            cluster: &self.cluster,
            new: Some(&self.new),
            wanted_before: self.wanted_before,
            machines: &self.machines.iter().collect::<Vec<_>>(),
            coverage: None,
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

#[test]
fn a_rollout_that_is_over_before_anybody_looks_is_written_down() {
    let begins = |world: &World| matches!(world.decide(0).effects.as_slice(), [Effect::Apply(_)]);
    let world = |wanted_before| World { wanted_before, ..World::new(&["new", "new"]) };
    assert!(begins(&world(Some("old"))));
    assert!(!begins(&world(Some("new"))) && !begins(&world(None)), "nothing has to roll out");
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
fn a_rollout_is_written_down_once_machines_have_to_change() {
    assert_eq!(World::new(&["new", "new"]).decide(1), Plan::default());
    let plan = World::new(&["old", "new"]).decide(1);
    let [Effect::Apply(apply)] = plan.effects.as_slice() else { panic!("it must be created: {plan:?}") };
    assert_eq!((apply.target.name.as_str(), apply.intent["spec"]["revision"].as_str()), ("new", Some("new")));
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
    assert_eq!(status.message.as_deref(), Some("all machines are up-to-date, after 7s"));
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
    let resumed = |world: &mut World| {
        decided(world);
        world.rollouts[0].status.state = Some(Blocked);
    };
    let again = ("RolloutResumed", "machines change again");
    check(resumed, Progressing, "spec.memory from 1 to 2 by can.memory", &[again]);
}

#[test]
fn it_is_told_once_how_machines_change() {
    let mut world = World::begun(&["old"]);
    world.rollouts[0].spec.policy = refit_api::policy::InPlacePolicy::Never;
    world.step(1);
    world.step(2);
    assert_eq!(world.told, [("RolloutDecided", format!("machines are replaced, as {IN_PLACE} says"))]);
    let words = |decision, changes: &[FieldChange]| {
        let status = MachineRolloutStatus { decision, changes: changes.to_vec(), ..MachineRolloutStatus::default() };
        let events = tell::events(&world.deployment, &MachineRolloutStatus::default(), &status);
        events.into_iter().map(|event| event.message).collect::<Vec<_>>()
    };
    let changes = [change("spec.memory", Some("can.memory")), change("spec.cpus", None)];
    let in_place = "machines are updated in place: spec.memory from 1 to 2 by can.memory";
    assert_eq!(words(Some(RolloutDecision::InPlace), &changes[..1]), [in_place]);
    let replaced = "machines are replaced: no extension covers spec.cpus";
    assert_eq!(words(Some(RolloutDecision::Replace), &changes), [replaced]);
    assert!(words(Some(RolloutDecision::Blocked), &changes).is_empty(), "the MachineDeployment tells that");
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
