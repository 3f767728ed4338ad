//! The stages of a deletion.

use refit_api::cluster::MachinePhase;
use serde_json::json;

use super::world::{World, decode, found};
use crate::effect::Effect;
use crate::machine::*;

const PRE_DRAIN: &str = "pre-drain.delete.hook.machine.cluster.x-k8s.io/x";
const PRE_TERMINATE: &str = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/x";

/// The reasons of `Deleting` that the Machine goes through, and whether it is gone in the end.
fn stages(mut world: World) -> (Vec<String>, bool) {
    let mut stages: Vec<String> = Vec::new();
    for _ in 0..40 {
        let is_quiet = world.round();
        let stage = world.condition("Deleting").split([' ', ':']).nth(1).unwrap_or_default().to_owned();
        if stages.last() != Some(&stage) {
            stages.push(stage);
        }
        if is_quiet {
            break;
        }
    }
    (stages, world.is_gone)
}

fn check(world: World, expected: &[&str]) {
    let (stages, is_gone) = stages(world);
    assert_eq!(stages, expected);
    assert!(is_gone);
}

fn check_waits(world: World, expected: &[&str]) {
    let (stages, is_gone) = stages(world);
    assert_eq!(stages, expected);
    assert!(!is_gone);
}

const ALL: [&str; 5] = [
    "DrainingNode",
    "WaitingForVolumeDetach",
    "WaitingForInfrastructureDeletion",
    "WaitingForBootstrapDeletion",
    "DeletionCompleted",
];

#[test]
fn a_machine_goes_in_stages_and_its_node_with_it() {
    check(World::deleting(), &ALL);
    let mut world = World::deleting();
    world.settle();
    assert_eq!(world.seen.node, NodeSeen::Missing);
    assert_eq!(world.seen.machine.status.phase, Some(MachinePhase::Deleting));
    assert_eq!(world.events, ["SuccessfulDrainNode", "NodeVolumesDetached"]);
}

#[test]
fn hooks_of_others_are_waited_for() {
    let mut world = World::deleting();
    world.annotate(PRE_DRAIN, "");
    check_waits(world.clone(), &["WaitingForPreDrainHook"]);
    world.settle();
    assert!(world.seen.machine.status.deletion.unwrap().wait_for_pre_drain_hook_start_time.is_some());

    let mut world = World::deleting();
    world.annotate(PRE_TERMINATE, "");
    check_waits(world, &["DrainingNode", "WaitingForVolumeDetach", "WaitingForPreTerminateHook"]);
}

#[test]
fn nobody_is_drained_once_the_end_was_announced() {
    let mut world = World::deleting();
    world.annotate(PRE_TERMINATE, "");
    world.settle();
    world.seen.drain = None;
    world.seen.volumes = None;
    world.settle();
    assert!(world.seen.drain.is_none() && world.seen.volumes.is_none());
    assert!(world.condition("Deleting").starts_with("True WaitingForPreTerminateHook"));
}

/// The Node is not touched: no drain, no wait for volumes, no deletion. Hooks before the end still count.
fn check_node_is_left_alone(change: impl Fn(&mut Observed)) {
    let mut world = World::deleting();
    change(&mut world.seen);
    let node = world.seen.node.clone();
    check(world.clone(), &ALL[2..]);
    let mut with_hook = world.clone();
    with_hook.annotate(PRE_TERMINATE, "");
    check_waits(with_hook, &["WaitingForPreTerminateHook"]);
    world.settle();
    assert_eq!(world.seen.node, node);
}

#[test]
fn the_node_is_left_alone_when_the_cluster_goes() {
    check_node_is_left_alone(|seen| {
        seen.cluster.metadata.deletion_timestamp = Some(decode(json!("2026-01-01T00:00:00Z")));
    });
    check_node_is_left_alone(|seen| {
        seen.control_plane = found(json!({ "metadata": { "deletionTimestamp": "2026-01-01T00:00:00Z" } }));
    });
    check_node_is_left_alone(|seen| seen.active_control_plane_machines = 0);
    check_node_is_left_alone(|seen| {
        seen.machine.status.node_ref = None;
        seen.node = NodeSeen::Missing;
    });
}

#[test]
fn an_external_control_plane_needs_no_machines() {
    let mut world = World::deleting();
    world.seen.active_control_plane_machines = 0;
    world.seen.control_plane = found(json!({ "status": { "externalManagedControlPlane": true } }));
    check(world, &ALL);
}

#[test]
fn a_control_plane_that_cannot_be_read_stops_the_deletion() {
    let mut world = World::deleting();
    world.seen.control_plane = External::Unreadable { why: "forbidden".to_owned() };
    check_waits(world, &["InternalError"]);
}

#[test]
fn users_can_leave_the_drain_and_the_volumes_out() {
    let mut world = World::deleting();
    world.annotate("machine.cluster.x-k8s.io/exclude-node-draining", "");
    check(world.clone(), &ALL[1..]);
    world.annotate("machine.cluster.x-k8s.io/exclude-wait-for-node-volume-detach", "");
    check(world, &ALL[2..]);
}

#[test]
fn a_drain_under_way_is_told_and_looked_at_again_in_time() {
    let mut world = World::deleting();
    let state = DrainState::InProgress { words: "Pod a: waiting".to_owned() };
    world.seen.drain = Some(Drain { at: world.seen.now, state });
    world.settle();
    assert_eq!(world.condition("Deleting"), "True DrainingNode: Pod a: waiting");
    assert_eq!(decide(&world.seen).plan.requeue_after, Some(std::time::Duration::from_secs(20)));
    world.later(20);
    let errand = decide(&world.seen).errand;
    assert_eq!(errand, Some(Errand::Drain { node: "n1".to_owned() }));
}

/// What the shell does when it is sent to drain: look, plan, evict, and come back. Every eviction is accepted.
fn drained(world: &World, pods: &[serde_json::Value]) -> Drain {
    let NodeSeen::Found(node) = &world.seen.node else { panic!("the Node must be there") };
    let pods: Vec<k8s_openapi::api::core::v1::Pod> = pods.iter().cloned().map(decode).collect();
    let namespaces = [decode(json!({ "metadata": { "name": "ns" } }))];
    let plan = drain::plan(&drain::DrainView {
        now: world.seen.now,
        machine: &world.seen.machine,
        cluster: &world.seen.cluster,
        node,
        pods: &pods,
        namespaces: &namespaces,
        daemon_sets: &Default::default(),
        rules: &[],
    });
    let plan = plan.expect("it must be planned");
    let evictions = plan.evict.iter().map(|pod| (pod.clone(), drain::Eviction::Accepted)).collect();
    let started = world.seen.machine.status.deletion.as_ref().and_then(|it| it.node_drain_start_time.as_ref());
    let started = started.expect("the drain must have begun").0;
    Drain { at: world.seen.now, state: plan.outcome(&evictions, started) }
}

#[test]
fn a_drain_goes_on_until_the_last_pod_is_gone() {
    let mut world = World::deleting();
    world.seen.drain = Some(Drain { at: world.seen.now, state: DrainState::InProgress { words: String::new() } });
    world.settle();
    let pod = json!({ "metadata": { "name": "a", "namespace": "ns", "uid": "u" } });
    world.seen.drain = Some(drained(&world, &[pod]));
    world.settle();
    let condition = world.condition("Deleting");
    assert!(condition.starts_with("True DrainingNode: Drain not completed yet (started at "), "{condition}");
    let words = "* Pod ns/a: deletionTimestamp set, but still not removed from the Node";
    assert!(condition.ends_with(words), "{condition}");
    world.seen.drain = Some(drained(&world, &[]));
    check(world, &ALL[1..]);
}

#[test]
fn a_failed_drain_is_told_once_and_tried_again() {
    let mut world = World::deleting();
    let state = DrainState::Failed { why: "refused".to_owned() };
    world.seen.drain = Some(Drain { at: world.seen.now, state });
    world.settle();
    assert_eq!(world.events, ["FailedDrainNode"]);
    let expected = "True DrainingNode: Error draining Node, please check controller logs for errors";
    assert_eq!(world.condition("Deleting"), expected);
    assert_eq!(decide(&world.seen).problems, [Problem::Drain { why: "refused".to_owned() }]);
}

#[test]
fn drain_and_volumes_have_their_time() {
    let mut world = World::deleting();
    world.seen.machine.spec.deletion.node_drain_timeout_seconds = Some(60);
    world.seen.machine.spec.deletion.node_volume_detach_timeout_seconds = Some(60);
    let state = DrainState::InProgress { words: "Pod a: waiting".to_owned() };
    let drain = |world: &World| Some(Drain { at: world.seen.now, state: state.clone() });
    let volumes = |world: &World| {
        Some(Volumes {
            at: world.seen.now,
            state: VolumesState::Attached { words: "* PersistentVolumeClaims: ns/a".to_owned() },
        })
    };
    world.seen.drain = drain(&world);
    world.settle();
    world.later(60);
    (world.seen.drain, world.seen.volumes) = (drain(&world), volumes(&world));
    world.settle();
    let expected = "True WaitingForVolumeDetach: Waiting for Node volumes to be detached (started at 2026-01-01T00:01:00Z)\n\
         * PersistentVolumeClaims: ns/a";
    assert_eq!(world.condition("Deleting"), expected);
    world.later(60);
    (world.seen.drain, world.seen.volumes) = (drain(&world), volumes(&world));
    world.settle();
    assert!(world.is_gone);
}

#[test]
fn volumes_of_an_unreachable_node_are_not_waited_for() {
    let mut world = World::deleting();
    let NodeSeen::Found(node) = &mut world.seen.node else { panic!("there is a Node") };
    node.status.as_mut().unwrap().conditions.as_mut().unwrap()[0].status = "Unknown".to_owned();
    let stages =
        ["DrainingNode", "WaitingForInfrastructureDeletion", "WaitingForBootstrapDeletion", "DeletionCompleted"];
    check(world, &stages);
}

#[test]
fn a_host_that_is_going_is_neither_drained_nor_deleted_again() {
    let mut world = World::deleting();
    let External::Found { object, .. } = &mut world.seen.infrastructure else { panic!("there is a host") };
    object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    check_waits(world, &["WaitingForInfrastructureDeletion"]);
}

#[test]
fn a_host_that_cannot_be_read_is_not_taken_for_gone() {
    let mut world = World::deleting();
    world.seen.infrastructure = External::Unreadable { why: "forbidden".to_owned() };
    check_waits(world, &["WaitingForInfrastructureDeletion"]);
}

#[test]
fn objects_are_deleted_by_uid_after_the_status_says_so() {
    let mut world = World::deleting();
    world.annotate("machine.cluster.x-k8s.io/exclude-node-draining", "");
    world.annotate("machine.cluster.x-k8s.io/exclude-wait-for-node-volume-detach", "");
    let effects = decide(&world.seen).plan.effects;
    let [Effect::Patch(status), Effect::Delete(delete)] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!(status.part, crate::effect::Part::Status);
    assert_eq!(delete.target.uid.as_deref(), Some("DevMachine-uid"));
}

/// Everything is gone but the Node.
fn with_node_only() -> World {
    let mut world = World::deleting();
    world.seen.infrastructure = External::Missing;
    world.seen.bootstrap = External::Missing;
    world
}

#[test]
fn a_node_that_cannot_be_deleted_is_given_up_after_its_time() {
    let mut world = with_node_only();
    world.seen.machine.spec.deletion.node_deletion_timeout_seconds = Some(10);
    world.seen.node = NodeSeen::NotConnected;
    world.settle();
    assert!(!world.is_gone);
    let expected = "True DeletingNode: Error deleting Node, please check controller logs for errors";
    assert_eq!(world.condition("Deleting"), expected);
    assert_eq!(world.events, ["FailedDeleteNode"]);
    world.later(10);
    world.settle();
    assert!(world.is_gone);
}

#[test]
fn without_a_time_for_it_the_node_is_tried_for_ever() {
    for timeout in [None, Some(0)] {
        let mut world = with_node_only();
        world.seen.machine.spec.deletion.node_deletion_timeout_seconds = timeout;
        world.seen.node = NodeSeen::NotConnected;
        world.later(1_000_000);
        world.settle();
        assert!(!world.is_gone);
    }
}

#[test]
fn the_node_is_deleted_even_if_the_time_for_it_is_over_before_its_turn() {
    let mut world = with_node_only();
    world.seen.machine.spec.deletion.node_deletion_timeout_seconds = Some(10);
    world.later(1_000);
    world.settle();
    assert!(world.is_gone);
    assert_eq!(world.seen.node, NodeSeen::Missing);
}

#[test]
fn the_finalizer_of_others_stays() {
    let mut world = World::deleting();
    world.seen.machine.metadata.finalizers.as_mut().unwrap().push("other".to_owned());
    world.settle();
    assert!(!world.is_gone);
    assert_eq!(world.seen.machine.metadata.finalizers, Some(vec!["other".to_owned()]));
    assert_eq!(world.condition("Deleting"), "True DeletionCompleted: Deletion completed");
}
