//! Defects and gaps of upstream that must not come back. Each test here fails on upstream's behaviour.

use std::time::Duration;

use jiff::Timestamp;
use refit_api::conditions::{NewCondition, Status};
use refit_api::vocabulary::annotations::{PENDING_HOOKS, UPDATE_IN_PROGRESS};
use refit_api::vocabulary::condition_types as types;
use refit_api::vocabulary::refit::annotations::{DECIDED, UPDATE_PLAN, UPDATE_TIMEOUT};
use refit_api::vocabulary::refit::condition_types::UPDATE_FAILED;

use super::fixtures::{NEW, OLD, infrastructure, observed, start};
use super::walk_through::world;
use super::world::Answer;
use crate::control_plane::{Coverage, Decision, EtcdMember, EtcdMembers, Observed, Refused, Step, decide};
use crate::coverage::Accepted;
use crate::coverage::FrozenPlan;
use crate::coverage::testing::{frozen_plan, hash, name};
use crate::effect::{Effect, Patch};
use crate::waiting::WaitingOn;

/// How long an answer must last, where nobody says otherwise.
const REPLACE_AFTER: Duration = refit_api::policy::DEFAULT_REPLACE_AFTER;
const REQUIRE: (&str, &str) = ("refit.dev/in-place", "Require");

fn deletions(decision: &Decision) -> Vec<&str> {
    let deletion = |step| match step {
        &Step::Write(Effect::Delete(ref delete)) => Some(delete.target.name.as_str()),
        _ => None,
    };
    decision.steps.iter().filter_map(deletion).collect()
}

fn patches(decision: &Decision) -> Vec<&Patch> {
    let patch = |step| match step {
        &Step::Write(Effect::Patch(ref patch)) => Some(patch),
        _ => None,
    };
    decision.steps.iter().filter_map(patch).collect()
}

/// A synced control plane of three that is to be upgraded, every machine covered.
fn upgrading() -> Observed {
    let mut world = world(3, 0, &[]);
    world.upgrade();
    let mut observed = world.observe();
    for name in ["a", "b", "c"] {
        observed.at(name).cover();
    }
    observed
}

/// Puts a machine into the hand-over, with the plan for `target`.
fn hand_over(observed: &mut Observed, name: &str, target: &str) {
    let plan = frozen_plan("q", target, &["can.disk"]);
    observed.at(name).annotate(UPDATE_IN_PROGRESS, "");
    observed.at(name).annotate(UPDATE_PLAN, &plan.encode());
}

#[test]
fn defect_5_a_machine_that_alone_is_unhealthy_is_not_deleted_under_require() {
    let mut sick = world(3, 0, &[REQUIRE]);
    sick.sick.insert("b".to_owned());
    sick.settle();
    sick.upgrade();
    sick.settle();
    assert_eq!(sick.log, Vec::<String>::new());
    assert!(sick.waiting_on.contains(&WaitingOn::Unhealthy { machines: vec!["b".to_owned()] }));
    sick.sick.clear();
    sick.settle();
    assert_eq!(sick.originals(), ["a", "b", "c"]);
    assert_eq!(sick.versions().into_iter().collect::<Vec<_>>(), [NEW]);
}

#[test]
fn defect_7_what_blocks_a_rollout_does_not_block_scaling() {
    let mut blocked = world(3, 0, &[REQUIRE]);
    blocked.default_answer = Answer::Uncovered;
    blocked.upgrade();
    blocked.settle();
    blocked.change(|control_plane| control_plane.spec.replicas = Some(5));
    blocked.settle();
    assert_eq!(blocked.log, ["create", "create"]);
    blocked.change(|control_plane| control_plane.spec.replicas = Some(3));
    blocked.settle();
    assert_eq!(blocked.names().len(), 3);
}

#[test]
fn defect_10_a_machine_is_not_replaced_because_it_is_being_updated() {
    let mut updating = observed(3);
    updating.annotate(UPDATE_TIMEOUT, "10m");
    let machine = updating.at("b");
    machine.annotate(UPDATE_IN_PROGRESS, "");
    machine.annotate(PENDING_HOOKS, "UpdateMachine");
    machine.annotate(UPDATE_PLAN, &frozen_plan("q", "t", &[]).encode());
    machine.set(types::UPDATING, Status::True);
    machine.set(types::HEALTH_CHECK_SUCCEEDED, Status::False);
    machine.set(types::OWNER_REMEDIATED, Status::False);
    let after = |seconds: i64, failed: bool| {
        let mut observed = updating.clone();
        observed.now = Timestamp::from_second(start().as_second() + seconds).unwrap();
        if failed {
            observed.at("b").set(UPDATE_FAILED, Status::True);
        }
        deletions(&decide(&observed)).len()
    };
    assert_eq!(after(60, false), 0, "in time");
    assert_eq!(after(601, false), 1, "too late");
    assert_eq!(after(60, true), 1, "failed for good");
}

#[test]
fn defect_11_a_single_machine_is_updated_in_place_without_a_spare_one() {
    let mut single = world(1, 0, &[REQUIRE]);
    single.upgrade();
    single.settle();
    assert_eq!(single.log, ["SuccessfulStartInPlaceUpdate a"]);
    assert_eq!(single.originals(), ["a"]);
}

#[test]
fn defect_13_a_creation_that_was_cut_short_leaves_no_host_behind() {
    let mut short = world(3, 0, &[]);
    short.change(|control_plane| control_plane.spec.replicas = Some(5));
    let next = short.steps_done;
    for crash in next..next + 3 {
        let mut crashed = short.clone().crash_after(crash);
        // The number for the next name is another one.
        crashed.round();
        crashed.uid += 7;
        crashed.settle();
        assert_eq!((crashed.count("Machine"), crashed.count("DevMachine")), (5, 5), "crash before step {crash}");
        assert_eq!(crashed.count("KubeadmConfig"), 5, "crash before step {crash}");
    }
}

#[test]
fn defect_13_what_nobody_goes_on_with_is_removed_in_the_end() {
    let mut observed = world(3, 0, &[]).observe();
    let mut object = infrastructure("cp-left", "t0");
    object["metadata"]["creationTimestamp"] = serde_json::json!("2025-12-31T23:55:00Z");
    observed.leftovers.push(object);
    observed.now = start();
    let decision = decide(&observed);
    assert_eq!(deletions(&decision), Vec::<&str>::new(), "its Machine may come");
    assert_eq!(decision.requeue_after.map(|delay| delay.as_secs()), Some(300));
    observed.now = start() + Duration::from_secs(300);
    assert_eq!(deletions(&decide(&observed)), ["cp-left"]);
}

#[test]
fn a_hand_over_goes_on_with_what_was_accepted() {
    let mut observed = upgrading();
    hand_over(&mut observed, "b", "t");
    let decision = decide(&observed);
    let kinds: Vec<&str> = decision.steps.iter().filter_map(target_kind).collect();
    assert_eq!(kinds, ["DevMachine", "KubeadmConfig", "Machine", "Machine", "Machine"]);
    assert!(patches(&decision)[0].merge.pointer("/metadata/annotations").unwrap().get(UPDATE_PLAN).is_none());
}

fn target_kind(step: &Step) -> Option<&str> {
    match step {
        Step::Write(Effect::Apply(apply)) => Some(&apply.target.kind),
        Step::Write(Effect::Patch(patch)) => Some(&patch.target.kind),
        Step::Write(Effect::Delete(delete)) => Some(&delete.target.kind),
        Step::Write(Effect::Emit(event)) => Some(&event.about.kind),
        _ => None,
    }
}

#[test]
fn a_hand_over_asks_what_it_was_accepted_for() {
    let mut observed = upgrading();
    hand_over(&mut observed, "b", "t");
    observed.at("b").coverage = Coverage::NotAsked;
    let decision = decide(&observed);
    assert_eq!(decision.ask.into_iter().collect::<Vec<_>>(), ["b"]);
    assert_eq!(decision.steps, [], "nothing is written before that is known");
}

#[test]
fn a_hand_over_of_which_nothing_is_written_is_taken_back_when_the_target_moves_on() {
    let mut observed = upgrading();
    hand_over(&mut observed, "b", "older");
    let decision = decide(&observed);
    let patch = patches(&decision)[0];
    let expected =
        serde_json::json!({ "metadata": { "annotations": { UPDATE_IN_PROGRESS: null, UPDATE_PLAN: null } } });
    assert_eq!((&patch.target.name[..], &patch.merge), ("b", &expected));
    assert!(patch.resource_version.is_some(), "nobody may have gone on meanwhile");
}

#[test]
fn a_hand_over_in_the_middle_gets_a_new_plan_when_the_target_moves_on() {
    let mut observed = upgrading();
    hand_over(&mut observed, "b", "older");
    let infrastructure = observed.at("b").infrastructure.as_mut().unwrap();
    infrastructure["metadata"]["annotations"][UPDATE_IN_PROGRESS] = serde_json::json!("");
    let decision = decide(&observed);
    let text = patches(&decision)[0].merge.pointer("/metadata/annotations").unwrap()[UPDATE_PLAN].as_str().unwrap();
    let plan = FrozenPlan::decode(text).unwrap();
    assert_eq!((&plan.target, plan.remaining()), (&hash("t"), &[name("can.disk"), name("can.memory")][..]));
    let uncovered = Accepted::Uncovered { paths: vec!["spec.x".to_owned()], answers: Vec::new() };
    observed.at("b").coverage = Coverage::Asked { target: hash("t"), change: hash("change"), verdict: uncovered };
    observed.set_policy("Require");
    let decision = decide(&observed);
    assert!(decision.waiting_on.iter().any(WaitingOn::is_blocked));
    assert_eq!(deletions(&decision), Vec::<&str>::new());
    observed.set_policy("Prefer");
    assert_eq!(deletions(&decide(&observed)), Vec::<&str>::new(), "the answer is not on record yet");
    put_on_record(&mut observed);
    assert_eq!(deletions(&decide(&observed)), Vec::<&str>::new(), "it has not lasted");
    observed.now += REPLACE_AFTER;
    assert_eq!(deletions(&decide(&observed)), ["b"]);
}

/// Writes down what the decision puts on record on the control plane, as the API server would.
fn put_on_record(observed: &mut Observed) {
    let decision = decide(observed);
    let is_record =
        |patch: &&Patch| patch.merge.pointer("/metadata/annotations").is_some_and(|all| all.get(DECIDED).is_some());
    let record = patches(&decision).into_iter().find(is_record).expect("it must be put on record").merge.clone();
    let text = record["metadata"]["annotations"][DECIDED].as_str().expect("a record must be text").to_owned();
    observed.annotate(DECIDED, &text);
}

/// A control plane of three that is to be upgraded, of which no machine is covered.
fn uncovered() -> Observed {
    let mut observed = upgrading();
    for name in ["a", "b", "c"] {
        let verdict = Accepted::Uncovered { paths: vec!["spec.memory".to_owned()], answers: Vec::new() };
        observed.at(name).coverage = Coverage::Asked { target: hash("t"), change: hash("change"), verdict };
    }
    observed
}

#[test]
fn a_machine_is_replaced_only_for_an_answer_that_has_lasted() {
    let mut observed = uncovered();
    let decision = decide(&observed);
    assert_eq!((deletions(&decision), decision.requeue_after), (Vec::new(), Some(REPLACE_AFTER)));
    assert!(decision.waiting_on.iter().any(|it| it.to_string().contains("the machine is replaced at")), "{decision:?}");
    put_on_record(&mut observed);
    observed.now += REPLACE_AFTER - Duration::from_secs(1);
    assert_eq!(deletions(&decide(&observed)), Vec::<&str>::new());
    observed.now += Duration::from_secs(1);
    let lasted = observed.clone();
    assert_eq!(deletions(&decide(&lasted)), ["a"]);
    let check = |what: &str, change: fn(&mut Observed)| {
        let mut observed = lasted.clone();
        change(&mut observed);
        assert_eq!(deletions(&decide(&observed)), Vec::<&str>::new(), "{what}");
    };
    check("other extensions are registered", |it| it.registered = Some(hash("others")));
    check("nobody knows who is registered", |it| it.registered = None);
    check("something else is wanted", |it| it.control_plane.spec.version = "v1.33.1".to_owned());
    check("they were not asked", |it| it.at("a").coverage = Coverage::NotAsked);
    check("one gives no answer", |it| {
        let verdict = Accepted::Undecided { answers: Vec::new() };
        it.at("a").coverage = Coverage::Asked { target: hash("t"), change: hash("change"), verdict };
    });
    check("it is another change", |it| {
        let verdict = Accepted::Uncovered { paths: Vec::new(), answers: Vec::new() };
        it.at("a").coverage = Coverage::Asked { target: hash("t"), change: hash("other"), verdict };
    });
    check("a template is gone", |it| it.at("a").coverage = Coverage::Unknown { why: "it is gone".to_owned() });
    check("its host is not there", |it| it.at("a").infrastructure = None);
    check("the user requires it", |it| it.set_policy("Require"));
}

#[test]
fn what_was_accepted_in_place_does_not_become_a_replacement() {
    let mut observed = upgrading();
    put_on_record(&mut observed);
    let record = observed.annotation(DECIDED).map(str::to_owned).expect("it must be on record");
    let mut observed = uncovered();
    observed.annotate(DECIDED, &record);
    observed.now += REPLACE_AFTER * 2;
    let decision = decide(&observed);
    assert_eq!(deletions(&decision), Vec::<&str>::new());
    assert!(decision.waiting_on.iter().any(|it| matches!(it, WaitingOn::Withdrawn { .. })), "{decision:?}");
    observed.at("a").annotate("cluster.x-k8s.io/delete-machine", "");
    assert_eq!(deletions(&decide(&observed)), ["a"], "the user has said so by name");
}

#[test]
fn defect_6_a_refused_hand_over_leaves_no_mark() {
    let refused = |is_for_good| {
        let words = "spec.disk is immutable".to_owned();
        Coverage::Refused(Refused { object: "DevMachine a".to_owned(), words, is_for_good })
    };
    for policy in ["Prefer", "Require"] {
        let mut observed = upgrading();
        observed.set_policy(policy);
        observed.at("a").coverage = refused(false);
        observed.now += REPLACE_AFTER * 2;
        let decision = decide(&observed);
        assert_eq!(decision.steps.iter().filter_map(target_kind).collect::<Vec<_>>(), Vec::<&str>::new(), "{policy}");
        let blocked = decision.waiting_on.iter().find(|it| it.is_blocked()).expect("it must say why").to_string();
        assert!(blocked.contains("spec.disk is immutable"), "{blocked}");
    }
    let mut marked = upgrading();
    hand_over(&mut marked, "b", "t");
    marked.at("b").coverage = refused(false);
    let merge = patches(&decide(&marked))[0].merge.clone();
    assert!(merge["metadata"]["annotations"][UPDATE_IN_PROGRESS].is_null(), "the mark is taken back");
    let mut for_good = upgrading();
    for_good.at("a").coverage = refused(true);
    put_on_record(&mut for_good);
    for_good.now += REPLACE_AFTER;
    assert_eq!(deletions(&decide(&for_good)), ["a"]);
}

#[test]
fn no_update_begins_that_etcd_would_not_survive() {
    let mut observed = upgrading();
    let learner = EtcdMember { name: "x".to_owned(), is_healthy: true, is_learner: true, is_leader: false };
    let EtcdMembers::Known(members) = &mut observed.etcd else { panic!("the members must be known") };
    members.push(learner);
    let decision = decide(&observed);
    assert!(decision.waiting_on.iter().any(|it| it.to_string().contains("lose its quorum")), "{decision:?}");
    assert_eq!(decision.steps.iter().filter_map(target_kind).collect::<Vec<_>>(), Vec::<&str>::new());
}

#[test]
fn a_workload_cluster_that_cannot_be_looked_at_is_left_alone() {
    let mut observed = uncovered();
    put_on_record(&mut observed);
    observed.now += REPLACE_AFTER;
    observed.not_inspected = Some("no connection to the workload cluster".to_owned());
    let decision = decide(&observed);
    assert_eq!((deletions(&decision), decision.ask.len()), (Vec::new(), 0));
    assert!(decision.waiting_on.iter().any(|it| it.to_string().contains("no connection")), "{decision:?}");
}

#[test]
fn what_went_wrong_is_told_on_the_control_plane() {
    let mut observed = observed(3);
    observed.problems = vec![WaitingOn::Other { what: "etcd does not answer".to_owned() }];
    let told = |report: &Effect| matches!(report, Effect::Patch(patch) if patch.merge.to_string().contains("etcd does not answer"));
    assert!(decide(&observed).reports.iter().any(told));
    let report = crate::control_plane::unreadable(&observed.control_plane, "etcd does not answer".to_owned(), start());
    assert!(report.iter().any(told));
}

#[test]
fn what_was_seen_is_looked_at_and_reported_at_once() {
    let mut observed = upgrading();
    let unhealthy = NewCondition::new(types::API_SERVER_POD_HEALTHY, Status::False, "Failed");
    observed.inspected = [("b".to_owned(), vec![unhealthy])].into();
    observed.certificates = Some(NewCondition::new(types::CERTIFICATES_AVAILABLE, Status::Unknown, "InternalError"));
    let decision = decide(&observed);
    assert!(!decision.steps.iter().any(|step| target_kind(step) == Some("DevMachine")), "b is sick: {decision:?}");
    let reported = |kind: &str, condition: &str| {
        let reports = decision.reports.iter().filter_map(|report| match report {
            Effect::Patch(patch) if patch.target.kind == kind => Some(patch.merge.to_string()),
            _ => None,
        });
        reports.filter(|merge| merge.contains(condition)).count()
    };
    assert_eq!(reported("Machine", "\"Failed\""), 1);
    assert_eq!(reported("KubeadmControlPlane", "\"InternalError\""), 1);
}

#[test]
fn a_plan_that_cannot_be_read_is_no_plan_that_is_done() {
    let mut observed = upgrading();
    hand_over(&mut observed, "b", "t");
    observed.at("b").annotate(UPDATE_PLAN, "{}");
    let decision = decide(&observed);
    assert!(decision.waiting_on.iter().any(|reason| reason.to_string().contains("cannot be read")));
    assert_eq!(decision.steps.iter().filter_map(target_kind).collect::<Vec<_>>(), Vec::<&str>::new());
}

#[test]
fn an_update_that_failed_for_good_stops_the_rollout_until_the_target_moves_on() {
    let mut observed = upgrading();
    hand_over(&mut observed, "b", "t");
    observed.at("b").annotate(PENDING_HOOKS, "Other,UpdateMachine");
    observed.at("b").set(UPDATE_FAILED, Status::True);
    let decision = decide(&observed);
    assert!(decision.waiting_on.contains(&WaitingOn::FailedUpdates { machines: vec!["b".to_owned()] }));
    assert_eq!(decision.steps.iter().filter_map(target_kind).collect::<Vec<_>>(), Vec::<&str>::new());
    hand_over(&mut observed, "b", "older");
    let decision = decide(&observed);
    let annotations = patches(&decision)[0].merge.pointer("/metadata/annotations").unwrap().clone();
    assert_eq!(annotations[PENDING_HOOKS], "Other", "the old hook is called off first");
    assert!(annotations[UPDATE_PLAN].is_string());
}

#[test]
fn the_next_machine_waits_for_the_kubelet_of_the_last_one() {
    for settings in [&[] as &[_], &[REQUIRE]] {
        let mut world = world(3, 0, settings);
        world.upgrade();
        let is_done = |observed: &Observed| {
            let first = &observed.machines["a"];
            first.machine.spec.version.as_deref() == Some(NEW) && !first.is_updating()
        };
        while !is_done(&world.observe()) {
            world.round();
        }
        let mut observed = world.observe();
        assert!(decide(&observed).ask.contains("b"), "it is the next one's turn");
        observed.at("a").machine.status.node_info.as_mut().unwrap().kubelet_version = OLD.to_owned();
        let decision = decide(&observed);
        assert!(decision.waiting_on.contains(&WaitingOn::Updates { machines: vec!["a".to_owned()] }));
        assert_eq!((decision.steps, decision.ask.len()), (Vec::new(), 0));
    }
}

#[test]
fn a_misspelt_policy_moves_nothing() {
    let mut observed = upgrading();
    observed.set_policy("require");
    let decision = decide(&observed);
    assert_eq!(decision.steps.iter().filter_map(target_kind).collect::<Vec<_>>(), Vec::<&str>::new());
    assert!(decision.waiting_on.iter().any(|reason| reason.to_string().contains("refit.dev/in-place")));
}
