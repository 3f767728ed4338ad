//! Every rollout is written down, before anything changes for it.

use refit_api::rollout::{MachineRollout, RolloutDecision, RolloutState};
use refit_api::vocabulary::refit::annotations::IN_PLACE;
use serde_json::json;

use super::world::{Says, World, settled};
use crate::effect::Effect;

fn writing(says: Says) -> World {
    let mut world = settled(3);
    (world.says, world.writes_down) = (says, true);
    world
}

/// The rollouts by their numbers: what was decided, and why.
fn rollouts(world: &World) -> Vec<(i64, Option<RolloutDecision>, String)> {
    let mut all: Vec<MachineRollout> = world.store.list_typed();
    all.sort_by_key(|it| it.spec.number);
    let of = |it: &MachineRollout| {
        (it.spec.number.unwrap_or_default(), it.status.decision, it.status.reason.clone().unwrap_or_default())
    };
    all.iter().map(of).collect()
}

/// The kinds of objects that a decision writes to, in their order, each once.
fn kinds(effects: &[Effect]) -> Vec<String> {
    let kind = |effect: &Effect| match effect {
        Effect::Apply(apply) => Some(apply.target.kind.clone()),
        Effect::Patch(patch) => Some(patch.target.kind.clone()),
        Effect::Delete(delete) => Some(delete.target.kind.clone()),
        Effect::Emit(_) => None,
    };
    let mut kinds: Vec<String> = effects.iter().filter_map(kind).collect();
    kinds.dedup();
    kinds
}

#[test]
fn a_rollout_is_written_down_before_a_machine_set_changes_for_it() {
    for (says, policy, decision) in [
        (Says::Yes, "Prefer", RolloutDecision::InPlace),
        (Says::No, "Prefer", RolloutDecision::Replace),
        (Says::No, "Require", RolloutDecision::Blocked),
        (Says::No, "Never", RolloutDecision::Replace),
    ] {
        let mut world = writing(says);
        world.policy(&[(IN_PLACE, policy)]);
        world.settle();
        world.new_template("v2");
        let first = world.decide().plan.effects;
        assert_eq!(kinds(&first)[..2], ["MachineRollout", "MachineSet"], "{policy}: {first:?}");
        world.settle();
        let [(2, decided, reason)] = &rollouts(&world)[..] else { panic!("{:?}", rollouts(&world)) };
        assert_eq!(*decided, Some(decision), "{policy}");
        assert_eq!(reason.is_empty(), decision == RolloutDecision::InPlace, "{policy}: {reason}");
        let rollout = world.store.list_typed::<MachineRollout>().remove(0);
        let paths: Vec<&str> = rollout.status.changes.iter().map(|change| change.path.as_str()).collect();
        assert!(paths.contains(&"spec.template.spec.version"), "{policy}: {paths:?}");
        assert_eq!(world.events("RolloutStarted").len(), 1, "{policy}");
        assert_eq!(world.events("RolloutDecided").len(), usize::from(policy != "Require"), "{policy}");
    }
}

/// A rollout is a passage of machines, not a template.
#[test]
fn a_change_that_is_taken_back_is_a_rollout_of_its_own() {
    let mut world = writing(Says::Yes);
    world.limits(0, 1);
    world.settle();
    let before = world.deployment().spec.template;
    world.new_template("v2");
    world.run_into_a_move();
    let back = json!({ "version": before.spec.version, "infrastructureRef": before.spec.infrastructure_ref });
    world.change(json!({ "spec": { "template": { "spec": back } } }));
    world.settle();
    let in_place = Some(RolloutDecision::InPlace);
    assert_eq!(rollouts(&world), [(2, in_place, String::new()), (3, in_place, String::new())]);
    assert_eq!(world.events("RolloutStarted").len(), 2);
    assert_eq!(world.events("RolloutDecided").len(), 2);
    assert!(world.events("RolloutStarted")[1].ends_with("it has the wanted template again"));
}

/// `clusterctl alpha rollout restart` sets `spec.rollout.after`.
#[test]
fn a_restart_is_written_down_with_who_asked_for_it() {
    let mut world = writing(Says::Yes);
    world.change(json!({ "spec": { "rollout": { "after": "1970-01-01T00:20:00Z" } } }));
    world.pass();
    let asked = "spec.rollout.after, 1970-01-01T00:20:00Z, asks for new machines";
    assert_eq!(rollouts(&world), [(2, Some(RolloutDecision::Replace), asked.to_owned())]);
    assert_eq!(world.events("RolloutStarted").len(), 1);
    assert_eq!(world.events("RolloutDecided"), [format!("machines are replaced: {asked}")]);
}

#[test]
fn a_server_without_the_kind_gets_none() {
    let mut world = settled(3);
    world.new_template("v2");
    world.settle();
    assert!(rollouts(&world).is_empty());
    assert_eq!(world.events("RolloutStarted").len(), 1);
}

/// What it owns may stay, and nobody would write to it any more: `kubectl delete --cascade=orphan`.
#[test]
fn a_rollout_is_closed_before_its_machine_deployment_is_gone() {
    let mut world = writing(Says::Nothing);
    world.new_template("v2");
    world.pass();
    world.change(json!({ "metadata": { "deletionTimestamp": "1970-01-01T00:20:00Z" } }));
    world.pass();
    let rollout = world.store.list_typed::<MachineRollout>().remove(0);
    assert_eq!(rollout.status.state, Some(RolloutState::Overtaken));
    assert_eq!(rollout.status.message.as_deref(), Some("MachineDeployment md is being deleted"));
    assert!(world.store.get("MachineDeployment", "md").is_some());
}
