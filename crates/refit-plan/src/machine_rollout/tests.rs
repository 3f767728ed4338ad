use refit_api::rollout::RolloutProgress;
use serde_json::json;

use super::*;

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
    rollouts: Vec<MachineRollout>,
}

impl World {
    fn new(owners: &[&str]) -> Self {
        let mut deployment: MachineDeployment = owned("md", "c");
        deployment.spec.replicas = i32::try_from(owners.len()).ok();
        let names = (0..owners.len()).map(|number| format!("m{number}"));
        let machines = names.zip(owners).map(|(name, owner)| owned(&name, owner)).collect();
        Self { deployment, cluster: owned("c", ""), new: owned("new", "md"), machines, rollouts: Vec::new() }
    }

    fn decide(&self, seconds: i64, written: Option<i64>) -> Plan {
        let time = |seconds| Timestamp::from_second(seconds).expect("it must be a time");
        decide(&Observed {
            now: time(seconds),
            deployment: &self.deployment,
            cluster: &self.cluster,
            new: Some(&self.new),
            machines: &self.machines.iter().collect::<Vec<_>>(),
            coverage: None,
            rollouts: &self.rollouts.iter().collect::<Vec<_>>(),
            written: written.map(time),
        })
    }

    /// Decides, and takes in the status that is written.
    fn step(&mut self, seconds: i64) {
        for effect in self.decide(seconds, None).effects {
            let Effect::Patch(patch) = effect else { panic!("only the status must be written: {effect:?}") };
            let rollout = self.rollouts.iter_mut().find(|it| it.metadata.name.as_deref() == Some(&patch.target.name));
            let rollout = rollout.expect("it must be there");
            let mut status = serde_json::to_value(&rollout.status).expect("it must encode");
            let changes = patch.merge["status"].as_object().cloned().unwrap_or_default();
            status.as_object_mut().expect("it must be an object").extend(changes);
            rollout.status = serde_json::from_value(status).expect("it must decode");
        }
    }
}

fn rollout(revision: &str) -> MachineRollout {
    let mut rollout: MachineRollout = owned(revision, "md");
    rollout.spec.revision = revision.to_owned();
    rollout
}

#[test]
fn a_rollout_is_written_down_once_machines_have_to_change() {
    assert_eq!(World::new(&["new", "new"]).decide(1, None), Plan::default());
    let plan = World::new(&["old", "new"]).decide(1, None);
    let [Effect::Apply(apply)] = plan.effects.as_slice() else { panic!("it must be created: {plan:?}") };
    assert_eq!((apply.target.name.as_str(), apply.intent["spec"]["revision"].as_str()), ("new", Some("new")));
}

#[test]
fn counters_follow_after_a_while_and_the_end_at_once() {
    let mut world = World::new(&["old", "old"]);
    world.rollouts.push(rollout("new"));
    world.step(1);
    let progress = RolloutProgress { machines: 2, waiting: 2, ..RolloutProgress::default() };
    assert_eq!(world.rollouts[0].status.progress, Some(progress));
    world.machines[0] = owned("m0", "new");
    world.step(2);
    let progress = RolloutProgress { machines: 2, waiting: 1, updated: 1, ..RolloutProgress::default() };
    assert_eq!(world.rollouts[0].status.progress, Some(progress));
    world.machines[1].metadata.annotations =
        Some([("in-place-updates.internal.cluster.x-k8s.io/update-in-progress".to_owned(), String::new())].into());
    let plan = world.decide(3, Some(2));
    assert_eq!((plan.effects.len(), plan.requeue_after), (0, Some(Duration::from_secs(1))));
    world.machines[1] = owned("m1", "new");
    assert_eq!(world.decide(3, Some(2)).effects.len(), 1, "the end is told at once");
    world.step(3);
    assert!(world.rollouts[0].status.completion_time.is_some());
    assert_eq!(world.decide(9, None), Plan::default(), "what is closed stays as it is");
}

#[test]
fn another_change_closes_what_is_going_on() {
    let mut world = World::new(&["old"]);
    world.rollouts = vec![rollout("before"), rollout("new")];
    world.step(1);
    assert_eq!(world.rollouts[0].status.message.as_deref(), Some("overtaken by another change"));
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
    let deleted = world.decide(1, None).effects.into_iter().map(|effect| match effect {
        Effect::Delete(delete) => delete.target.name,
        other => panic!("{other:?}"),
    });
    assert_eq!(deleted.collect::<Vec<_>>(), ["r00", "r01"]);
}
