//! Which unhealthy Machine is replaced, and whether it may be.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use refit_api::conditions::Status;
use refit_api::vocabulary::annotations::{REMEDIATE_MACHINE, REMEDIATION_FOR, REMEDIATION_IN_PROGRESS};
use refit_api::vocabulary::condition_types as types;

use crate::control_plane::decision::{Decision, Told};
use crate::control_plane::observed::{EtcdMembers, Observed};
use crate::control_plane::remediation;
use crate::control_plane::tests::fixtures::{observed, start};
use crate::control_plane::view::View;
use crate::control_plane::{Step, decide};
use crate::effect::Effect;

/// Three machines, of which these are unhealthy.
fn unhealthy(names: &[&str]) -> Observed {
    let mut observed = observed(3);
    for name in names {
        observed.at(name).set(types::HEALTH_CHECK_SUCCEEDED, Status::False);
        observed.at(name).set(types::OWNER_REMEDIATED, Status::False);
    }
    observed
}

fn decision(observed: &Observed) -> Decision {
    let mut decision = Decision::default();
    remediation::decide(&View::of(observed, observed), &mut decision);
    decision
}

fn deleted(observed: &Observed) -> Option<String> {
    decision(observed).steps.into_iter().find_map(|step| match step {
        Step::Write(Effect::Delete(delete)) => Some(delete.target.name),
        _ => None,
    })
}

/// What is told of machine `b`.
fn told(observed: &Observed) -> String {
    let told = decision(observed).told.into_iter().find(|(name, _)| name == "b");
    match told.map(|(_, told)| told) {
        Some(Told::Set(condition)) => condition.to_string().replace("OwnerRemediated=False ", ""),
        Some(Told::Removed(type_)) => format!("without {type_}"),
        None => String::new(),
    }
}

#[test]
fn the_most_broken_machine_goes_first() {
    let mut observed = unhealthy(&["a", "b", "c"]);
    // From the weakest reason to the strongest: each beats all before it.
    observed.at("b").set(types::NODE_KUBEADM_LABELS_AND_TAINTS_SET, Status::True);
    observed.at("c").set(types::NODE_KUBEADM_LABELS_AND_TAINTS_SET, Status::True);
    let broken = |observed: &Observed| remediation_choice(observed);
    assert_eq!(broken(&observed), "a");
    let order = [
        types::SCHEDULER_POD_HEALTHY,
        types::CONTROLLER_MANAGER_POD_HEALTHY,
        types::API_SERVER_POD_HEALTHY,
        types::ETCD_POD_HEALTHY,
        types::ETCD_MEMBER_HEALTHY,
    ];
    for (condition, name) in order.into_iter().zip(["b", "c"].into_iter().cycle()) {
        observed.at(name).set(condition, Status::Unknown);
        assert_eq!(broken(&observed), name, "{condition}");
    }
    observed.at("a").machine.status.node_ref = None;
    assert_eq!(broken(&observed), "a");
    observed.at("c").annotate(REMEDIATE_MACHINE, "");
    assert_eq!(broken(&observed), "c");
}

/// The machine that something is told of, or that goes.
fn remediation_choice(observed: &Observed) -> String {
    let decision = decision(observed);
    decision.told.first().map(|(name, _)| name.clone()).expect("one must be chosen")
}

#[test]
fn an_unhealthy_machine_is_recorded_and_then_deleted() {
    let observed = unhealthy(&["b"]);
    let decision = decision(&observed);
    assert_eq!(decision.steps.len(), 2);
    let Step::Write(Effect::Patch(record)) = &decision.steps[0] else { panic!("the record comes first") };
    let text = &record.merge["metadata"]["annotations"][REMEDIATION_IN_PROGRESS];
    assert_eq!(text, r#"{"machine":"b","timestamp":"2026-01-01T00:00:00Z","retryCount":0}"#);
    assert_eq!(told(&observed), "MachineDeleting: Machine is deleting");
    let healthy = unhealthy(&[]);
    assert_eq!(deleted(&healthy), None);
}

#[test]
fn a_replacement_that_was_cut_short_goes_on_and_others_wait_for_it() {
    let record =
        |machine: &str| format!(r#"{{"machine":"{machine}","timestamp":"2026-01-01T00:00:00Z","retryCount":3}}"#);
    let mut observed = unhealthy(&["b"]);
    observed.annotate(REMEDIATION_IN_PROGRESS, &record("b"));
    assert_eq!(deleted(&observed).as_deref(), Some("b"));
    observed.annotate(REMEDIATION_IN_PROGRESS, &record("z"));
    assert_eq!(deleted(&observed), None);
    observed.at("c").machine.metadata.creation_timestamp = Some(Time(start() + std::time::Duration::from_secs(1)));
    assert_eq!(deleted(&observed).as_deref(), Some("b"), "the successor is there");
}

#[test]
fn a_machine_that_is_healthy_again_is_not_to_be_replaced() {
    let mut observed = unhealthy(&["b"]);
    observed.at("b").set(types::HEALTH_CHECK_SUCCEEDED, Status::True);
    assert_eq!(told(&observed), "without OwnerRemediated");
    assert_eq!(deleted(&observed), None);
}

#[test]
fn retries_are_limited() {
    let check = |seconds_ago: i64, count: i32, limits: [Option<i32>; 3], expected: &str| {
        let mut observed = unhealthy(&["b"]);
        let time = jiff::Timestamp::from_second(start().as_second() - seconds_ago).unwrap();
        let record = format!(r#"{{"machine":"z","timestamp":"{time}","retryCount":{count}}}"#);
        observed.at("b").annotate(REMEDIATION_FOR, &record);
        let spec = &mut observed.control_plane.spec.remediation;
        [spec.max_retry, spec.retry_period_seconds, spec.min_healthy_period_seconds] = limits;
        let decision = decision(&observed);
        let retry = decision.steps.iter().find_map(|step| match step {
            Step::Write(Effect::Patch(patch)) => {
                let text = patch.merge["metadata"]["annotations"][REMEDIATION_IN_PROGRESS].as_str()?.to_owned();
                Some(text.split_once("retryCount\":")?.1.trim_end_matches('}').to_owned())
            }
            _ => None,
        });
        assert_eq!(retry.unwrap_or_else(|| told(&observed)), expected);
    };
    check(60, 2, [None, None, None], "3");
    check(3600, 2, [None, None, None], "0");
    check(60, 2, [None, None, Some(60)], "0");
    check(60, 2, [Some(3), None, None], "3");
    check(
        60,
        3,
        [Some(3), None, None],
        "CannotBeRemediated: KubeadmControlPlane can't remediate this machine because the operation already failed 3 \
         times (MaxRetry)",
    );
    check(
        60,
        0,
        [None, Some(600), None],
        "RemediationDeferred: KubeadmControlPlane can't remediate this machine because the operation already failed in \
         the latest 10m0s (RetryPeriodSeconds)",
    );
}

#[test]
fn what_could_take_the_cluster_down_is_not_done() {
    let check = |change: &dyn Fn(&mut Observed), expected: &str| {
        let mut observed = unhealthy(&["b"]);
        change(&mut observed);
        assert_eq!(told(&observed), expected);
        assert_eq!(deleted(&observed), None);
    };
    let lost = "CannotBeRemediated: KubeadmControlPlane can't remediate this Machine because this could result in \
                loosing Kubernetes control plane components or in etcd quorum loss";
    check(&|observed| observed.at("c").set(types::ETCD_MEMBER_HEALTHY, Status::False), lost);
    let sick = |observed: &mut Observed| {
        ["a", "c"].iter().for_each(|name| observed.at(name).set(types::API_SERVER_POD_HEALTHY, Status::False));
    };
    check(&sick, lost);
    check(
        &|observed| observed.machines.retain(|name, _| name == "b"),
        "CannotBeRemediated: KubeadmControlPlane can't remediate if current replicas are less or equal to 1",
    );
    check(
        &|observed| observed.at("c").machine.status.node_ref = None,
        "RemediationDeferred: KubeadmControlPlane waiting for control plane Machine provisioning to complete before \
         triggering remediation",
    );
    check(
        &|observed| observed.at("c").machine.metadata.deletion_timestamp = Some(Time(start())),
        "RemediationDeferred: KubeadmControlPlane waiting for control plane Machine deletion to complete before \
         triggering remediation",
    );
    check(
        &|observed| observed.etcd = EtcdMembers::Unknown { why: "timeout".to_owned() },
        "RemediationDeferred: Failed to check etcd cluster health before remediation",
    );
}

#[test]
fn before_the_cluster_has_started_only_retries_are_limited() {
    let mut observed = unhealthy(&["b"]);
    observed.machines.retain(|name, _| name == "b");
    observed.control_plane.status.initialization.control_plane_initialized = None;
    assert_eq!(deleted(&observed).as_deref(), Some("b"));
}

#[test]
fn leadership_moves_away_first() {
    let observed = unhealthy(&["a"]);
    let steps = decision(&observed).steps;
    let expected =
        Step::ForwardEtcdLeadership { from: "a".to_owned(), candidates: vec!["c".to_owned(), "b".to_owned()] };
    assert_eq!(steps[0], expected, "the youngest is asked first");
}

#[test]
fn a_replacement_comes_before_a_rollout() {
    let mut observed = unhealthy(&["c"]);
    observed.control_plane.spec.version = "v1.33.0".to_owned();
    let deletes = |step: &Step| matches!(step, Step::Write(Effect::Delete(delete)) if delete.target.name == "c");
    assert!(decide(&observed).steps.iter().any(deletes));
}
