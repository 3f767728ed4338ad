use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use refit_api::hooks::{DiscoveredHandler, FailurePolicy, Hook};
use refit_api::runtime::ExtensionConfig;
use serde_json::{Value, json};

use super::*;

fn config(edit: impl FnOnce(&mut Value)) -> ExtensionConfig {
    let mut object = json!({
        "metadata": { "name": "ext", "generation": 3 },
        "spec": { "clientConfig": { "url": "https://ext", "caBundle": "b2xk" } },
    });
    edit(&mut object);
    serde_json::from_value(object).expect("the ExtensionConfig must decode")
}

fn annotated(key: &str, value: &str) -> ExtensionConfig {
    config(|object| object["metadata"]["annotations"] = json!({ key: value }))
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).expect("a small number must be a timestamp")
}

fn handler() -> DiscoveredHandler {
    let name = "update.ext".parse().expect("the name must parse");
    let (hook, failure_policy) = (Hook::UpdateMachine, FailurePolicy::Fail);
    DiscoveredHandler { name, hook, timeout_seconds: None, failure_policy }
}

fn conditions(config: &ExtensionConfig) -> Vec<String> {
    let text = |it: &k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition| {
        let generation = it.observed_generation.unwrap_or_default();
        format!("{}={} {} at {generation}: {}", it.type_, it.status, it.reason, it.message)
    };
    config.status.conditions.iter().map(text).collect()
}

#[test]
fn what_is_gone_is_unregistered_even_when_paused() {
    let deleted = |paused: bool| {
        config(|object| {
            object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
            if paused {
                object["metadata"]["annotations"] = json!({ "cluster.x-k8s.io/paused": "" });
            }
        })
    };
    let check = |config: Option<ExtensionConfig>, expected: Step| {
        assert_eq!(first_step(true, config.as_ref()), expected);
        assert_eq!(first_step(false, config.as_ref()), Step::Wait, "a cold registry comes first");
    };
    check(None, Step::Unregister);
    check(Some(deleted(false)), Step::Unregister);
    check(Some(deleted(true)), Step::Unregister);
    check(Some(annotated("cluster.x-k8s.io/paused", "")), Step::ShowPaused);
    check(Some(config(|_| {})), Step::Discover);
}

#[test]
fn discovery_is_shown_as_upstream_shows_it() {
    let mut config = config(|_| {});
    config.status = discovered_status(&config, Ok(&[handler()]), at(10));
    let good = ["Discovered=True Discovered at 3: ", "Paused=False NotPaused at 3: "];
    assert_eq!(conditions(&config), good);
    let listed = serde_json::to_value(&config.status.handlers).expect("handlers must encode");
    let hook = json!({ "apiVersion": "hooks.runtime.cluster.x-k8s.io/v1alpha1", "hook": "UpdateMachine" });
    assert_eq!(listed, json!([{ "name": "update.ext", "requestHook": hook, "failurePolicy": "Fail" }]));
    assert_eq!(discovered_status(&config, Ok(&[handler()]), at(99)), config.status, "nothing changes the second time");

    config.status = discovered_status(&config, Err("no route"), at(20));
    let expected = "Discovered=False NotDiscovered at 3: Error in discovery: no route";
    assert_eq!(conditions(&config), [expected, good[1]]);
    assert_eq!(config.status.handlers.len(), 1, "the handlers that were known stay");
    config.status = discovered_status(&config, Ok(&[]), at(30));
    assert!(config.status.handlers.is_empty(), "an extension can have lost its handlers");
}

#[test]
fn a_paused_extension_says_so_and_keeps_the_rest() {
    let mut config = config(|_| {});
    config.status = discovered_status(&config, Ok(&[handler()]), at(10));
    config.status = paused_status(&config, at(20));
    let message = "ExtensionConfig has the cluster.x-k8s.io/paused annotation";
    assert_eq!(
        conditions(&config),
        ["Discovered=True Discovered at 3: ", &format!("Paused=True Paused at 3: {message}")]
    );
    assert_eq!(config.status.handlers.len(), 1);
}

#[test]
fn a_condition_has_room_for_the_longest_error() {
    let status = discovered_status(&config(|_| {}), Err(&"é".repeat(1 << 20)), at(0));
    assert!(status.conditions.iter().all(|condition| condition.message.len() < 32_768));
}

#[test]
fn the_annotation_names_a_secret_or_is_refused() {
    let check = |value: &str, expected: Result<(&str, &str), &str>| {
        let found = SecretName::of(&annotated("runtime.cluster.x-k8s.io/inject-ca-from-secret", value));
        let found = found.map(|name| name.map(|name| (name.namespace, name.name))).map_err(|error| error.to_string());
        let expected = expected.map(|(namespace, name)| Some((namespace.to_owned(), name.to_owned())));
        assert_eq!(found, expected.map_err(str::to_owned));
    };
    check("ns/name", Ok(("ns", "name")));
    check("ns/na/me", Ok(("ns", "na/me")));
    for wrong in ["", "name", "/name", "ns/", "/"] {
        let form = "must be in the form <namespace>/<name>";
        check(wrong, Err(&format!("failed to reconcile caBundle: secret name {wrong:?} {form}")));
    }
    assert_eq!(SecretName::of(&config(|_| {})).expect("no annotation is fine"), None);
}

#[test]
fn the_bundle_is_written_when_it_is_another_one() {
    let check = |data: &[(&str, &str)], expected: Result<Option<&str>, &str>| {
        let data = data.iter().map(|(key, value)| ((*key).to_owned(), ByteString(value.as_bytes().to_vec())));
        let secret = Secret { data: Some(data.collect::<BTreeMap<_, _>>()), ..Secret::default() };
        let name = SecretName { namespace: "ns".to_owned(), name: "s".to_owned() };
        let found = name.bundle_to_write(&config(|_| {}), secret).map_err(|error| error.to_string());
        let expected = expected.map(|bundle| bundle.map(|text| ByteString(text.as_bytes().to_vec())));
        assert_eq!(found, expected.map_err(str::to_owned));
    };
    check(&[("ca.crt", "old")], Ok(None));
    check(&[("ca.crt", "new"), ("tls.key", "secret")], Ok(Some("new")));
    let missing = "failed to reconcile caBundle: secret ns/s does not contain a \"ca.crt\" entry";
    check(&[("tls.crt", "new")], Err(missing));
}
