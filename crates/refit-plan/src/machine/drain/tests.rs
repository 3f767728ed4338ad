use std::collections::BTreeMap;

use serde_json::json;

use super::*;
use crate::machine::DrainState;

const NOW: &str = "2026-01-01T00:01:00Z";
const STARTED: &str = "2026-01-01T00:00:00Z";

/// A Node with its Pods, and what users say about them.
struct Setup {
    node: Value,
    pods: Vec<Value>,
    rules: Vec<Value>,
}

fn setup(pods: &[Value]) -> Setup {
    let node = json!({ "metadata": { "name": "n", "uid": "n-uid" }, "spec": { "unschedulable": true } });
    Setup { node, pods: pods.to_vec(), rules: Vec::new() }
}

/// A running Pod of a ReplicaSet, changed by a merge patch.
fn pod(name: &str, change: Value) -> Value {
    let mut pod = json!({
        "metadata": {
            "name": name, "namespace": "ns", "uid": format!("{name}-uid"),
            "ownerReferences": [owner("ReplicaSet", "rs")],
        },
        "status": { "phase": "Running" },
    });
    crate::merge::apply(&mut pod, &change);
    pod
}

fn owner(kind: &str, name: &str) -> Value {
    json!({ "apiVersion": "apps/v1", "kind": kind, "name": name, "uid": "u", "controller": true })
}

fn of_daemon_set(pod_name: &str, daemon_set: &str) -> Value {
    pod(pod_name, json!({ "metadata": { "ownerReferences": [owner("DaemonSet", daemon_set)] } }))
}

fn labelled(name: &str, key: &str, value: &str) -> Value {
    pod(name, json!({ "metadata": { "labels": { key: value } } }))
}

fn deleted(name: &str, at: &str) -> Value {
    pod(name, json!({ "metadata": { "deletionTimestamp": at } }))
}

fn rule(name: &str, drain: Value, pods: Value) -> Value {
    json!({ "metadata": { "name": name }, "spec": { "drain": drain, "pods": pods } })
}

fn about(app: &str) -> Value {
    json!([{ "selector": { "matchLabels": { "app": app } } }])
}

fn decode<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("it must decode")
}

impl Setup {
    fn rules(mut self, rules: &[Value]) -> Self {
        self.rules = rules.to_vec();
        self
    }

    fn unreachable(mut self) -> Self {
        self.node["status"] = json!({ "conditions": [{ "type": "Ready", "status": "Unknown" }] });
        self
    }

    fn plan(&self) -> Result<DrainPlan, DrainError> {
        let machine: Machine = decode(json!({
            "metadata": { "name": "m", "labels": { "pool": "a" } },
            "spec": { "clusterName": "c", "bootstrap": {}, "infrastructureRef": { "apiGroup": "g", "kind": "K", "name": "m" } },
        }));
        let mut cluster = Cluster::default();
        cluster.metadata.labels = Some([("env".to_owned(), "prod".to_owned())].into());
        let namespaces: Vec<Namespace> = ["ns", "ns-2", "kube-system"]
            .map(|name| decode(json!({ "metadata": { "name": name, "labels": { "name": name } } })))
            .to_vec();
        let daemon_sets = BTreeSet::from([("ns".to_owned(), "ds".to_owned())]);
        let pods: Vec<Pod> = self.pods.iter().cloned().map(decode).collect();
        plan(&DrainView {
            now: NOW.parse().expect("it is a time"),
            machine: &machine,
            cluster: &cluster,
            node: &decode(self.node.clone()),
            pods: &pods,
            namespaces: &namespaces,
            daemon_sets: &daemon_sets,
            rules: &self.rules,
        })
    }

    /// `evict: a b | terminating: c`, without the lists that are empty.
    #[track_caller]
    fn check(&self, expected: &str) {
        let plan = self.plan().expect("it must be planned");
        let lists = [
            ("evict", &plan.evict),
            ("terminating", &plan.terminating),
            ("evict later", &plan.evict_later),
            ("await", &plan.await_completion),
            ("await later", &plan.await_completion_later),
            ("left alone", &plan.left_alone),
        ];
        let told = lists.iter().filter(|(_, pods)| !pods.is_empty()).map(|(what, pods)| {
            let names: Vec<&str> = pods.iter().map(|pod| pod.name.as_str()).collect();
            format!("{what}: {}", names.join(" "))
        });
        assert_eq!(told.collect::<Vec<_>>().join(" | "), expected);
    }
}

#[test]
fn ordinary_pods_are_evicted_and_those_on_their_way_out_awaited() {
    setup(&[]).check("");
    setup(&[pod("b", json!({})), pod("a", json!({})), deleted("c", NOW)]).check("evict: a b | terminating: c");
    let alone = pod("alone", json!({ "metadata": { "ownerReferences": null } }));
    setup(&[alone]).check("evict: alone");
}

#[test]
fn pods_of_daemon_sets_stay_unless_they_are_finished_or_orphaned() {
    let mut finished = of_daemon_set("finished", "ds");
    finished["status"]["phase"] = json!("Succeeded");
    setup(&[of_daemon_set("running", "ds"), of_daemon_set("orphaned", "gone"), finished])
        .check("evict: finished orphaned | left alone: running");
}

#[test]
fn static_pods_stay() {
    let mirror = pod("api", json!({ "metadata": { "annotations": { "kubernetes.io/config.mirror": "x" } } }));
    setup(&[mirror]).check("left alone: api");
}

#[test]
fn the_label_of_a_pod_decides_before_any_rule() {
    let label = "cluster.x-k8s.io/drain";
    let cases = [
        ("skip", "left alone: a"),
        ("Skip", "left alone: a"),
        ("wait-completed", "await: a"),
        ("WaitCompleted", "await: a"),
        ("wait-com-pleted", "evict: a"),
        ("nonsense", "evict: a"),
        ("", "evict: a"),
    ];
    for (value, expected) in cases {
        setup(&[labelled("a", label, value)]).check(expected);
    }
    let skip = [rule("r", json!({ "behavior": "Skip" }), json!([]))];
    setup(&[labelled("a", label, "wait-completed"), labelled("b", label, "nonsense")])
        .rules(&skip)
        .check("await: a | left alone: b");
}

#[test]
fn the_first_rule_by_name_decides() {
    let rules = [
        rule("b", json!({ "behavior": "Drain", "order": 5 }), about("db")),
        rule("a", json!({ "behavior": "Skip" }), about("db")),
        rule("c", json!({ "behavior": "WaitCompleted" }), about("job")),
    ];
    let pods = [labelled("db", "app", "db"), labelled("job", "app", "job"), pod("other", json!({}))];
    setup(&pods).rules(&rules).check("evict: other | await: job | left alone: db");
}

#[test]
fn only_the_lowest_order_goes_first() {
    let rules = [
        rule("late", json!({ "behavior": "Drain", "order": 7 }), about("late")),
        rule("early", json!({ "behavior": "Drain", "order": -3 }), about("early")),
        rule("job", json!({ "behavior": "WaitCompleted" }), about("job")),
    ];
    let (late, early) = (labelled("late", "app", "late"), labelled("early", "app", "early"));
    let (job, other) = (labelled("job", "app", "job"), pod("other", json!({})));
    let check = |pods: &[Value], expected: &str| setup(pods).rules(&rules).check(expected);
    check(
        &[late.clone(), early.clone(), job.clone(), other.clone()],
        "evict: early | evict later: late other | await later: job",
    );
    check(&[late.clone(), job.clone(), other], "evict: other | evict later: late | await: job");
    check(&[late.clone(), job], "evict later: late | await: job");
    // One that is still ending keeps the later ones back.
    let mut ending = early;
    ending["metadata"]["deletionTimestamp"] = json!(NOW);
    check(&[late.clone(), ending], "terminating: early | evict later: late");
    check(&[late], "evict: late");
}

#[test]
fn a_rule_is_about_the_machines_and_namespaces_that_it_selects() {
    let skip = |machines: Value, pods: Value| {
        [
            json!({ "metadata": { "name": "r" }, "spec": { "drain": { "behavior": "Skip" }, "machines": machines, "pods": pods } }),
        ]
    };
    let check = |machines: Value, pods: Value, is_about: bool| {
        let expected = if is_about { "left alone: a" } else { "evict: a" };
        setup(&[labelled("a", "app", "x")]).rules(&skip(machines, pods)).check(expected);
    };
    let select = |field: &str, key: &str, value: &str| json!([{ field: { "matchLabels": { key: value } } }]);
    check(json!([]), json!([]), true);
    check(json!([{}]), json!([{ "selector": {} }]), true);
    check(select("selector", "pool", "a"), json!([]), true);
    check(select("selector", "pool", "b"), json!([]), false);
    check(select("clusterSelector", "env", "prod"), json!([]), true);
    check(select("clusterSelector", "env", "test"), json!([]), false);
    check(json!([]), select("namespaceSelector", "name", "ns"), true);
    check(json!([]), select("namespaceSelector", "name", "kube-system"), false);
    let both = json!([{ "selector": { "matchLabels": { "app": "x" } }, "namespaceSelector": { "matchLabels": { "name": "y" } } }]);
    check(json!([]), both, false);
}

#[test]
fn an_unreachable_node_is_not_waited_for() {
    let old = deleted("old", "2026-01-01T00:00:57Z");
    let fresh = deleted("fresh", "2026-01-01T00:00:59Z");
    let ends_later = deleted("later", "2026-01-01T00:02:00Z");
    let pods = [pod("a", json!({})), old, fresh, ends_later];
    setup(&pods).check("evict: a | terminating: fresh later old");
    let unreachable = setup(&pods).unreachable();
    unreachable.check("evict: a | terminating: fresh later | left alone: old");
    assert_eq!(unreachable.plan().map(|plan| plan.grace_period_seconds), Ok(Some(1)));
    assert_eq!(setup(&pods).plan().map(|plan| plan.grace_period_seconds), Ok(None));
}

#[test]
fn the_node_is_cordoned_once() {
    let mut setup = setup(&[]);
    assert_eq!(setup.plan().map(|plan| plan.cordon), Ok(None));
    setup.node["spec"] = json!({});
    let Ok(DrainPlan { cordon: Some(Effect::Patch(patch)), .. }) = setup.plan() else { panic!("it must be cordoned") };
    assert_eq!(patch.body(), json!({ "metadata": { "uid": "n-uid" }, "spec": { "unschedulable": true } }));
    assert!(crate::machine::is_in_workload_cluster(&patch.target));
}

#[test]
fn what_cannot_be_read_evicts_nobody() {
    #[track_caller]
    fn check(setup: &Setup, expected: &str) {
        let error = setup.plan().expect_err("it must be refused");
        let causes = std::iter::successors(std::error::Error::source(&error), |cause| cause.source());
        let found = causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"));
        assert!(found.contains(expected), "{found}");
    }
    let one = [pod("a", json!({}))];
    let unknown = rule("r", json!({ "behavior": "Explode" }), json!([]));
    check(&setup(&one).rules(&[unknown]), "MachineDrainRule r cannot be read: unknown variant `Explode`");
    let bad = rule("r", json!({ "behavior": "Skip" }), json!([{ "selector": { "matchLabels": { "a key": "" } } }]));
    check(&setup(&one).rules(&[bad]), "spec.pods.selector of MachineDrainRule r cannot be used: ");
    let homeless = pod("a", json!({ "metadata": { "namespace": "gone" } }));
    check(&setup(std::slice::from_ref(&homeless)), "the namespace of pod gone/a does not exist");
    let skipped =
        pod("a", json!({ "metadata": { "namespace": "gone", "labels": { "cluster.x-k8s.io/drain": "skip" } } }));
    setup(&[skipped]).check("left alone: a");
}

fn too_many(message: &str, cause: &str) -> Eviction {
    Eviction::TooManyRequests { message: message.to_owned(), causes: Some(vec![cause.to_owned()]) }
}

/// The outcome, with the answers by name.
#[track_caller]
fn check_outcome(setup: &Setup, answers: &[(&str, Eviction)], expected: &str) {
    let plan = setup.plan().expect("it must be planned");
    let named = |name: &str| plan.evict.iter().find(|pod| pod.name == name).cloned().expect("it must be evicted");
    let evictions: BTreeMap<PodName, Eviction> =
        answers.iter().map(|(name, answer)| (named(name), answer.clone())).collect();
    let found = match plan.outcome(&evictions, STARTED.parse().expect("it is a time")) {
        DrainState::Done => "done".to_owned(),
        DrainState::InProgress { words } => words,
        DrainState::Failed { why } => panic!("{why}"),
    };
    assert_eq!(found, expected);
}

#[test]
fn a_drain_is_done_when_nobody_is_left_who_has_to_go() {
    check_outcome(&setup(&[]), &[], "done");
    check_outcome(&setup(&[of_daemon_set("d", "ds")]), &[], "done");
    check_outcome(&setup(&[pod("a", json!({}))]), &[("a", Eviction::Gone)], "done");
}

#[test]
fn the_words_say_who_is_left_and_what_holds_him() {
    let budget = "Cannot evict pod as it would violate the pod's disruption budget.";
    let cause = "The disruption budget x needs 2 healthy pods and has 2 currently";
    let names = ["a", "b", "c", "d", "e", "f"];
    let mut pods: Vec<Value> = names.iter().map(|name| pod(name, json!({}))).collect();
    pods.push(deleted("z", NOW));
    pods.push(labelled("job", "cluster.x-k8s.io/drain", "wait-completed"));
    pods.push(labelled("late", "app", "late"));
    let rules = [rule("late", json!({ "behavior": "Drain", "order": 1 }), about("late"))];
    let answers = [
        ("a", Eviction::Accepted),
        ("b", too_many(budget, cause)),
        ("c", too_many(budget, cause)),
        ("d", Eviction::NamespaceTerminating),
        ("e", Eviction::Failed { why: "boom".to_owned() }),
    ];
    check_outcome(
        &setup(&pods).rules(&rules),
        &answers,
        "Drain not completed yet (started at 2026-01-01T00:00:00Z):\n\
         * Pods ns/z, ns/a: deletionTimestamp set, but still not removed from the Node\n\
         * Pods ns/b, ns/c: cannot evict pod as it would violate the pod's disruption budget. The disruption budget x needs 2 healthy pods and has 2 currently\n\
         * Pod ns/d: failed to evict Pod, Cannot evict pod from terminating namespace: unable to create eviction (kube-controller-manager should set deletionTimestamp)\n\
         * Pod ns/e: failed to evict Pod, boom\n\
         * Pod ns/f: failed to evict Pod, eviction timeout of 10s reached, eviction will be retried\n\
         * Pod ns/job: waiting for completion\n\
         After above Pods have been removed from the Node, the following Pods will be evicted: ns/late",
    );
}

#[test]
fn long_lists_are_cut() {
    let mut pods: Vec<Value> = ["a", "b", "c", "d"].iter().map(|name| deleted(name, NOW)).collect();
    // A hyphen sorts before the slash.
    pods[3]["metadata"]["namespace"] = json!("ns-2");
    let gone: Vec<String> = (1..=7).map(|number| format!("x{number}")).collect();
    pods.extend(gone.iter().map(|name| pod(name, json!({}))));
    let answers: Vec<(&str, Eviction)> =
        gone.iter().map(|name| (name.as_str(), Eviction::Failed { why: format!("no {name}") })).collect();
    let lines: Vec<String> =
        gone[..5].iter().map(|name| format!("* Pod ns/{name}: failed to evict Pod, no {name}\n")).collect();
    let expected = format!(
        "Drain not completed yet (started at {STARTED}):\n\
         * Pods ns-2/d, ns/a, ns/b, ... (1 more): deletionTimestamp set, but still not removed from the Node\n\
         {}* 2 Pods with other issues",
        lines.concat()
    );
    check_outcome(&setup(&pods), &answers, &expected);
    check_outcome(&setup(&pods[..10]), &answers[..6], &expected.replace("2 Pods with", "1 Pod with"));
}

#[test]
fn jobs_that_come_later_are_told_apart() {
    let rules = [rule("early", json!({ "behavior": "Drain", "order": -1 }), about("early"))];
    let pods = [labelled("early", "app", "early"), labelled("job", "cluster.x-k8s.io/drain", "wait-completed")];
    check_outcome(
        &setup(&pods).rules(&rules),
        &[("early", Eviction::Accepted)],
        "Drain not completed yet (started at 2026-01-01T00:00:00Z):\n\
         * Pod ns/early: deletionTimestamp set, but still not removed from the Node\n\
         After above Pods have been removed from the Node, waiting for the following Pods to complete without eviction: ns/job",
    );
}
