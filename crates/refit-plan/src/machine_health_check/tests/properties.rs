//! What holds of every set of Machines.

use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use refit_api::conditions::get;
use serde_json::json;

use super::world::*;
use crate::machine::{NodeSeen, UpdateLimits};
use crate::machine_health_check::*;

const ANNOTATIONS: [&str; 5] = [
    UPDATING,
    "refit.dev/update-failed",
    "cluster.x-k8s.io/remediate-machine",
    "cluster.x-k8s.io/skip-remediation",
    "refit.dev/update-progress",
];

fn node_seen() -> impl Strategy<Value = NodeSeen> {
    select(vec![
        node("True", LONG_AGO),
        node("Unknown", LONG_AGO),
        node("Unknown", A_MINUTE_AGO),
        NodeSeen::Found(Box::default()),
        NodeSeen::Missing,
        NodeSeen::NotLookedFor,
    ])
}

fn machines() -> impl Strategy<Value = Vec<MachineSeen>> {
    let conditions = subsequence(vec![("Bad", "True"), ("Updating", "True"), ("OwnerRemediated", "False")], 0..=3);
    let annotations = subsequence(ANNOTATIONS.to_vec(), 0..=2);
    let machine = (node_seen(), annotations, conditions, prop::option::of(select(vec![0, 30, u64::MAX])));
    prop::collection::vec(machine, 0..6).prop_map(|machines| {
        let machines = machines.into_iter().enumerate();
        let seen = machines.map(|(index, (node, annotations, conditions, timeout))| {
            let update_limits = UpdateLimits { retries: None, timeout: timeout.map(std::time::Duration::from_secs) };
            let mut seen = MachineSeen { node, update_limits, ..healthy(&format!("m{index}")) };
            for key in annotations {
                seen = annotated(seen, key, "");
            }
            for (type_, status) in conditions {
                seen = with_condition(seen, type_, status, A_MINUTE_AGO);
            }
            seen
        });
        seen.collect()
    })
}

fn trigger() -> impl Strategy<Value = serde_json::Value> {
    select(vec![
        json!({}),
        json!({ "unhealthyLessThanOrEqualTo": 1 }),
        json!({ "unhealthyLessThanOrEqualTo": "40%" }),
        json!({ "unhealthyLessThanOrEqualTo": -1 }),
        json!({ "unhealthyInRange": "[1-2]" }),
        json!({ "unhealthyInRange": "[2-1]" }),
        json!({ "unhealthyInRange": "[0-99999999999]" }),
    ])
}

proptest! {
    #[test]
    fn every_world_comes_to_rest_and_no_gate_is_passed(machines in machines(), trigger in trigger()) {
        let mut observed = observed(machines);
        observed.check.spec.remediation.trigger_if = decode(trigger);
        let before = observed.clone();
        settle(&mut observed);
        let allowed = said(&observed.check.status.conditions, "RemediationAllowed").starts_with("True");
        for (before, after) in before.machines.iter().zip(&observed.machines) {
            let asked = |seen: &MachineSeen| get(&seen.machine.status.conditions, "OwnerRemediated").is_some();
            prop_assert!(allowed || asked(before) || !asked(after), "{} was marked at a closed gate", before.name());
            let skipped = before.machine.metadata.annotations.as_ref().unwrap().contains_key(ANNOTATIONS[3]);
            prop_assert!(!skipped || before.machine == after.machine, "{} was to be left alone", before.name());
        }
    }

    #[test]
    fn what_one_machine_needs_does_not_depend_on_the_order(mut machines in machines()) {
        let mut observed_once = observed(machines.clone());
        settle(&mut observed_once);
        machines.reverse();
        let mut observed_again = observed(machines);
        settle(&mut observed_again);
        observed_again.machines.reverse();
        for (once, again) in observed_once.machines.iter().zip(&observed_again.machines) {
            prop_assert_eq!(&once.machine, &again.machine);
        }
        prop_assert_eq!(observed_once.check.status, observed_again.check.status);
    }
}
