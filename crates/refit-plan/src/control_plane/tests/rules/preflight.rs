//! What must be so before a machine is touched.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use refit_api::cluster::Topology;
use refit_api::conditions::{self, Status};
use refit_api::vocabulary::annotations::{REMEDIATION_IN_PROGRESS, TOPOLOGY_UPGRADE_STEP};
use refit_api::vocabulary::condition_types as types;

use crate::control_plane::observed::{EtcdMembers, Observed};
use crate::control_plane::preflight::{Operation, Preflight};
use crate::control_plane::tests::fixtures::{NEW, OLD, observed, start};

/// The words that stop adding, removing `b`, and updating.
fn check(change: impl FnOnce(&mut Observed), expected: [&str; 3]) {
    let mut observed = observed(3);
    change(&mut observed);
    let preflight = Preflight::of(&observed);
    let words = [Operation::Add, Operation::Remove("b"), Operation::Update].map(|operation| {
        preflight.reason_not_to(operation).map_or(String::new(), |blocked| blocked.problems.join("; "))
    });
    assert_eq!(words, expected);
}

#[test]
fn healthy_machines_may_be_touched() {
    check(|_| (), ["", "", ""]);
}

#[test]
fn without_machines_everything_may_begin() {
    let none = |observed: &mut Observed| {
        observed.machines.clear();
        observed.control_plane.status.conditions.clear();
    };
    check(none, ["", "", ""]);
}

#[test]
fn a_topology_that_is_elsewhere_is_waited_for() {
    let at = |version: &str, step: Option<&str>| {
        let (version, step) = (version.to_owned(), step.map(str::to_owned));
        move |observed: &mut Observed| {
            observed.cluster.spec.topology = Some(Topology { version, ..Topology::default() });
            let annotations = observed.cluster.metadata.annotations.get_or_insert_default();
            annotations.extend(step.map(|step| (TOPOLOGY_UPGRADE_STEP.to_owned(), step)));
        }
    };
    check(at(OLD, None), [""; 3]);
    check(at(NEW, None), ["waiting for a version upgrade to v1.33.0 to be propagated"; 3]);
    check(at(NEW, Some(OLD)), [""; 3]);
    check(at(NEW, Some("v1.32.9")), ["waiting for a version upgrade to v1.32.9 to be propagated"; 3]);
}

#[test]
fn certificates_are_needed_to_join_only() {
    let lost = |observed: &mut Observed| {
        conditions::remove(&mut observed.control_plane.status.conditions, types::CERTIFICATES_AVAILABLE);
    };
    check(lost, ["cluster certificates are missing or unknown", "", ""]);
}

#[test]
fn deletions_are_waited_for() {
    let deleting = |observed: &mut Observed| observed.at("b").machine.metadata.deletion_timestamp = Some(Time(start()));
    check(deleting, ["waiting for a control plane Machine to complete deletion"; 3]);
    let mut observed = observed(3);
    deleting(&mut observed);
    let blocked = Preflight::of(&observed).reason_not_to(Operation::Update).unwrap();
    assert_eq!(blocked.retry.as_secs(), 30);
}

#[test]
fn every_machine_must_be_healthy_but_the_one_that_goes() {
    let sick = |condition: &'static str, status: Status| {
        move |observed: &mut Observed| observed.at("b").set(condition, status)
    };
    let words = "Machine b reports SchedulerPodHealthy condition is false ()";
    check(sick(types::SCHEDULER_POD_HEALTHY, Status::False), [words, "", words]);
    let words = "Machine b reports EtcdMemberHealthy condition is unknown ()";
    check(sick(types::ETCD_MEMBER_HEALTHY, Status::Unknown), [words, "", words]);
    let missing = |observed: &mut Observed| {
        conditions::remove(&mut observed.at("b").machine.status.conditions, types::API_SERVER_POD_HEALTHY);
    };
    let words = "Machine b does not have APIServerPodHealthy condition";
    check(missing, [words, "", words]);
    let nodeless = |observed: &mut Observed| observed.at("b").machine.status.node_ref = None;
    let words = "Machine b does not have a corresponding Node yet (Machine.status.nodeRef not set)";
    check(nodeless, [words, "", words]);
    // Not looked at.
    check(sick(types::NODE_READY, Status::False), [""; 3]);
    check(sick(types::HEALTH_CHECK_SUCCEEDED, Status::False), [""; 3]);
}

#[test]
fn external_etcd_is_not_looked_at() {
    let external = |observed: &mut Observed| {
        observed.control_plane.spec.kubeadm_config_spec.cluster_configuration.etcd.external =
            Some(refit_api::bootstrap::ExternalEtcd::default());
        observed.at("a").set(types::ETCD_MEMBER_HEALTHY, Status::False);
        observed.etcd = EtcdMembers::Unknown { why: "external".to_owned() };
    };
    check(external, [""; 3]);
}

#[test]
fn members_of_etcd_must_be_known_before_one_is_taken_down() {
    let unknown = |observed: &mut Observed| observed.etcd = EtcdMembers::Unknown { why: "timeout".to_owned() };
    let words = "etcd members are not known: timeout";
    check(unknown, ["", words, words]);
}

#[test]
fn a_successor_may_come_although_others_are_unhealthy_as_long_as_quorum_holds() {
    let replacing = |sick: &'static [&'static str], condition: &'static str| {
        move |observed: &mut Observed| {
            observed.annotate(REMEDIATION_IN_PROGRESS, "{}");
            sick.iter().for_each(|name| observed.at(name).set(condition, Status::False));
        }
    };
    let sick = "Machine b reports SchedulerPodHealthy condition is false ()";
    check(replacing(&["b"], types::SCHEDULER_POD_HEALTHY), ["", "", sick]);
    let lost = "adding a new control plane Machine can lead to etcd quorum loss. Please check the etcd status";
    let sick = "Machine b reports EtcdMemberHealthy condition is false ()";
    check(replacing(&["b"], types::ETCD_MEMBER_HEALTHY), [lost, "", sick]);
}
