//! Who is asked to replace or repair a Machine.

use serde_json::json;

use super::world::*;
use crate::effect::Effect;
use crate::machine_health_check::*;

#[test]
fn an_owner_at_work_is_not_asked_again() {
    let asked = |status: &str| {
        let seen = with_condition(not_ready("a"), "OwnerRemediated", status, LONG_AGO);
        let mut observed = observed(vec![seen]);
        settle(&mut observed);
        remediation(&observed, 0)
    };
    assert_eq!(asked("False"), "False Why");
    assert_eq!(asked("True"), "False WaitingForRemediation: Waiting for remediation");
}

#[test]
fn nobody_is_asked_to_replace_what_is_going() {
    let mut seen = not_ready("a");
    seen.machine.metadata.deletion_timestamp = Some(decode(json!(LONG_AGO)));
    let mut observed = observed(vec![seen]);
    settle(&mut observed);
    assert!(health(&observed, 0).starts_with("False UnhealthyNode"));
    assert_eq!(remediation(&observed, 0), "missing");
}

fn externally(observed: &Observed, machine: usize) -> String {
    said(&observed.machines[machine].machine.status.conditions, "ExternallyRemediated")
}

#[test]
fn somebody_else_is_asked_by_a_request_from_the_template() {
    let mut observed = external(vec![not_ready("a")]);
    assert_eq!(settle(&mut observed), ["MachineMarkedUnhealthy"]);
    let RequestSeen::Found(request) = &observed.machines[0].request else { panic!("there is a request") };
    assert_eq!((&request["kind"], &request["apiVersion"]), (&json!("Fix"), &json!("fix.io/v1")));
    assert_eq!(request["spec"], json!({ "reboot": true }));
    assert_eq!(request["metadata"]["ownerReferences"][0]["uid"], "a");
    assert_eq!(request["metadata"]["annotations"]["cluster.x-k8s.io/cloned-from-groupkind"], "FixTemplate.fix.io");
    assert_eq!(externally(&observed, 0), "False WaitingForRemediation");
    assert_eq!(remediation(&observed, 0), "missing");
}

#[test]
fn a_request_that_exists_does_not_keep_the_next_machine_from_its_own() {
    let asked = MachineSeen { request: RequestSeen::Found(json!({ "metadata": { "name": "a" } })), ..not_ready("a") };
    let mut observed = external(vec![asked, not_ready("b"), healthy("c")]);
    settle(&mut observed);
    assert!(matches!(observed.machines[1].request, RequestSeen::Found(_)));
    assert_eq!(externally(&observed, 0), "False WaitingForRemediation");
    assert_eq!(externally(&observed, 1), "False WaitingForRemediation");
    assert_eq!(
        health(&observed, 2),
        "True HealthCheckSucceeded",
        "a healthy machine without a request is told of, too"
    );
}

#[test]
fn a_machine_that_is_healthy_again_needs_no_request() {
    let request = RequestSeen::Found(
        json!({ "apiVersion": "fix.io/v1", "kind": "Fix", "metadata": { "name": "a", "uid": "r" } }),
    );
    let mut observed = external(vec![MachineSeen { request, ..healthy("a") }]);
    settle(&mut observed);
    assert_eq!(observed.machines[0].request, RequestSeen::Missing);
    assert_eq!(health(&observed, 0), "True HealthCheckSucceeded");
}

#[test]
fn a_template_that_is_missing_is_told_on_every_machine() {
    let mut observed = external(vec![not_ready("a"), not_ready("b")]);
    observed.template = TemplateSeen::Unusable { why: "not found".to_owned() };
    settle(&mut observed);
    for machine in 0..2 {
        let expected = "False RemediationTemplateNotFound: Error retrieving remediation template FixTemplate ns/t";
        assert_eq!(externally(&observed, machine), expected);
    }
    observed.template = external(Vec::new()).template;
    settle(&mut observed);
    assert_eq!(externally(&observed, 0), "False WaitingForRemediation");
}

#[test]
fn a_refused_request_is_tried_again_after_everything_else() {
    let refused = MachineSeen { request: RequestSeen::Refused { why: "quota".to_owned() }, ..not_ready("a") };
    let observed = external(vec![refused, not_ready("b")]);
    let decision = decide(&observed);
    let applied: Vec<&str> = decision
        .plan
        .effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Apply(apply) => Some(apply.target.name.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(applied, ["b", "a"]);
    assert!(matches!(decision.plan.effects.last(), Some(Effect::Apply(_))));
    assert!(matches!(decision.problems[..], [Problem::Request { .. }]));
    let mut refused = observed;
    settle(&mut refused);
    let RequestSeen::Found(_) = refused.machines[0].request else { panic!("it was accepted in the end") };
    assert_eq!(externally(&refused, 0), "False WaitingForRemediation");
}
