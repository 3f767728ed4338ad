//! The Node: finding it, and what it has from its Machine.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Node;
use serde_json::json;

use super::world::{World, decode};
use crate::machine::*;

fn node(world: &mut World) -> &mut Node {
    match &mut world.seen.node {
        NodeSeen::Found(node) => node,
        other => panic!("there is no Node: {other:?}"),
    }
}

fn words(words: &[(&str, &str)]) -> BTreeMap<String, String> {
    words.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn taints(world: &mut World) -> Vec<String> {
    let taints = node(world).spec.clone().unwrap().taints.unwrap_or_default();
    taints.iter().map(|it| format!("{}={}:{}", it.key, it.value.as_deref().unwrap_or_default(), it.effect)).collect()
}

#[test]
fn the_machine_takes_over_its_node() {
    let mut world = World::running();
    world.seen.machine.status.node_ref = None;
    world.settle();
    let status = &world.seen.machine.status;
    assert_eq!(status.node_ref.as_ref().unwrap().name, "n1");
    assert_eq!(status.node_info.as_ref().unwrap().kubelet_version, "v1.34.0");
    assert_eq!(world.events, ["SuccessfulSetNodeRef"]);
}

#[test]
fn a_missing_node_is_waited_for_until_there_was_one() {
    let mut world = World::running();
    world.seen.node = NodeSeen::Missing;
    world.seen.machine.status.node_ref = None;
    world.settle();
    assert_eq!(decide(&world.seen).problems, []);
    assert_eq!(
        world.condition("NodeHealthy"),
        "Unknown InspectionFailed: Waiting for a Node with spec.providerID sim://m1 to exist"
    );
    let mut world = World::settled();
    world.seen.node = NodeSeen::Missing;
    world.settle();
    assert_eq!(decide(&world.seen).problems, [Problem::NodeGone { node: "n1".to_owned() }]);
    let expected = "False NodeDeleted: Node n1 has been deleted while the Machine still exists";
    assert_eq!(world.condition("NodeReady"), expected);
}

#[test]
fn a_node_that_cannot_be_read_is_told_once() {
    let mut world = World::settled();
    world.seen.node = NodeSeen::Unreadable { why: "two of them".to_owned() };
    world.settle();
    assert_eq!(world.events, ["Failed to retrieve Node by ProviderID"]);
    assert_eq!(world.condition("NodeReady"), "Unknown InternalError: Please check controller logs for errors");
}

#[test]
fn labels_of_the_machine_reach_the_node_and_go_again() {
    let mut world = World::settled();
    world.seen.settings.synced_labels.insert("mine/synced".to_owned());
    node(&mut world).metadata.labels = Some(words(&[("own", "kept"), ("node-role.kubernetes.io/worker", "old")]));
    world.seen.machine.metadata.labels = Some(words(&[
        ("cluster.x-k8s.io/cluster-name", "c1"),
        ("cluster.x-k8s.io/set-name", "ms1"),
        ("node-role.kubernetes.io/worker", ""),
        ("node-restriction.kubernetes.io/a", "1"),
        ("x.node.cluster.x-k8s.io/b", "2"),
        ("notnode.cluster.x-k8s.io/c", "3"),
        ("mine/synced", "4"),
        ("mine/other", "5"),
    ]));
    world.settle();
    let mut expected = words(&[
        ("own", "kept"),
        ("node-role.kubernetes.io/worker", ""),
        ("node-restriction.kubernetes.io/a", "1"),
        ("x.node.cluster.x-k8s.io/b", "2"),
        ("mine/synced", "4"),
    ]);
    assert_eq!(node(&mut world).metadata.labels, Some(expected.clone()));
    let tracked =
        "mine/synced,node-restriction.kubernetes.io/a,node-role.kubernetes.io/worker,x.node.cluster.x-k8s.io/b";
    assert_eq!(
        node(&mut world).metadata.annotations.as_ref().unwrap()["cluster.x-k8s.io/labels-from-machine"],
        tracked
    );
    world.seen.machine.metadata.labels.as_mut().unwrap().remove("node-restriction.kubernetes.io/a");
    world.settle();
    expected.remove("node-restriction.kubernetes.io/a");
    assert_eq!(node(&mut world).metadata.labels, Some(expected));
}

#[test]
fn annotations_of_the_machine_reach_the_node_and_go_again() {
    let mut world = World::settled();
    node(&mut world).metadata.annotations.as_mut().unwrap().insert("own".to_owned(), "kept".to_owned());
    world.annotate("node.cluster.x-k8s.io/a", "1");
    world.annotate("other", "2");
    world.settle();
    let mut expected = words(&[
        ("own", "kept"),
        ("node.cluster.x-k8s.io/a", "1"),
        ("cluster.x-k8s.io/cluster-name", "c1"),
        ("cluster.x-k8s.io/cluster-namespace", "ns"),
        ("cluster.x-k8s.io/machine", "m1"),
        ("cluster.x-k8s.io/owner-kind", "MachineSet"),
        ("cluster.x-k8s.io/owner-name", "ms1"),
        ("cluster.x-k8s.io/annotations-from-machine", "node.cluster.x-k8s.io/a"),
        ("cluster.x-k8s.io/labels-from-machine", ""),
    ]);
    assert_eq!(node(&mut world).metadata.annotations, Some(expected.clone()));
    world.seen.machine.metadata.annotations = None;
    world.settle();
    expected.remove("node.cluster.x-k8s.io/a");
    expected.insert("cluster.x-k8s.io/annotations-from-machine".to_owned(), String::new());
    assert_eq!(node(&mut world).metadata.annotations, Some(expected));
}

#[test]
fn an_interruptible_host_makes_an_interruptible_node() {
    let mut world = World::settled();
    if let External::Found { object, .. } = &mut world.seen.infrastructure {
        object["status"]["interruptible"] = json!(true);
    }
    world.settle();
    assert!(node(&mut world).metadata.labels.as_ref().unwrap().contains_key("cluster.x-k8s.io/interruptible"));
    assert_eq!(world.events, ["SuccessfulSetInterruptibleNodeLabel"]);
}

#[test]
fn the_taint_of_a_new_node_comes_off() {
    let mut world = World::settled();
    let uninitialized = json!({ "key": "node.cluster.x-k8s.io/uninitialized", "effect": "NoSchedule" });
    let own = json!({ "key": "own", "effect": "NoExecute" });
    node(&mut world).spec.as_mut().unwrap().taints = decode(json!([uninitialized, own]));
    world.settle();
    assert_eq!(taints(&mut world), ["own=:NoExecute"]);
}

#[test]
fn taints_of_the_machine_are_kept_or_set_once() {
    let mut world = World::settled();
    world.seen.settings.propagate_taints = true;
    let taint = |key: &str, value: &str, propagation: &str| json!({ "key": key, "value": value, "effect": "NoSchedule", "propagation": propagation });
    world.seen.machine.spec.taints =
        decode(json!([taint("always", "1", "Always"), taint("once", "1", "OnInitialization")]));
    world.settle();
    assert_eq!(taints(&mut world), ["always=1:NoSchedule", "once=1:NoSchedule"]);
    node(&mut world).spec.as_mut().unwrap().taints = None;
    world.settle();
    assert_eq!(taints(&mut world), ["always=1:NoSchedule"], "what is set once is not set again");
    world.seen.machine.spec.taints = decode(json!([taint("always", "2", "Always")]));
    world.settle();
    assert_eq!(taints(&mut world), ["always=2:NoSchedule"]);
    world.seen.machine.spec.taints = Vec::new();
    world.settle();
    assert_eq!(taints(&mut world), Vec::<String>::new());
}

#[test]
fn taints_are_left_alone_unless_asked_for() {
    let mut world = World::settled();
    world.seen.machine.spec.taints = decode(json!([{ "key": "a", "effect": "NoSchedule", "propagation": "Always" }]));
    world.settle();
    assert_eq!(taints(&mut world), Vec::<String>::new());
}

#[test]
fn a_node_of_an_older_revision_is_avoided() {
    const KEY: &str = "machinedeployment.clusters.x-k8s.io/revision";
    let mut world = World::settled();
    world.seen.machine_set.as_mut().unwrap().metadata.annotations = Some(words(&[(KEY, "9")]));
    world.policy(KEY, "10");
    world.settle();
    assert_eq!(taints(&mut world), ["node.cluster.x-k8s.io/outdated-revision=:PreferNoSchedule"]);
    world.policy(KEY, "9");
    world.settle();
    assert_eq!(taints(&mut world), Vec::<String>::new());
    world.policy(KEY, "new");
    assert!(matches!(decide(&world.seen).problems[..], [Problem::Annotation { .. }]));
}

#[test]
fn a_patch_of_the_node_is_made_for_the_version_that_was_seen() {
    let world = World::running();
    let effects = decide(&world.seen).plan.effects;
    let crate::effect::Effect::Patch(patch) = &effects[0] else { panic!("the Node comes first") };
    assert!(is_in_workload_cluster(&patch.target));
    assert_eq!(patch.resource_version.as_deref(), Some("1"));
}
