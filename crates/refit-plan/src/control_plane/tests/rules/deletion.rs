//! The end of a Machine, and of the whole control plane.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use refit_api::conditions::{self, NewCondition, Status, machine::deleting};
use refit_api::vocabulary::annotations::KCP_CLEANUP_HOOK;
use refit_api::vocabulary::condition_types as types;

use crate::control_plane::observed::{EtcdMembers, Observed};
use crate::control_plane::tests::fixtures::{member, observed, set, start};
use crate::control_plane::tests::walk_through::world;
use crate::control_plane::{Step, decide};
use crate::effect::Effect;

/// A synced control plane of which machine `a` is at its pre-terminate hook.
fn terminating() -> Observed {
    let mut observed = world(3, 0, &[]).observe();
    let machine = &mut observed.at("a").machine;
    machine.metadata.deletion_timestamp = Some(Time(start()));
    conditions::set(&mut machine.status.conditions, waiting(), None, start());
    observed
}

fn waiting() -> NewCondition {
    let reason = refit_api::vocabulary::reasons::WAITING_FOR_PRE_TERMINATE_HOOK;
    NewCondition::new(types::DELETING, Status::True, reason)
}

/// What is done, in short.
fn steps(observed: &Observed) -> Vec<String> {
    let words = |step: &Step| match step {
        Step::ForwardEtcdLeadership { from, .. } => format!("forward {from}"),
        Step::RemoveEtcdMember { name } => format!("remove {name}"),
        Step::PrepareWorkloadCluster { .. } => "prepare".to_owned(),
        Step::Write(Effect::Patch(patch)) => format!("patch {}", patch.target.name),
        Step::Write(Effect::Delete(delete)) => format!("delete {}", delete.target.name),
        Step::Write(Effect::Apply(apply)) => format!("apply {}", apply.target.name),
        Step::Write(Effect::Emit(event)) => format!("tell {}", event.about.name),
    };
    decide(observed).steps.iter().map(words).collect()
}

fn check(change: impl FnOnce(&mut Observed), expected: &[&str]) {
    let mut observed = terminating();
    change(&mut observed);
    assert_eq!(steps(&observed), expected);
}

#[test]
fn a_machine_leaves_etcd_before_its_host_goes() {
    check(|_| (), &["forward a", "remove a", "patch a"]);
    let follower = |observed: &mut Observed| {
        observed.etcd = EtcdMembers::Known(
            ["b", "a", "c"]
                .map(|name| {
                    let mut member = member(name);
                    member.is_leader = name == "b";
                    member
                })
                .into(),
        );
    };
    check(follower, &["remove a", "patch a"]);
    let gone = |observed: &mut Observed| observed.etcd = EtcdMembers::Known(vec![member("b"), member("c")]);
    check(gone, &["patch a"]);
}

#[test]
fn the_hook_waits_for_its_turn() {
    check(|observed| conditions::remove(&mut observed.at("a").machine.status.conditions, types::DELETING), &[]);
    let other_hook = |observed: &mut Observed| {
        observed.at("a").annotate("pre-terminate.delete.hook.machine.cluster.x-k8s.io/backup", "");
    };
    check(other_hook, &[]);
    let draining = |observed: &mut Observed| {
        let condition = deleting::internal_error();
        conditions::set(&mut observed.at("a").machine.status.conditions, condition, None, start());
    };
    check(draining, &[]);
    let another = |observed: &mut Observed| {
        observed.at("b").machine.metadata.deletion_timestamp = Some(Time(start()));
        observed.at("b").machine.metadata.annotations.as_mut().unwrap().remove(KCP_CLEANUP_HOOK);
    };
    check(another, &[]);
}

#[test]
fn the_hook_stays_while_the_cluster_would_go_with_the_machine() {
    check(|observed| observed.at("b").set(types::ETCD_MEMBER_HEALTHY, Status::False), &[]);
    let sick = |observed: &mut Observed| {
        ["b", "c"].iter().for_each(|name| observed.at(name).set(types::API_SERVER_POD_HEALTHY, Status::False));
    };
    check(sick, &[]);
    check(|observed| observed.etcd = EtcdMembers::Unknown { why: "timeout".to_owned() }, &[]);
}

#[test]
fn the_last_machine_and_one_with_external_etcd_go_at_once() {
    check(|observed| observed.machines.retain(|name, _| name == "a"), &["patch a"]);
    let external = |observed: &mut Observed| {
        observed.control_plane.spec.kubeadm_config_spec.cluster_configuration.etcd.external =
            Some(refit_api::bootstrap::ExternalEtcd::default());
    };
    let mut observed = terminating();
    external(&mut observed);
    assert_eq!(steps(&observed).last().map(String::as_str), Some("patch a"));
    assert!(!steps(&observed).contains(&"remove a".to_owned()));
}

#[test]
fn nothing_else_is_done_while_a_machine_goes() {
    let busy = |observed: &mut Observed| {
        conditions::remove(&mut observed.at("a").machine.status.conditions, types::DELETING);
        observed.control_plane.spec.replicas = Some(5);
        observed.at("b").set(types::HEALTH_CHECK_SUCCEEDED, Status::False);
        observed.at("b").set(types::OWNER_REMEDIATED, Status::False);
    };
    check(busy, &[]);
}

#[test]
fn a_member_of_no_machine_is_removed_when_etcd_says_that_it_is_not_well() {
    let check = |members: &[&str], is_healthy: bool, expected: &[&str]| {
        let mut observed = world(3, 0, &[]).observe();
        observed.etcd = EtcdMembers::Known(members.iter().map(|name| member(name)).collect());
        set(&mut observed.control_plane.status.conditions, types::ETCD_CLUSTER_HEALTHY, Status::from(is_healthy));
        assert_eq!(steps(&observed), expected);
    };
    check(&["a", "b", "c", "y", "x"], false, &["remove x"]);
    check(&["a", "b", "c", ""], false, &["remove "]);
    check(&["a", "b", "c", "x"], true, &[]);
    check(&["a", "b", "c"], false, &[]);
}

#[test]
fn the_control_plane_goes_after_the_workers_and_its_machines() {
    let mut observed = world(3, 0, &[]).observe();
    observed.control_plane.metadata.deletion_timestamp = Some(Time(start()));
    observed.workers = vec!["Machines: w1".to_owned()];
    assert_eq!(steps(&observed), Vec::<String>::new());
    observed.workers.clear();
    let expected = ["patch a", "delete a", "patch b", "delete b", "patch c", "delete c"];
    assert_eq!(steps(&observed), expected);
    observed.machines.clear();
    assert_eq!(steps(&observed), ["patch cp"]);
}

#[test]
fn the_finalizer_comes_before_anything_else() {
    let mut observed = observed(3);
    observed.control_plane.metadata.finalizers = None;
    assert_eq!(steps(&observed), ["patch cp"]);
}

#[test]
fn a_number_of_replicas_that_makes_no_sense_deletes_nothing() {
    for replicas in [0, -1, i32::MIN] {
        let mut observed = world(3, 0, &[]).observe();
        observed.control_plane.spec.replicas = Some(replicas);
        assert_eq!(steps(&observed), Vec::<String>::new());
        let words: Vec<String> = decide(&observed).waiting_on.iter().map(ToString::to_string).collect();
        assert_eq!(words, [format!("spec.replicas is {replicas}, so nothing is changed; set it to 1 or more")]);
    }
}
