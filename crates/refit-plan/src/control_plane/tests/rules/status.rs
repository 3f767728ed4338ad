//! What is told of the control plane.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use refit_api::conditions::{self, Status};
use refit_api::controlplane::KubeadmControlPlaneStatus;
use refit_api::vocabulary::annotations::PAUSED;
use refit_api::vocabulary::condition_types as types;
use refit_api::vocabulary::refit::condition_types::ROLLOUT_BLOCKED;
use serde_json::{Value, json};

use crate::control_plane::decide;
use crate::control_plane::observed::{EtcdMembers, Observed};
use crate::control_plane::tests::fixtures::{NEW, OLD, member, observed, start};
use crate::control_plane::tests::walk_through::world;
use crate::control_plane::tests::world::Answer;
use crate::effect::Effect;
use crate::merge::difference;

/// The status after this decision.
fn status(observed: &Observed) -> KubeadmControlPlaneStatus {
    let mut value = json!({ "status": observed.control_plane.status });
    for report in decide(observed).reports {
        if let Effect::Patch(patch) = report
            && patch.target.kind == "KubeadmControlPlane"
        {
            merge(&mut value, &patch.merge);
        }
    }
    serde_json::from_value(value["status"].clone()).expect("the status must decode")
}

fn merge(value: &mut Value, patch: &Value) {
    match patch {
        Value::Object(fields) => fields.iter().for_each(|(name, field)| match field {
            Value::Null => drop(value.as_object_mut().unwrap().remove(name)),
            field => merge(&mut value[name.as_str()], field),
        }),
        patch => *value = patch.clone(),
    }
}

/// A condition after this decision, as `status reason: message`.
fn condition(observed: &Observed, type_: &str) -> String {
    let status = status(observed);
    let condition = conditions::get(&status.conditions, type_).expect("the condition must be there");
    format!("{} {}: {}", condition.status, condition.reason, condition.message)
}

fn changed(change: impl FnOnce(&mut Observed)) -> Observed {
    let mut observed = observed(3);
    change(&mut observed);
    observed
}

/// One of several later decisions: what is wrong is so for longer than a moment.
fn later(mut observed: Observed) -> Observed {
    observed.now = start() + std::time::Duration::from_secs(300);
    observed
}

#[test]
fn machines_are_counted_by_their_conditions() {
    let observed = changed(|observed| {
        observed.at("a").set(types::READY, Status::False);
        observed.at("b").set(types::AVAILABLE, Status::Unknown);
        observed.at("c").machine.spec.version = Some(NEW.to_owned());
    });
    let status = status(&observed);
    let counts = [status.replicas, status.ready_replicas, status.available_replicas, status.up_to_date_replicas];
    assert_eq!(counts, [Some(3), Some(2), Some(2), Some(2)]);
    let selector = "cluster.x-k8s.io/cluster-name=c1,cluster.x-k8s.io/control-plane";
    assert_eq!(status.selector.as_deref(), Some(selector));
}

#[test]
fn versions_are_what_kubelets_report_lowest_first() {
    let observed = changed(|observed| {
        observed.at("a").machine.spec.version = Some(NEW.to_owned());
        observed.at("b").machine.spec.version = Some(NEW.to_owned());
        observed.at("b").machine.status.node_info = None;
    });
    let status = status(&observed);
    let versions: Vec<_> = status.versions.iter().map(|entry| (entry.version.as_str(), entry.replicas)).collect();
    assert_eq!(versions, [(OLD, Some(2)), (NEW, Some(1))]);
    assert_eq!(status.version.as_deref(), Some(OLD));
}

#[test]
fn an_outdated_machine_says_how_and_the_control_plane_sums_it_up() {
    let mut upgrading = world(3, 0, &[("refit.dev/in-place", "Require")]);
    upgrading.default_answer = Answer::Uncovered;
    upgrading.upgrade();
    upgrading.settle();
    let observed = upgrading.observe();
    let up_to_date = conditions::get(&observed.machines["a"].machine.status.conditions, types::UP_TO_DATE).unwrap();
    assert_eq!(up_to_date.message, "* Version v1.32.0, v1.33.0 required\n* DevMachine is not up-to-date");
    let own = &observed.control_plane.status.conditions;
    let text = |type_: &str| conditions::get(own, type_).map(|condition| condition.message.clone()).unwrap();
    assert_eq!(
        text(types::ROLLING_OUT),
        "Rolling out 3 not up-to-date replicas\n* Version v1.32.0, v1.33.0 required\n* DevMachine is not up-to-date"
    );
    assert!(text(types::MACHINES_UP_TO_DATE).starts_with("* Machines a, b, c:"));
    assert!(conditions::is_true(own, ROLLOUT_BLOCKED));
    assert_eq!(text(ROLLOUT_BLOCKED), "no extension covers spec.memory");
}

#[test]
fn scaling_says_what_it_waits_for() {
    let more = |change: fn(&mut Observed)| {
        changed(|observed| {
            observed.control_plane.spec.replicas = Some(5);
            change(observed);
        })
    };
    // Written metadata is read again before machines come; a synced world is at that point.
    let synced = |mut observed: Observed| {
        let world = world(3, 0, &[]).observe();
        for (name, machine) in &mut observed.machines {
            machine.infrastructure = world.machines[name].infrastructure.clone();
            machine.kubeadm_config = world.machines[name].kubeadm_config.clone();
            machine.machine.metadata = world.machines[name].machine.metadata.clone();
            machine.machine.spec = world.machines[name].machine.spec.clone();
        }
        observed
    };
    assert_eq!(condition(&synced(more(|_| ())), types::SCALING_UP), "True ScalingUp: Scaling up from 3 to 5 replicas");
    let sick = synced(more(|observed| observed.at("b").set(types::ETCD_MEMBER_HEALTHY, Status::False)));
    assert_eq!(
        condition(&sick, types::SCALING_UP),
        "True ScalingUp: Scaling up from 3 to 5 replicas is blocked because:\n\
         * waiting for etcd cluster to become healthy"
    );
    let missing = synced(more(|observed| observed.infrastructure_template = None));
    assert_eq!(
        condition(&missing, types::SCALING_UP),
        "True ScalingUp: Scaling up from 3 to 5 replicas is blocked because:\n* DevMachineTemplate does not exist"
    );
    let fewer = synced(changed(|observed| observed.control_plane.spec.replicas = Some(1)));
    assert_eq!(condition(&fewer, types::SCALING_DOWN), "True ScalingDown: Scaling down from 3 to 1 replicas");
    assert_eq!(condition(&fewer, types::SCALING_UP), "False NotScalingUp: ");
}

#[test]
fn a_deletion_that_takes_long_is_told() {
    let deleting = changed(|observed| {
        observed.control_plane.spec.replicas = Some(1);
        let long_ago = start() - std::time::Duration::from_secs(16 * 60);
        observed.at("b").machine.metadata.deletion_timestamp = Some(Time(long_ago));
    });
    assert_eq!(
        condition(&deleting, types::SCALING_DOWN),
        "True ScalingDown: Scaling down from 3 to 1 replicas is blocked because:\n\
         * Machine b is in deletion since more than 15m"
    );
}

#[test]
fn available_needs_one_machine_certificates_and_a_quorum() {
    let check = |change: fn(&mut Observed), expected: &str| {
        assert_eq!(condition(&later(changed(change)), types::AVAILABLE), expected);
    };
    check(|_| (), "True Available: ");
    check(
        |observed| observed.at("a").set(types::ETCD_MEMBER_HEALTHY, Status::False),
        "True Available: * 2 of 3 etcd members are healthy, at least 2 healthy member required for etcd quorum\n\
         * 2 of 3 Machines have healthy control plane components, at least 1 required",
    );
    check(
        |observed| ["a", "b"].iter().for_each(|name| observed.at(name).set(types::ETCD_MEMBER_HEALTHY, Status::False)),
        "False NotAvailable: * 1 of 3 etcd members is healthy, at least 2 healthy member required for etcd quorum",
    );
    check(
        |observed| {
            conditions::remove(&mut observed.control_plane.status.conditions, types::CERTIFICATES_AVAILABLE);
            ["a", "b", "c"].iter().for_each(|name| observed.at(name).set(types::API_SERVER_POD_HEALTHY, Status::False));
        },
        "False NotAvailable: * Control plane certificates are not available\n\
         * There are no Machines with healthy control plane components, at least 1 required",
    );
    check(
        |observed| observed.etcd = EtcdMembers::Known(vec![member("a"), member("b"), member("x")]),
        "False NotAvailable: The list of etcd members does not match the list of Machines and Nodes",
    );
    check(
        |observed| {
            observed.control_plane.status.initialization.control_plane_initialized = None;
            observed.has_kubeadm_config = false;
        },
        "False NotAvailable: Control plane not yet initialized",
    );
}

#[test]
fn etcd_has_two_minutes_to_say_who_its_members_are() {
    let silent = |seconds: u64| {
        let mut observed = changed(|observed| {
            observed.etcd = EtcdMembers::Unknown { why: "timeout".to_owned() };
            let own = &mut observed.control_plane.status.conditions;
            super::super::fixtures::set(own, types::INITIALIZED, Status::True);
        });
        observed.now = start() + std::time::Duration::from_secs(seconds);
        condition(&observed, types::AVAILABLE)
    };
    assert_eq!(silent(119), "False NotAvailable: Waiting for etcd to report the list of members");
    assert_eq!(silent(121), "Unknown InspectionFailed: Failed to get etcd members");
}

#[test]
fn a_moment_of_trouble_is_not_told_while_the_whole_is_available() {
    let mut observed = changed(|observed| observed.at("a").set(types::SCHEDULER_POD_HEALTHY, Status::False));
    observed.now = start() + std::time::Duration::from_secs(10);
    assert_eq!(condition(&observed, types::AVAILABLE), "True Available: ");
}

#[test]
fn health_is_summed_up_by_what_machines_say() {
    let check = |type_: &str, change: fn(&mut Observed), expected: &str| {
        assert_eq!(condition(&changed(change), type_), expected);
    };
    let (etcd, components) = (types::ETCD_CLUSTER_HEALTHY, types::CONTROL_PLANE_COMPONENTS_HEALTHY);
    check(etcd, |_| (), "True Healthy: ");
    check(
        etcd,
        |observed| {
            observed.at("b").set(types::ETCD_MEMBER_HEALTHY, Status::False);
            observed.etcd = EtcdMembers::Known(["a", "b", "c", "x"].map(member).into());
        },
        "False NotHealthy: * Machine b:\n  * EtcdMemberHealthy: condition is False\n\
         * Etcd member x does not have a corresponding Machine",
    );
    check(
        components,
        |observed| {
            ["a", "c"].iter().for_each(|name| observed.at(name).set(types::SCHEDULER_POD_HEALTHY, Status::Unknown));
        },
        "Unknown HealthUnknown: * Machines a, c:\n  * Control plane components: ",
    );
    check(
        components,
        |observed| observed.nodes_without_machine = vec!["stray".to_owned()],
        "False NotHealthy: * Control plane Node stray does not have a corresponding Machine",
    );
    check(
        components,
        |observed| observed.cluster.status.initialization.infrastructure_provisioned = None,
        "Unknown InspectionFailed: Waiting for Cluster status.infrastructureReady to be true",
    );
}

#[test]
fn a_paused_control_plane_is_left_alone_and_says_so() {
    let paused = changed(|observed| {
        observed.annotate(PAUSED, "");
        observed.control_plane.spec.version = NEW.to_owned();
    });
    assert_eq!(decide(&paused).steps, []);
    assert_eq!(
        condition(&paused, types::PAUSED),
        "True Paused: KubeadmControlPlane has the cluster.x-k8s.io/paused annotation"
    );
}

#[test]
fn the_start_of_the_cluster_is_remembered_but_not_that_of_a_machine_on_its_way_out() {
    let check = |change: fn(&mut Observed), expected: Option<bool>| {
        let mut observed = observed(1);
        observed.control_plane.status.initialization.control_plane_initialized = None;
        change(&mut observed);
        assert_eq!(status(&observed).initialization.control_plane_initialized, expected);
    };
    check(|_| (), Some(true));
    check(|observed| observed.has_kubeadm_config = false, None);
    check(|observed| observed.at("a").machine.metadata.deletion_timestamp = Some(Time(start())), None);
}

#[test]
fn a_control_plane_that_is_not_well_is_looked_at_again() {
    let seconds = |observed: &Observed| decide(observed).requeue_after.map(|delay| delay.as_secs());
    let settled = world(3, 0, &[]).observe();
    assert_eq!(seconds(&settled), None);
    let mut sick = settled.clone();
    sick.at("a").set(types::API_SERVER_POD_HEALTHY, Status::False);
    assert_eq!(seconds(&sick), Some(20));
    sick.control_plane.spec.replicas = Some(5);
    assert_eq!(seconds(&sick), Some(15));
}

#[test]
fn the_generation_is_observed_by_who_did_everything() {
    let mut observed = world(3, 0, &[]).observe();
    observed.control_plane.metadata.generation = Some(7);
    assert_eq!(status(&observed).observed_generation, Some(7));
    observed.control_plane.spec.replicas = Some(5);
    assert_ne!(status(&observed).observed_generation, Some(7), "a machine is made first");
}

#[test]
fn a_patch_has_what_changed_and_nothing_else() {
    let before = json!({ "a": 1, "b": { "c": 2, "d": 3 }, "e": [1] });
    assert_eq!(difference(&before, &before), None);
    let after = json!({ "a": 1, "b": { "c": 4 }, "e": [1, 2], "f": 5 });
    assert_eq!(difference(&before, &after), Some(json!({ "b": { "c": 4, "d": null }, "e": [1, 2], "f": 5 })));
}
