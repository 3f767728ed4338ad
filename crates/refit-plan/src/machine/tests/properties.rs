//! What holds of every world, however odd.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use jiff::Timestamp;
use proptest::bool::weighted;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use refit_api::contract::ContractVersion;
use refit_api::hooks::{Hook, UpdateMachineResponse};
use refit_api::pending_hooks;
use refit_api::vocabulary::annotations::{PENDING_HOOKS, UPDATE_IN_PROGRESS};
use refit_api::vocabulary::refit::annotations::{
    UPDATE_FAILED, UPDATE_PLAN, UPDATE_PROGRESS, UPDATE_RETRIES, UPDATE_TIMEOUT,
};
use serde_json::{Value, json};

use super::world::{World, decode, name, now};
use crate::coverage::FrozenPlan;
use crate::coverage::testing::{frozen_plan, hash};
use crate::effect::{Effect, Part};
use crate::machine::*;

/// Annotations and values that mean something to somebody, rightly or wrongly used.
fn annotations() -> Vec<(&'static str, String)> {
    let plan = |run: &[&str]| frozen_plan("q", "t", run).encode();
    let progress =
        json!({ "version": 1, "plan": hash("q").as_str(), "attempts": u32::MAX, "startedAt": "2025-12-31T23:59:59Z" });
    vec![
        (UPDATE_IN_PROGRESS, String::new()),
        (PENDING_HOOKS, "UpdateMachine".to_owned()),
        (PENDING_HOOKS, "Other, UpdateMachine,,".to_owned()),
        (UPDATE_PLAN, plan(&["can.firmware", "can.kubeadm"])),
        (UPDATE_PLAN, plan(&["can.kubeadm"])),
        (UPDATE_PLAN, plan(&[])),
        (UPDATE_PLAN, "nonsense".to_owned()),
        (UPDATE_PROGRESS, progress.to_string()),
        (UPDATE_PROGRESS, "nonsense".to_owned()),
        (UPDATE_FAILED, hash("q").to_string()),
        ("cluster.x-k8s.io/paused", String::new()),
        ("machine.cluster.x-k8s.io/certificates-expiry", "nonsense".to_owned()),
        ("pre-terminate.delete.hook.machine.cluster.x-k8s.io/x", String::new()),
        ("node.cluster.x-k8s.io/a", "b".to_owned()),
    ]
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-z/]{0,4}".prop_map(Value::from)
    ];
    let keys = [
        "metadata",
        "spec",
        "status",
        "annotations",
        "labels",
        "ownerReferences",
        "initialization",
        "provisioned",
        "providerID",
        "conditions",
        "addresses",
        "deletionTimestamp",
        "joinConfiguration",
        "type",
    ];
    leaf.prop_recursive(4, 32, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map(select(keys.to_vec()), inner, 0..5)
                .prop_map(|fields| fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
        ]
    })
}

fn external(normal: External) -> impl Strategy<Value = External> {
    let mut marked = normal.clone();
    if let External::Found { object, .. } = &mut marked {
        object["metadata"]["annotations"] = json!({ UPDATE_IN_PROGRESS: "" });
    }
    let contract = select(vec![ContractVersion::V1Beta1, ContractVersion::V1Beta2]);
    prop_oneof![
        3 => Just(normal),
        6 => Just(marked),
        1 => Just(External::NotReferenced),
        1 => Just(External::Missing),
        1 => Just(External::Unreadable { why: "w".to_owned() }),
        1 => (json_value(), contract).prop_map(|(object, contract)| External::Found { object, contract }),
    ]
}

fn node(normal: NodeSeen) -> impl Strategy<Value = NodeSeen> {
    prop_oneof![
        6 => Just(normal),
        1 => Just(NodeSeen::Found(Box::default())),
        1 => Just(NodeSeen::NotLookedFor),
        1 => Just(NodeSeen::Missing),
        1 => Just(NodeSeen::NotConnected),
        1 => Just(NodeSeen::Unreadable { why: "w".to_owned() }),
    ]
}

fn time() -> impl Strategy<Value = Timestamp> {
    prop_oneof![8 => Just(now()), 1 => Just(Timestamp::MIN), 1 => Just(Timestamp::MAX), 1 => Just(Timestamp::UNIX_EPOCH)]
}

fn answer() -> impl Strategy<Value = Answer> {
    let updater = select(vec!["update.firmware", "update.kubeadm"]);
    let plan = select(vec![None, Some(hash("q"))]);
    let response =
        (select(vec!["Success", "Success", "Failure", "", "Fine"]), select(vec![0, 0, 0, 1, -1, i32::MAX, i32::MIN]));
    let response = prop_oneof![
        4 => response.prop_map(|(status, wait)| Ok(decode(json!({ "status": status, "retryAfterSeconds": wait })))),
        1 => Just(Err("w".repeat(5000))),
    ];
    (updater, plan, 0..3_usize, select(vec![0, 0, u32::MAX]), time(), response).prop_map(
        |(updater, plan, remaining, attempts, at, response): (_, _, _, _, _, Result<UpdateMachineResponse, String>)| {
            Answer { call: Call { updater: name(updater), plan, remaining, attempts }, about: hash("a"), at, response }
        },
    )
}

prop_compose! {
    fn world()(
        times in (time(), time()),
        annotations in subsequence(annotations(), 0..4),
        is_marked in weighted(0.8),
        is_to_the_point in weighted(0.7),
        flags in (weighted(0.2), weighted(0.9), weighted(0.5), weighted(0.9), weighted(0.5), weighted(0.5)),
        infrastructure in external(World::running().seen.infrastructure),
        bootstrap in external(World::running().seen.bootstrap),
        control_plane in external(External::NotReferenced),
        node in node(World::running().seen.node),
        answer in prop::option::weighted(0.8, answer()),
        updaters in subsequence(vec!["update.firmware", "update.kubeadm", "other.kubeadm"], 0..=3),
        policy in subsequence(vec![(UPDATE_RETRIES, "0"), (UPDATE_TIMEOUT, "1s"), (UPDATE_RETRIES, "x")], 0..=2),
    ) -> Observed {
        let (is_deleting, has_finalizer, is_settled, has_node_ref, has_deployment, has_config) = flags;
        static SETTLED: LazyLock<World> = LazyLock::new(World::settled);
        let mut world = if is_settled { SETTLED.clone() } else { World::running() };
        policy.into_iter().for_each(|(key, value)| world.policy(key, value));
        let mut seen = world.seen;
        let machine = &mut seen.machine;
        let marks = [(UPDATE_IN_PROGRESS, String::new()), (PENDING_HOOKS, "UpdateMachine".to_owned())];
        let annotations: BTreeMap<String, String> =
            marks.into_iter().filter(|_| is_marked).chain(annotations).map(|(key, value)| (key.to_owned(), value)).collect();
        machine.metadata.annotations = Some(annotations);
        machine.metadata.deletion_timestamp = is_deleting.then(|| decode(json!("2026-01-01T00:00:00Z")));
        if !has_finalizer {
            machine.metadata.finalizers = None;
        }
        if !has_node_ref {
            machine.status.node_ref = None;
        }
        if !has_config {
            machine.spec.bootstrap.config_ref = None;
        }
        if !has_deployment {
            seen.machine_deployment = None;
        }
        let updaters = Updaters::Registered(updaters.into_iter().map(name).collect());
        let drain = Some(Drain { at: times.1, state: DrainState::Done });
        let seen = Observed { now: times.0, infrastructure, bootstrap, control_plane, node, updaters, drain, ..seen };
        let due = match decide(&seen).errand {
            Some(Errand::Ask { call, .. }) if is_to_the_point => Some(call),
            _ => None,
        };
        let answer = answer.map(|answer| Answer { call: due.unwrap_or_else(|| answer.call.clone()), ..answer });
        Observed { answer, ..seen }
    }
}

/// Whether the plan takes the mark of a running update off.
fn completes(seen: &Observed, decision: &Decision) -> bool {
    let own = seen.machine.metadata.annotations.clone().unwrap_or_default();
    let is_running =
        own.contains_key(UPDATE_IN_PROGRESS) && pending_hooks::is_pending(&own, Hook::UpdateMachine.name());
    let pointer = format!("/metadata/annotations/{}", UPDATE_IN_PROGRESS.replace('/', "~1"));
    is_running
        && decision.plan.effects.iter().any(|effect| match effect {
            Effect::Patch(patch) => patch.target.kind == "Machine" && patch.merge.pointer(&pointer).is_some(),
            Effect::Apply(_) | Effect::Delete(_) | Effect::Emit(_) => false,
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn no_world_makes_a_decision_panic_or_waver(seen in world()) {
        let decision = decide(&seen);
        prop_assert_eq!(&decision, &decide(&seen));
        let (before, after) = (&seen.machine.status.initialization, &decision.status.initialization);
        let is_kept = |before: Option<bool>, after| before != Some(true) || after == Some(true);
        prop_assert!(is_kept(before.infrastructure_provisioned, after.infrastructure_provisioned));
        prop_assert!(is_kept(before.bootstrap_data_secret_created, after.bootstrap_data_secret_created));
    }

    #[test]
    fn an_update_ends_only_with_a_plain_success_of_its_last_extension(seen in world()) {
        let decision = decide(&seen);
        if completes(&seen, &decision) {
            prop_assert!(seen.machine.metadata.deletion_timestamp.is_none());
            let plan = seen.machine.metadata.annotations.as_ref().unwrap().get(UPDATE_PLAN);
            let plan = plan.map(|text| FrozenPlan::decode(text).expect("a plan that is completed must be one"));
            let left = plan.as_ref().map_or(1, |plan| plan.remaining().len());
            prop_assert!(left <= 1);
            if left == 1 {
                let answer = serde_json::to_value(seen.answer.unwrap().response.unwrap()).unwrap();
                prop_assert_eq!(&answer["status"], "Success");
                prop_assert_eq!(&answer["retryAfterSeconds"], 0);
            }
        }
    }

    #[test]
    fn an_outdated_view_of_the_machine_writes_nothing_but_a_status_to_it(seen in world()) {
        let effects = decide(&seen).plan.effects;
        let mut own = effects.iter().filter_map(|effect| match effect {
            Effect::Patch(patch) if patch.target.kind == "Machine" => Some(patch),
            _ => None,
        });
        let Some(first) = own.next() else { return Ok(()) };
        if first.operations.is_some() {
            prop_assert_eq!((first.part, own.count()), (Part::Status, 0));
        } else {
            prop_assert_eq!(&first.resource_version, &seen.machine.metadata.resource_version);
            prop_assert!(own.all(|later| later.resource_version.is_none()), "a plan must not refuse itself");
        }
    }

    #[test]
    fn a_machine_that_is_deleted_is_not_updated(mut seen in world()) {
        seen.machine.metadata.deletion_timestamp = Some(decode(json!("2026-01-01T00:00:00Z")));
        let asks = matches!(decide(&seen).errand, Some(Errand::Ask { .. }));
        prop_assert!(!asks);
    }
}

#[test]
fn the_worlds_include_updates_that_end() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let strategy = world();
    let worlds = (0..1024).map(|_| strategy.new_tree(&mut runner).unwrap().current());
    let ends = worlds.filter(|seen| completes(seen, &decide(seen))).count();
    assert!(ends >= 10, "only {ends} updates end: the properties above say next to nothing");
}
