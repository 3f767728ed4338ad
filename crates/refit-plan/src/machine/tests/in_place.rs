//! The rules of an update in place.

use refit_api::hooks::{RetryAfterSeconds, UpdateMachineResponse};
use refit_api::vocabulary::annotations::{PENDING_HOOKS, UPDATE_IN_PROGRESS};
use refit_api::vocabulary::refit::annotations::{UPDATE_PLAN, UPDATE_RETRIES};
use serde_json::json;

use super::world::{World, name};
use crate::coverage::testing::hash;
use crate::effect::{Effect, Part};
use crate::machine::observed::has_annotation;
use crate::machine::*;

pub(super) const FAILED: &str = "refit.dev/UpdateFailed";

pub(super) fn asked(world: &World) -> Vec<String> {
    world.calls.iter().map(|call| call.updater.to_string()).collect()
}

pub(super) fn is_marked(world: &World) -> bool {
    let objects = [&world.seen.infrastructure, &world.seen.bootstrap];
    world.annotation(UPDATE_IN_PROGRESS).is_some()
        || world.annotation(PENDING_HOOKS).is_some()
        || objects.iter().any(|it| it.object().unwrap().to_string().contains(UPDATE_IN_PROGRESS))
}

/// Waits: nobody is asked, and everything stays marked.
fn check_waits(mut world: World, condition: &str) {
    world.settle();
    assert_eq!(asked(&world), Vec::<String>::new());
    assert!(is_marked(&world));
    assert_eq!(world.condition("Updating"), condition);
    assert_eq!(world.condition("Ready").split(' ').next(), Some("False"));
}

#[test]
fn an_updated_machine_loses_all_marks_and_is_up_to_date() {
    let mut world = World::updating(None);
    world.settle();
    assert_eq!(asked(&world), ["update.firmware"]);
    assert!(!is_marked(&world));
    assert_eq!(world.condition("Updating"), "False NotUpdating");
    assert_eq!(world.condition("UpToDate"), "True UpToDate");
    assert_eq!(world.condition("Ready"), "True Ready");
    assert_eq!(world.condition(FAILED), "missing");
    assert_eq!(world.events, ["SuccessfulInPlaceUpdate"]);
}

#[test]
fn extensions_of_a_plan_run_in_its_order_each_until_done() {
    let mut world = World::updating(Some(&["can.kubeadm", "can.firmware"]));
    world.settle();
    assert_eq!(asked(&world), ["update.kubeadm", "update.firmware"]);
    assert!(!is_marked(&world));
    assert_eq!(world.annotation(UPDATE_PLAN), None);
}

/// The patches that complete an update, in their order.
fn completion(mut world: World) -> Vec<String> {
    while !matches!(&world.seen.answer, Some(answer) if answer.call.updater == name("update.firmware")) {
        world.round();
    }
    let patch = |effect: &Effect| match effect {
        Effect::Patch(patch) => Some(format!("{} {}", patch.target.kind, patch.merge)),
        _ => None,
    };
    decide(&world.seen).plan.effects.iter().filter_map(patch).collect()
}

#[test]
fn marks_come_off_machine_first_and_hook_last() {
    let mark = json!({ "metadata": { "annotations": { UPDATE_IN_PROGRESS: null } } });
    let all = json!({ "metadata": { "annotations": { UPDATE_IN_PROGRESS: null, PENDING_HOOKS: null } } });
    let object = json!({ "metadata": {
        "annotations": { UPDATE_IN_PROGRESS: null },
        "labels": { "cluster.x-k8s.io/set-name": "ms1" },
    } });
    let expected = [
        format!("Machine {mark}"),
        format!("DevMachine {object}"),
        format!("KubeadmConfig {object}"),
        format!("Machine {all}"),
    ];
    assert_eq!(completion(World::updating(None)), expected);
}

#[test]
fn where_objects_need_no_marks_one_patch_of_the_machine_ends_the_update() {
    let mut world = World::updating(None);
    (world.seen.infrastructure_is_wanted, world.seen.bootstrap_is_wanted) = (true, true);
    let kinds: Vec<_> =
        completion(world.clone()).iter().map(|patch| patch.split(' ').next().map(str::to_owned)).collect();
    assert_eq!(kinds, ["DevMachine", "KubeadmConfig", "Machine"].map(|kind| Some(kind.to_owned())));
    world.settle();
    assert!(!is_marked(&world));
}

#[test]
fn objects_that_are_as_wanted_need_no_mark_unless_the_update_lasts() {
    let mut world = World::updating(None);
    let unmarked = World::running().seen;
    (world.seen.infrastructure, world.seen.bootstrap) = (unmarked.infrastructure, unmarked.bootstrap);
    (world.seen.infrastructure_is_wanted, world.seen.bootstrap_is_wanted) = (true, true);
    let mut slow = world.clone();
    world.settle();
    assert_eq!(asked(&world), ["update.firmware"]);
    assert!(!is_marked(&world));

    slow.updater = |_| Ok(UpdateMachineResponse::in_progress("half way", RetryAfterSeconds::new(30).unwrap()));
    slow.settle();
    let is_marked =
        |object: &External| object.object().is_some_and(|object| has_annotation(object, UPDATE_IN_PROGRESS));
    assert!(is_marked(&slow.seen.infrastructure) && is_marked(&slow.seen.bootstrap));
}

#[test]
fn what_passes_by_itself_is_not_told() {
    let mut world = World::updating(None);
    world.seen.machine.status = {
        let mut settled = World::running();
        settled.settle();
        settled.seen.machine.status
    };
    let first = decide(&world.seen);
    assert!(first.quiet_about == Some(Passing::Update) && first.errand.is_some());
    assert_eq!(first.plan.effects, [], "the extension may be done at once");
    let is_told = |world: &World| {
        let effects = decide(&world.seen).plan.effects;
        effects.iter().any(|effect| matches!(effect, Effect::Patch(patch) if patch.part == Part::Status))
    };
    let now = world.seen.now;
    let long_ago = |about: Passing| now - about.patience();
    let mut long = world.clone();
    let quiet = |about: Passing| Some(Quiet { about, since: long_ago(about) });
    long.seen.quiet = quiet(Passing::OutOfDate);
    assert!(!is_told(&long), "that was something else");
    long.seen.quiet = quiet(Passing::Update);
    assert!(is_told(&long), "it has lasted for long enough");
    let mut broken = world.clone();
    broken.seen.node = NodeSeen::Missing;
    assert!(is_told(&broken), "there is something else to tell");
    world.seen.machine.spec.min_ready_seconds = Some(5);
    assert!(is_told(&world), "its time must begin anew");
}

#[test]
fn other_pending_hooks_stay() {
    let mut world = World::updating(None);
    world.annotate(PENDING_HOOKS, "Other,UpdateMachine");
    world.settle();
    assert_eq!(world.annotation(PENDING_HOOKS), Some("Other"));
}

#[test]
fn a_machine_is_not_touched_before_everything_is_marked() {
    let in_progress = "True InPlaceUpdating: In-place update in progress";
    let mut no_hook = World::updating(None);
    no_hook.seen.machine.metadata.annotations.as_mut().unwrap().remove(PENDING_HOOKS);
    check_waits(no_hook, in_progress);

    let mut no_infrastructure_mark = World::updating(None);
    no_infrastructure_mark.seen.infrastructure = World::running().seen.infrastructure;
    check_waits(no_infrastructure_mark, in_progress);

    let mut no_bootstrap_mark = World::updating(None);
    no_bootstrap_mark.seen.bootstrap = World::running().seen.bootstrap;
    check_waits(no_bootstrap_mark, in_progress);

    let mut not_up = World::updating(None);
    not_up.seen.machine.status.node_ref = None;
    not_up.seen.node = NodeSeen::Missing;
    check_waits(not_up, in_progress);
}

#[test]
fn without_a_host_there_is_nothing_to_update() {
    let mut world = World::updating(None);
    world.seen.infrastructure = External::Missing;
    world.settle();
    assert_eq!(asked(&world), Vec::<String>::new());
    let expected = "True InPlaceUpdateFailed: In-place update not possible: InfraMachine not found";
    assert_eq!(world.condition("Updating"), expected);
}

#[test]
fn progress_is_told_in_the_extensions_words_and_asked_for_again_in_time() {
    let mut world = World::updating(None);
    world.updater = |_| Ok(UpdateMachineResponse::in_progress("half way", RetryAfterSeconds::new(30).unwrap()));
    world.settle();
    assert_eq!(world.condition("Updating"), "True InPlaceUpdating: In-place update in progress: half way");
    assert_eq!(world.condition("UpToDate"), "False Updating: * In-place update in progress: half way");
    assert_eq!(world.calls.len(), 1);
    assert_eq!(decide(&world.seen).plan.requeue_after, Some(std::time::Duration::from_secs(30)));
    world.later(29);
    world.settle();
    assert_eq!(world.calls.len(), 1);
    world.later(1);
    world.updater = |_| Ok(UpdateMachineResponse::done());
    world.settle();
    assert_eq!(world.calls.len(), 2);
    assert!(!is_marked(&world));
}

#[test]
fn an_extension_that_is_gone_is_waited_for() {
    let mut world = World::updating(Some(&["can.firmware"]));
    world.seen.updaters = Updaters::Registered(vec![name("update.kubeadm")]);
    let words = "waiting for extension firmware, which is not registered any more";
    check_waits(world, &format!("True InPlaceUpdating: In-place update in progress: {words}"));
}

#[test]
fn without_a_plan_there_must_be_exactly_one_extension() {
    let mut none = World::updating(None);
    none.seen.updaters = Updaters::Registered(Vec::new());
    let words = "waiting for an extension that updates machines";
    check_waits(none, &format!("True InPlaceUpdating: In-place update in progress: {words}"));

    let mut two = World::updating(None);
    two.seen.updaters = Updaters::Registered(vec![name("u.a"), name("u.b")]);
    let words = "it is not clear which of u.a, u.b is to run";
    check_waits(two, &format!("True InPlaceUpdating: In-place update in progress: {words}"));
}

#[test]
fn extensions_that_are_not_discovered_yet_are_waited_for() {
    let mut world = World::updating(None);
    world.seen.updaters = Updaters::NotDiscovered;
    check_waits(world, "True InPlaceUpdating: In-place update in progress");
}

#[test]
fn a_plan_that_nobody_understands_is_not_done() {
    let mut world = World::updating(None);
    world.annotate(UPDATE_PLAN, r#"{"version":2}"#);
    let words =
        "the annotation refit.dev/update-plan cannot be read: the plan is of version 2, and only version 1 is known";
    check_waits(world, &format!("True InPlaceUpdateFailed: {words}"));
}

#[test]
fn i4_only_what_was_accepted_is_run() {
    let mut world = World::updating(Some(&["can.firmware"]));
    world.seen.target_hash = Some(hash("other"));
    let words = "the objects of the machine are not what its plan was made for";
    check_waits(world.clone(), &format!("True InPlaceUpdateFailed: {words} (try 1 of 6)"));
    world.policy(UPDATE_RETRIES, "0");
    world.settle();
    assert_eq!(world.condition(FAILED), format!("True RetriesExhausted: {words}"), "its owner can make another plan");

    let mut world = World::updating(Some(&["can.firmware"]));
    world.seen.target_hash = Some(hash("t"));
    world.settle();
    assert!(!is_marked(&world));
}

#[test]
fn a_plan_is_finished_although_its_owner_wants_something_else_by_now() {
    let mut world = World::updating(Some(&["can.firmware"]));
    world.seen.machine_deployment.as_mut().unwrap().spec.template.spec.version = Some("v1.35.0".to_owned());
    world.settle();
    assert_eq!(asked(&world), ["update.firmware"]);
    assert!(!is_marked(&world));
    assert_eq!(world.condition("UpToDate"), "False NotUpToDate: * Version v1.34.0, v1.35.0 required");
}

#[test]
fn design_5_9_a_machine_without_bootstrap_configuration_or_version_can_finish() {
    let mut world = World::updating(None);
    world.seen.machine.spec.bootstrap.config_ref = None;
    world.seen.machine.spec.version = None;
    world.seen.machine.status.initialization.bootstrap_data_secret_created = None;
    world.seen.bootstrap = External::NotReferenced;
    world.settle();
    assert_eq!(asked(&world), ["update.firmware"]);
    assert_eq!(world.condition("Updating"), "False NotUpdating");
    assert_eq!(world.condition("UpToDate"), "True UpToDate");
}

#[test]
fn a_machine_that_is_deleted_is_not_updated_any_further() {
    let mut world = World::updating(Some(&["can.firmware", "can.kubeadm"]));
    world.annotate("pre-terminate.delete.hook.machine.cluster.x-k8s.io/x", "");
    world.delete();
    world.settle();
    assert_eq!(asked(&world), Vec::<String>::new());
    assert_eq!(world.condition(FAILED), "True Aborted: the machine is being deleted");
    assert_eq!(world.events.iter().filter(|event| **event == "AbortedInPlaceUpdate").count(), 1);
}

#[test]
fn an_interrupted_completion_is_finished() {
    let mut world = World::updating(None);
    world.seen.machine.metadata.annotations.as_mut().unwrap().remove(UPDATE_IN_PROGRESS);
    let effects = decide(&world.seen).plan.effects;
    let Effect::Patch(first) = &effects[0] else { panic!("the Machine comes first: {effects:?}") };
    assert_eq!((first.target.kind.as_str(), &first.merge), ("Machine", &json!({})), "nothing but the precondition");
    assert_eq!(first.resource_version, world.seen.machine.metadata.resource_version);
    world.settle();
    assert_eq!(asked(&world), Vec::<String>::new());
    assert!(!is_marked(&world));
}

#[test]
fn a_mark_that_somebody_took_off_ends_the_update_and_is_told_as_such() {
    let mut world = World::updating(Some(&["can.firmware"]));
    world.seen.machine.metadata.annotations.as_mut().unwrap().remove(UPDATE_IN_PROGRESS);
    world.settle();
    assert!(!is_marked(&world));
    assert_eq!(world.events, ["AbortedInPlaceUpdate"]);
}

#[test]
fn an_outdated_answer_is_not_looked_at() {
    let mut world = World::updating(Some(&["can.firmware", "can.kubeadm"]));
    let call = Call { updater: name("update.kubeadm"), plan: Some(hash("q")), remaining: 1, attempts: 0 };
    world.seen.answer =
        Some(Answer { call, about: hash("a"), at: world.seen.now, response: Ok(UpdateMachineResponse::done()) });
    world.settle();
    assert_eq!(asked(&world), ["update.firmware", "update.kubeadm"]);
}
