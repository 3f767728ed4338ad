//! What makes no sense deletes nothing, and is told.

use super::*;

fn policies() -> [(InPlacePolicy, bool); 4] {
    [
        (InPlacePolicy::Prefer, false),
        (InPlacePolicy::Prefer, true),
        (InPlacePolicy::Require, true),
        (InPlacePolicy::Never, true),
    ]
}

/// Every plan of the setup, whatever the policy.
fn check(setup: &Setup, judge: impl Fn(&Plan)) {
    for (policy, keep) in policies() {
        let changed = |deployment: &mut DeploymentView| {
            (deployment.in_place, deployment.keep_originals) = (policy, keep);
        };
        judge(&plan(&setup.clone().with(changed).0));
    }
}

fn replicas(plan: &Plan) -> String {
    let mut all: Vec<String> = plan.machine_sets.iter().map(|set| format!("{} {}", set.name, set.replicas)).collect();
    all.sort();
    all.join(", ")
}

#[test]
fn negative_replicas_change_nothing_and_are_told() {
    let words = "spec.replicas is -1, so nothing is changed; set it to 0 or more";
    for setup in [rolling(-1, 1, 0), on_delete(-1), rolling(-1, 1, 0).with(|deployment| deployment.paused = true)] {
        let setup = setup.new_set("ms2 1/1").covered("ms1 2/2").machines("ms1", "m1 m2").machines("ms2", "m3");
        check(&setup, |plan| {
            assert_eq!(replicas(plan), "ms1 2, ms2 1");
            assert_eq!(plan.waiting_on.iter().map(ToString::to_string).collect::<Vec<_>>(), [words]);
        });
    }
    let without_new = rolling(i32::MIN, 1, 0).covered("ms1 2/2").machines("ms1", "m1 m2");
    check(&without_new, |plan| assert_eq!(replicas(plan), "ms1 2"));
}

#[test]
fn a_negative_number_on_a_machine_set_is_none() {
    let setup = rolling(2, 1, 0).new_set("ms2 2/2").covered("ms1 -5/-7").machines("ms2", "m1 m2");
    check(&setup, |plan| assert!(plan.machine_sets.iter().all(|set| set.replicas >= 0), "{plan:?}"));
}

#[test]
fn a_machine_of_nobody_counts_nowhere() {
    let setup = rolling(3, 1, 1).new_set("ms2 0/0").covered("ms1 3/3").machines("ms1", "m1 m2 m3");
    let stray = setup.clone().machines("ms9", "m9").machines("", "m10");
    for (policy, keep) in policies() {
        let changed = |deployment: &mut DeploymentView| {
            (deployment.in_place, deployment.keep_originals) = (policy, keep);
        };
        assert_eq!(plan(&stray.clone().with(changed).0), plan(&setup.clone().with(changed).0));
    }
}

#[test]
fn a_machine_that_is_listed_twice_costs_no_machine() {
    let setup = rolling(3, 1, 0).new_set("ms2 1/1").covered("ms1 2/2").machines("ms1", "m1 m2").machines("ms2", "m1");
    check(&setup, |plan| {
        let total: i32 = plan.machine_sets.iter().map(|set| set.replicas).sum();
        assert!((3..=4).contains(&total), "{plan:?}");
    });
}

#[test]
fn machines_never_move_in_a_circle() {
    let setup = rolling(3, 0, 1)
        .new_set("ms2 0/0")
        .handover("ms2", |handover| {
            (handover.move_to, handover.receive_from) = (Some("ms2".to_owned()), NameSet::parse("ms2"));
        })
        .covered("ms1 3/3")
        .machines("ms1", "m1 m2 m3")
        .handover("ms1", |handover| handover.move_to = Some("ms1".to_owned()));
    check(&setup, |plan| {
        for set in &plan.machine_sets {
            assert_ne!(set.handover.move_to.as_ref(), Some(&set.name));
            // One that receives from itself alone takes nothing any more, and counts what still arrives.
            let is_closed = set.handover.receive_from.contains(&set.name);
            assert!(!is_closed || set.handover.receive_from.len() == 1);
        }
    });
}

#[test]
fn limits_beyond_all_machines_are_all_and_negative_ones_are_refused() {
    use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
    use refit_api::cluster::MachineDeploymentRolloutStrategy;
    let resolve = |surge: &str, unavailable: &str| {
        let mut strategy = MachineDeploymentRolloutStrategy::default();
        strategy.rolling_update.max_surge = Some(IntOrString::String(surge.to_owned()));
        strategy.rolling_update.max_unavailable = Some(IntOrString::String(unavailable.to_owned()));
        Strategy::resolve(&strategy, 3).map_err(|error| error.to_string())
    };
    let all = Fenceposts { max_surge: 9, max_unavailable: 3 };
    assert_eq!(resolve("300%", "300%"), Ok(Strategy::RollingUpdate(all)));
    assert_eq!(resolve("-300%", "0%"), Err("maxSurge must not be negative, it resolves to -9".to_owned()));
    assert_eq!(resolve("0%", "-300%"), Err("maxUnavailable must not be negative, it resolves to -9".to_owned()));
    let huge = "9223372036854775807% of 3 does not fit into 32 bits";
    assert_eq!(resolve("9223372036854775807%", "0%"), Err(huge.to_owned()));
    let everything = Setup(rolling(3, 9, 3).0).new_set("ms2 0/0").uncovered("ms1 3/3").machines("ms1", "m1 m2 m3");
    everything.check("ms1 0, ms2 3");
}
