//! What a kubelet says of a control plane, by the failures of its host.

use super::*;
use crate::kinds::SimStaticPodFailure;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_000_000 + seconds).expect("a small number must be a timestamp")
}

fn host() -> SimHost {
    SimHost {
        id: "host-1".to_owned(),
        boot_count: 2,
        start_time: Some(Time(at(0))),
        kubernetes_version: Some("v1.31.2".to_owned()),
        ..SimHost::default()
    }
}

fn failing(failure: SimPodFailureType, seconds: Option<i32>) -> SimFailures {
    let static_pods = vec![SimStaticPodFailure { component: SimComponent::Etcd, failure, seconds }];
    SimFailures { static_pods, ..SimFailures::default() }
}

#[test]
fn pods_and_member_are_as_the_failures_say() {
    use MemberState::{Down, Missing, Unreachable, Up};
    use StaticPodState as Pod;
    let late = failing(SimPodFailureType::Late, Some(5));
    let fails = failing(SimPodFailureType::Fails, None);
    let member = |failure| SimFailures { etcd_member: Some(failure), ..SimFailures::default() };
    let dead = SimFailures { dead: Some(true), ..fails.clone() };
    let cases = [
        (SimFailures::default(), 0, Pod::Ready, Up(None)),
        (late.clone(), 4, Pod::Missing, Down),
        (late, 5, Pod::Ready, Up(None)),
        (fails, 1000, Pod::Failing, Down),
        (member(SimEtcdMemberFailure::Missing), 0, Pod::Ready, Missing),
        (member(SimEtcdMemberFailure::NoSpace), 0, Pod::Ready, Up(Some(SimEtcdAlarm::NoSpace))),
        (dead, 0, Pod::Unreachable, Unreachable),
    ];
    for (failures, second, pod, member) in cases {
        let report = ControlPlaneReport::of("a", &host(), &failures, at(second));
        assert_eq!((report.pods[0].state, report.member.state), (pod, member), "{failures:?}");
        let others = if failures.is_dead() { Pod::Unreachable } else { Pod::Ready };
        assert!(report.pods[1..].iter().all(|pod| pod.state == others));
    }
}

#[test]
fn a_failure_that_ends_is_looked_at_then() {
    let late = failing(SimPodFailureType::Late, Some(5));
    assert_eq!(ControlPlaneReport::next_change(&host(), &late, at(1)), Some(at(5)));
    assert_eq!(ControlPlaneReport::next_change(&host(), &late, at(5)), None);
    let endless = failing(SimPodFailureType::Fails, None);
    assert_eq!(ControlPlaneReport::next_change(&host(), &endless, at(1)), None);
}

#[test]
fn a_status_that_is_written_is_not_written_again() {
    for failures in [SimFailures::default(), failing(SimPodFailureType::Fails, None)] {
        let wanted = &ControlPlaneReport::of("a", &host(), &failures, at(0)).pods[0];
        let mut pod = wanted.pod(&Node::default());
        pod.status = wanted.status(&pod, at(0));
        assert!(pod.status.is_some());
        assert_eq!(wanted.status(&pod, at(9)), None);
        let dead = SimFailures { dead: Some(true), ..failures };
        let unreachable = &ControlPlaneReport::of("a", &host(), &dead, at(0)).pods[0];
        let is_ready =
            pod.status.as_ref().is_some_and(|status| status.container_statuses.iter().flatten().all(|it| it.ready));
        assert_eq!(unreachable.status(&pod, at(9)).is_some(), is_ready, "who was ready is not ready any more");
    }
}
