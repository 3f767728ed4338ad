use serde_json::{Value, json};

use super::*;

const API_VERSION: &str = "hooks.runtime.cluster.x-k8s.io/v1alpha1";

fn handler(name: &str, changes: Value) -> Value {
    let mut handler = json!({ "name": name, "requestHook": { "apiVersion": API_VERSION, "hook": "UpdateMachine" } });
    for (key, value) in changes.as_object().expect("changes must be an object") {
        handler[key] = value.clone();
    }
    handler
}

fn hook(api_version: &str, hook: &str) -> Value {
    json!({ "requestHook": { "apiVersion": api_version, "hook": hook } })
}

fn discover(response: Value) -> Result<Vec<DiscoveredHandler>, String> {
    let response: DiscoveryResponse = serde_json::from_value(response).expect("the response must decode");
    discovered_handlers(&response, "ext").map_err(|error| {
        let cause = std::error::Error::source(&error).expect("the error must have a cause");
        format!("{error}: {cause}")
    })
}

fn check(handlers: &[Value], expected: &str) {
    let found =
        discover(json!({ "status": "Success", "handlers": handlers })).expect_err("the handlers must be refused");
    assert_eq!(
        found,
        format!(r#"failed to discover extension "ext": failed to validate discovery response: {expected}"#)
    );
}

#[test]
fn only_success_is_looked_at() {
    let check = |response: Value, expected: &str| {
        assert_eq!(discover(response), Err(format!(r#"failed to discover extension "ext": {expected}"#)));
    };
    check(json!({ "status": "Failure", "message": "no" }), "got failure response with message: no");
    check(json!({ "status": "Bad", "message": "m" }), r#"got unknown response status "Bad" with message: m"#);
    check(json!({ "handlers": [{}] }), r#"got unknown response status "" with message: "#);
}

#[test]
fn unset_timeout_and_policy_are_defaulted() {
    let found = discover(json!({ "status": "Success", "handlers": [
        handler("b", json!({})),
        handler("a", json!({ "timeoutSeconds": 0, "failurePolicy": "Ignore" })),
        handler("c", json!({ "timeoutSeconds": 30, "failurePolicy": null })),
    ] }))
    .expect("the handlers must be good");
    let found: Vec<_> = found
        .iter()
        .map(|handler| {
            (handler.name.to_string(), handler.hook, handler.timeout_seconds, handler.failure_policy.as_str())
        })
        .collect();
    assert_eq!(
        found,
        [
            ("b.ext".to_owned(), Hook::UpdateMachine, Some(10), "Fail"),
            ("a.ext".to_owned(), Hook::UpdateMachine, None, "Ignore"),
            ("c.ext".to_owned(), Hook::UpdateMachine, Some(30), "Fail"),
        ]
    );
}

#[test]
fn every_hook_of_the_catalog_can_be_served() {
    let handlers: Vec<Value> = Hook::ALL
        .iter()
        .map(|served| handler(&served.name().to_lowercase(), hook(API_VERSION, served.name())))
        .collect();
    let found = discover(json!({ "status": "Success", "handlers": handlers })).expect("the handlers must be good");
    assert_eq!(found.iter().map(|handler| handler.hook).collect::<Vec<_>>(), Hook::ALL);
}

#[test]
fn names_are_unique_whatever_the_hook() {
    let other = hook(API_VERSION, "CanUpdateMachine");
    check(&[handler("a", json!({})), handler("a", other)], "duplicate name for handler a found");
}

#[test]
fn the_same_problem_is_told_once() {
    check(
        &[handler("a", json!({})), handler("a", json!({})), handler("a", json!({}))],
        "duplicate name for handler a found",
    );
}

#[test]
fn names_are_labels() {
    const RULE: &str =
        "must be at most 63 lowercase letters, digits or '-', starting and ending with a letter or digit";
    for name in ["", "A", "a.b", "-a", &"a".repeat(64)] {
        check(&[handler(name, json!({}))], &format!("handler name {name} is not valid: [{RULE}]"));
    }
}

#[test]
fn timeouts_are_between_0_and_30() {
    for seconds in [-1, 31] {
        let expected = format!("handler a timeoutSeconds {seconds} must be between 0 and 30");
        check(&[handler("a", json!({ "timeoutSeconds": seconds }))], &expected);
    }
}

#[test]
fn the_failure_policy_is_one_of_two() {
    for policy in ["", "fail", "Retry"] {
        let expected = format!(r#"handler a failurePolicy {policy} must equal "Ignore" or "Fail""#);
        check(&[handler("a", json!({ "failurePolicy": policy }))], &expected);
    }
}

#[test]
fn the_hook_is_in_the_catalog() {
    for (api_version, name) in
        [(API_VERSION, "updateMachine"), ("x.io/v1", "UpdateMachine"), ("v1alpha1", "X"), ("", "")]
    {
        let expected = format!("handler a requestHook {api_version}/{name} is not in the Runtime SDK catalog");
        check(&[handler("a", hook(api_version, name))], &expected);
    }
    check(
        &[handler("a", hook("a/b/c", "UpdateMachine"))],
        "handler a requestHook APIVersion a/b/c is not valid: unexpected GroupVersion string: a/b/c",
    );
}

#[test]
fn all_problems_are_told_at_once() {
    check(
        &[
            handler("a", json!({ "timeoutSeconds": 99, "failurePolicy": "X" })),
            handler("b", json!({})),
            handler("a", hook(API_VERSION, "Y")),
        ],
        concat!(
            "[handler a timeoutSeconds 99 must be between 0 and 30, ",
            r#"handler a failurePolicy X must equal "Ignore" or "Fail", "#,
            "duplicate name for handler a found, ",
            "handler a requestHook hooks.runtime.cluster.x-k8s.io/v1alpha1/Y is not in the Runtime SDK catalog]",
        ),
    );
}

#[test]
fn a_config_whose_name_has_a_dot_has_no_canonical_names() {
    let response = DiscoveryResponse::success(vec![ExtensionHandler::new(
        HandlerName::new("a").expect("the name must be valid"),
        Hook::UpdateMachine,
    )]);
    assert!(matches!(discovered_handlers(&response, "x.y"), Err(DiscoveryError::Name { .. })));
}
