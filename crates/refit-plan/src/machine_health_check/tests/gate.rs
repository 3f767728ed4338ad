//! Whether so few Machines are unhealthy that replacing them is the answer.

use serde_json::{Value, json};

use super::world::*;
use crate::machine_health_check::*;

/// One unhealthy Machine of three, with one that starts, under a limit.
fn gate(trigger: Value) -> Observed {
    let starting = MachineSeen { node: node("Unknown", A_MINUTE_AGO), ..healthy("c") };
    let mut observed = observed(vec![not_ready("a"), healthy("b"), starting]);
    observed.check.spec.remediation.trigger_if = decode(trigger);
    observed
}

#[test]
fn remediation_needs_few_enough_unhealthy_machines() {
    let check = |trigger: Value, remaining: Option<i32>, message: &str| {
        let mut observed = gate(trigger);
        let told = settle(&mut observed);
        let is_allowed = message.is_empty();
        assert!(health(&observed, 0).starts_with("False UnhealthyNode"));
        assert_eq!(health(&observed, 1), "True HealthCheckSucceeded");
        assert_eq!(observed.check.status.remediations_allowed, remaining);
        let expected = if is_allowed { "False WaitingForRemediation: Waiting for remediation" } else { "missing" };
        assert_eq!(remediation(&observed, 0), expected);
        assert_eq!(told, [if is_allowed { "MachineMarkedUnhealthy" } else { "RemediationRestricted" }]);
        let condition = said(&observed.check.status.conditions, "RemediationAllowed");
        assert!(condition.ends_with(message), "{condition}");
    };
    check(json!({}), Some(1), "");
    check(json!({ "unhealthyLessThanOrEqualTo": 2 }), Some(0), "");
    check(json!({ "unhealthyInRange": "[1-4]" }), Some(2), "");
    check(json!({ "unhealthyInRange": "[2-2]", "unhealthyLessThanOrEqualTo": 0 }), Some(0), "");
    check(json!({ "unhealthyLessThanOrEqualTo": 1 }), Some(0), "(total: 3, unhealthy: 1, maxUnhealthy: 1)");
    check(json!({ "unhealthyLessThanOrEqualTo": "66%" }), Some(0), "(total: 3, unhealthy: 1, maxUnhealthy: 66%)");
    check(json!({ "unhealthyInRange": "[3-5]" }), Some(0), "(total: 3, unhealthy: 1, unhealthyRange: [3-5])");
    check(json!({ "unhealthyInRange": "[0-1]" }), Some(0), "(total: 3, unhealthy: 1, unhealthyRange: [0-1])");
}

#[test]
fn a_limit_that_makes_no_sense_allows_nothing() {
    for trigger in [
        json!({ "unhealthyInRange": "[5-1]" }),
        json!({ "unhealthyInRange": "1-5" }),
        json!({ "unhealthyLessThanOrEqualTo": "x" }),
    ] {
        let decision = decide(&gate(trigger));
        assert!(matches!(decision.problems[..], [Problem::Limit(_)]));
        assert_eq!(decision.status.expected_machines, Some(3));
        assert_eq!(decision.status.observed_generation, None);
    }
}

#[test]
fn nothing_is_told_of_a_closed_gate_while_nobody_is_unhealthy() {
    let starting = MachineSeen { node: node("Unknown", A_MINUTE_AGO), ..healthy("c") };
    let mut observed = observed(vec![starting]);
    observed.check.spec.remediation.trigger_if.unhealthy_less_than_or_equal_to = Some(decode(json!(0)));
    assert_eq!(settle(&mut observed), Vec::<&str>::new());
    assert!(said(&observed.check.status.conditions, "RemediationAllowed").starts_with("False TooManyUnhealthy"));
}
