//! Rules that exist only where the halves meet.

use std::time::Duration;

use refit_api::cluster::{Machine, MachineSet};
use refit_api::vocabulary::annotations::{DESIRED_REPLICAS, PAUSED, REVISION, UPDATE_IN_PROGRESS};
use refit_api::vocabulary::condition_types as types;
use refit_api::vocabulary::refit::annotations::{IN_PLACE, KEEP_ORIGINALS, UPDATE_FAILED};
use refit_api::vocabulary::refit::condition_types::ROLLOUT_BLOCKED;
use serde_json::{Value, json};

use super::world::{Says, World, found, settled, world};
use crate::effect::{Effect, Part, Patch, Target};
use crate::handover::Handover;
use crate::machine_deployment::decide::decide;
use crate::reading::{Read, Unreadable};
use crate::testing::{labels_of, machine_set};

/// What a decision writes, as `apply md-abcde`, `patch md`, `status md`, `delete ms` or `tell SuccessfulScale`.
fn writes(effects: &[Effect]) -> Vec<String> {
    let write = |effect: &Effect| match effect {
        Effect::Apply(apply) => format!("apply {}", apply.target.name),
        Effect::Patch(Patch { part: Part::Status, target, .. }) => format!("status {}", target.name),
        Effect::Patch(patch) => format!("patch {}", patch.target.name),
        Effect::Delete(delete) => format!("delete {}", delete.target.name),
        Effect::Emit(event) => format!("tell {}", event.reason),
    };
    effects.iter().map(write).collect()
}

/// Checks what the next pass tells and writes, and carries it out.
#[track_caller]
fn check(world: &mut World, reports: &[&str], effects: &[&str]) {
    let decision = world.decide();
    assert_eq!((writes(&decision.reports), writes(&decision.plan.effects)), (owned(reports), owned(effects)));
    world.store.carry_out(&decision.reports);
    world.store.carry_out(&decision.plan.effects);
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

#[test]
fn it_is_taken_on_and_joins_its_cluster_before_it_makes_anything() {
    let mut world = world(2);
    check(&mut world, &[], &["patch md"]);
    assert_eq!(world.deployment().metadata.finalizers, Some(vec!["cluster.x-k8s.io/machinedeployment".to_owned()]));
    check(&mut world, &[], &["patch md", "patch md"]);
    let expected = ["apply md-bbbbb", "tell SuccessfulCreate", "patch md", "status md"];
    check(&mut world, &["status md"], &expected);
    check(&mut world, &[], &[]);
}

/// Nothing that pins the version of the MachineDeployment comes after what changes it, so that no pass is in its own way.
#[test]
fn reports_come_first_and_pin_no_version() {
    let mut world = settled(1);
    world.new_template("v2");
    let decision = world.decide();
    assert_eq!(writes(&decision.reports), ["status md"]);
    let effects = writes(&decision.plan.effects);
    assert_eq!(effects[1..], ["tell SuccessfulCreate", "tell RolloutStarted", "patch md", "status md"]);
    let pinned = |effects: &[Effect]| {
        let is_pinned = |effect: &&Effect| matches!(effect, Effect::Patch(patch) if patch.resource_version.is_some());
        effects.iter().filter(is_pinned).count()
    };
    assert_eq!((pinned(&decision.reports), pinned(&decision.plan.effects)), (0, 0));
}

#[test]
fn of_a_paused_machine_deployment_only_that_is_told() {
    for by_cluster in [true, false] {
        let mut world = settled(2);
        world.new_template("v2");
        if by_cluster {
            world.cluster.spec.paused = Some(true);
        } else {
            world.policy(&[(PAUSED, "")]);
        }
        check(&mut world, &["status md"], &[]);
        assert!(world.condition(types::PAUSED).starts_with("True Paused"));
        check(&mut world, &[], &[]);
    }
}

#[test]
fn a_machine_set_of_nobody_is_adopted_before_anything_is_counted() {
    let mut world = settled(2);
    let mut orphan = machine_set("orphan", 1);
    orphan.metadata.owner_references = None;
    world.store.insert_typed(&orphan);
    world.change(json!({ "spec": { "replicas": 3 } }));
    check(&mut world, &[], &["patch orphan", "tell SuccessfulAdopt"]);
    world.settle();
    let names: Vec<_> = world.machine_sets().into_iter().filter_map(|set| set.metadata.name).collect();
    assert!(!names.contains(&"orphan".to_owned()), "it is rolled out and cleaned up as any other: {names:?}");
}

#[test]
fn a_machine_set_of_another_is_left_alone() {
    let mut world = settled(2);
    let mut other = machine_set("other", 7);
    let mut owner = world.machine_sets()[0].metadata.owner_references.clone().expect("it has an owner");
    owner[0].uid = "another".to_owned();
    other.metadata.owner_references = Some(owner);
    world.store.insert_typed(&other);
    check(&mut world, &[], &[]);
}

/// The policy that counts: the MachineDeployment's, or else the Cluster's.
#[test]
fn the_policy_of_the_cluster_is_the_default() {
    for (cluster, own, asked, stay) in [
        (None, None, 1, false),
        (Some("Require"), None, 1, true),
        (Some("Require"), Some("Prefer"), 1, false),
        (Some("Require"), Some("Never"), 0, false),
        (Some("Never"), None, 0, false),
        (Some("Never"), Some("Require"), 1, true),
    ] {
        let mut world = settled(2);
        world
            .cluster
            .metadata
            .annotations
            .get_or_insert_default()
            .extend(cluster.map(|it| (IN_PLACE.to_owned(), it.to_owned())));
        if let Some(policy) = own {
            world.policy(&[(IN_PLACE, policy)]);
        }
        world.new_template("v2");
        world.settle();
        assert_eq!((world.asked, world.deleted.is_empty()), (asked, stay), "{cluster:?} {own:?}");
    }
}

/// One answer is good for a whole rollout, and for nothing else.
#[test]
fn a_question_is_the_same_until_templates_or_machine_sets_change() {
    let mut world = settled(2);
    world.says = Says::No;
    world.policy(&[(IN_PLACE, "Require")]);
    world.new_template("v2");
    world.settle();
    assert_eq!(world.asked, 1);
    world.change(json!({ "spec": { "replicas": 3 } }));
    world.settle();
    assert_eq!(world.asked, 1, "replicas are not what extensions judge");
    world.templates.insert("v2-host".to_owned(), found("HostTemplate", "v2-host", "otherwise"));
    world.settle();
    assert_eq!(world.asked, 2, "a template that was edited is another one");
    world.policy(&[("user", "x")]);
    world.settle();
    assert_eq!(world.asked, 3, "extensions see annotations of users");
}

/// The question goes out as upstream's does, with all that the MachineSets have.
#[test]
fn the_question_shows_both_machine_sets_whole() {
    let mut world = settled(2);
    world.new_template("v2");
    world.pass();
    let asks = world.observe_and(decide).ask;
    let [ask] = &asks[..] else { panic!("one old MachineSet is to be asked about: {asks:?}") };
    let crate::coverage::Request::MachineSet(request) = ask.question.request() else { panic!("it is of MachineSets") };
    let current: MachineSet = request.current.machine_set.decode().expect("it must decode");
    assert_eq!((current.metadata.name.as_ref(), current.spec.replicas), (Some(&ask.machine_set), Some(2)));
    assert!(current.metadata.annotations.is_some_and(|annotations| annotations.contains_key(DESIRED_REPLICAS)));
    let desired: MachineSet = request.desired.machine_set.decode().expect("it must decode");
    assert_eq!(desired.spec.template.spec.infrastructure_ref.name, "v2-host");
}

/// New machines could not be made either, and a template that cannot be read may be there.
#[test]
fn machines_wait_for_a_new_template_that_is_not_there() {
    let unreadable = Unreadable { what: "HostTemplate v2-host".to_owned(), why: "timeout".to_owned() };
    for (read, why) in [
        (Read::Missing, "HostTemplate v2-host does not exist"),
        (Read::Unreadable(unreadable), "HostTemplate v2-host could not be read: timeout"),
    ] {
        let mut world = settled(2);
        world.templates.insert("v2-host".to_owned(), read);
        world.new_template("v2");
        world.settle();
        assert_eq!((world.asked, world.deleted.len()), (0, 0));
        assert!(world.waiting_on[0].ends_with(why), "{:?}", world.waiting_on);
    }
}

/// A failed update uses up what may be unavailable: a bad change stops by itself, and says where.
#[test]
fn failed_updates_stop_the_rollout() {
    let mut world = settled(3);
    world.says = Says::Yes;
    world.limits(0, 1);
    world.new_template("v2");
    world.run_into_a_move();
    let machines: Vec<Machine> = world.store.list_typed();
    let mut failed = machines.into_iter().find(crate::fleet::is_pending_acknowledge).expect("one has moved");
    failed.metadata.annotations = Some(labels_of(&[(UPDATE_IN_PROGRESS, ""), (UPDATE_FAILED, "")]));
    world.store.insert_typed(&failed);
    world.settle();
    let name = crate::fleet::name(&failed);
    let words = format!("the update of machine {name} failed for good and uses up the budget");
    assert_eq!(world.waiting_on.join("; "), words);
    assert_eq!(world.condition(ROLLOUT_BLOCKED), format!("True UpdatesFailed: {words}"));
    assert_eq!(world.events("RolloutBlocked"), [words]);
    assert_eq!((world.machines().len(), world.deleted.len()), (3, 0));
    world.new_template("v3");
    world.settle();
    assert_eq!(world.condition(ROLLOUT_BLOCKED), "False NotBlocked: ", "what failed is over");
    assert_eq!((world.machines().len(), world.deleted.len()), (3, 0));
    let machines: Vec<Machine> = world.store.list_typed();
    assert!(!machines.iter().any(crate::fleet::is_updating), "all are updated to what is wanted now");
}

/// DESIGN 5.2: without `receive` its update begins although nobody has counted it, and then it is surplus.
#[test]
fn a_machine_on_its_way_is_received_until_it_is_counted() {
    let on_delete = json!({ "spec": { "rollout": { "strategy": { "type": "OnDelete" } } } });
    let changes = [json!({ "spec": { "paused": true } }), json!({ "spec": { "replicas": 5 } }), on_delete, Value::Null];
    for policy in [(IN_PLACE, "Require"), (KEEP_ORIGINALS, "true")] {
        for change in &changes {
            let mut world = settled(3);
            world.says = Says::Yes;
            world.limits(0, 1);
            world.policy(&[policy]);
            world.new_template("v2");
            world.run_into_a_move();
            if change.is_null() {
                world.new_template("v3")
            } else {
                world.change(change.clone())
            }
            world.pass();
            for set in world.machine_sets() {
                let handover = Handover::read(&set.metadata.annotations.clone().unwrap_or_default());
                let machines: Vec<Machine> = world.store.list_typed();
                let owner = set.metadata.uid.as_deref().unwrap_or_default();
                let is_here = |machine: &&Machine| {
                    let references = machine.metadata.owner_references.as_deref().unwrap_or_default();
                    refit_api::owners::is_controlled_by_uid(references, owner)
                };
                for machine in machines.iter().filter(is_here).filter(|it| crate::fleet::is_pending_acknowledge(it)) {
                    assert!(handover.receives(), "{change} {handover:?}");
                    assert!(handover.acknowledged.contains(crate::fleet::name(machine)), "{change} {handover:?}");
                }
            }
            world.settle();
            assert_eq!(world.deleted, [] as [String; 0], "{change}");
        }
    }
}

#[test]
fn the_name_of_a_new_machine_set_is_one_that_nobody_has() {
    let mut world = settled(1);
    for taken in ["md-gbbbb", "md-hbbbb"] {
        let mut set = machine_set(taken, 0);
        set.metadata.labels = None;
        world.store.insert_typed(&set);
    }
    world.new_template("v2");
    for _ in 0..3 {
        world.pass();
    }
    let made: Vec<_> = world.machine_sets().into_iter().filter(|set| set.metadata.owner_references.is_some()).collect();
    let names: Vec<_> = made.iter().filter_map(|set| set.metadata.name.as_deref()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    assert!(!names.contains(&"md-gbbbb") && !names.contains(&"md-hbbbb"), "{names:?}");
}

#[test]
fn it_looks_again_when_a_rollout_falls_due() {
    let mut world = settled(1);
    // The world's clock stands 400 seconds before that.
    world.change(json!({ "spec": { "rollout": { "after": "1970-01-01T00:33:20Z" } } }));
    assert_eq!(world.decide().plan.requeue_after, Some(Duration::from_secs(400)));
    assert_eq!(world.machine_sets().len(), 1);
}

/// An empty number makes the nodes of all machines unreadable.
#[test]
fn under_pause_the_revision_is_left_alone_and_no_machine_set_is_made() {
    let mut world = settled(2);
    world.change(json!({ "spec": { "paused": true } }));
    world.new_template("v2");
    world.change(json!({ "spec": { "replicas": 4 } }));
    world.settle();
    assert_eq!((world.machines().len(), world.machine_sets().len(), world.asked), (4, 1, 0));
    assert_eq!(world.deployment().metadata.annotations.expect("it has some")[REVISION], "1");
    assert_eq!(world.waiting_on, ["paused"]);
}

/// Where nobody remembers who owns which field, an apply would take off nothing: that is repaired first and alone.
#[test]
fn lost_managed_fields_are_made_up_for_before_anything_is_applied() {
    let mut world = settled(2);
    let set = world.machine_sets().remove(0);
    let merge = json!({ "metadata": { "managedFields": [] } });
    world.store.carry_out(&[Effect::Patch(Patch::object(Target::of(&set), merge))]);
    world.new_template("v2");
    let name = set.metadata.name.clone().expect("it has a name");
    let decision = world.decide();
    assert_eq!(writes(&decision.plan.effects)[0], format!("patch {name}"));
    assert!(!writes(&decision.plan.effects).iter().any(|write| write.starts_with("apply")));
}

/// Only the user can end that, and it is said once. What machines were made from may be gone, and nobody misses a template that no
/// machine is to be made from.
#[test]
fn a_wanted_template_that_does_not_exist_blocks_the_rollout() {
    let missing =
        "True TemplateMissing: HostTemplate v2-host does not exist: create it, or name others in spec.template";
    let cases: [(&str, bool, &str); 3] =
        [("v2-host", true, missing), ("md-host", true, "False NotBlocked: "), ("md-host", false, "False NotBlocked: ")];
    for (name, changes, expected) in cases {
        let mut world = settled(2);
        world.says = Says::Yes;
        world.limits(0, 1);
        world.settle();
        world.templates.insert(name.to_owned(), Read::Missing);
        if changes {
            world.new_template("v2");
        }
        world.settle();
        assert_eq!(world.condition(ROLLOUT_BLOCKED), expected, "{name}");
        assert_eq!(world.deleted.len(), 0);
        world.templates.clear();
        world.settle();
        assert_eq!(world.condition(ROLLOUT_BLOCKED), "False NotBlocked: ", "{name}");
    }
}

/// More machines, and none can be made.
#[test]
fn a_missing_template_blocks_new_machines() {
    let mut world = settled(2);
    world.templates.insert("md-host".to_owned(), Read::Missing);
    world.change(json!({ "spec": { "replicas": 3 } }));
    world.pass();
    let missing =
        "True TemplateMissing: HostTemplate md-host does not exist: create it, or name others in spec.template";
    assert_eq!(world.condition(ROLLOUT_BLOCKED), missing);
}
