//! What extensions say about themselves, and what is taken of it.

use refit_api::hooks::{CanonicalName, Hook};
use refit_hooks::chain;
use refit_hooks::discovery::discover;
use serde_json::{Value, json};

use crate::objects::{config, extensions, namespace};
use crate::peer::{Peer, Reply, client};

fn handler(name: &str, hook: &str) -> Value {
    let hook = json!({ "apiVersion": "hooks.runtime.cluster.x-k8s.io/v1alpha1", "hook": hook });
    json!({ "name": name, "requestHook": hook })
}

fn with(name: &str, field: &str, value: Value) -> Value {
    let mut handler = handler(name, "UpdateMachine");
    handler[field] = value;
    handler
}

fn success(handlers: Vec<Value>) -> Value {
    json!({ "status": "Success", "handlers": handlers })
}

async fn discovered(answer: Value) -> Result<Vec<(String, Hook)>, String> {
    let peer = Peer::always(Reply::Json(answer)).await;
    let found = discover(&client(), &config("ext", &peer, &[])).await.map_err(|error| chain(&error))?;
    Ok(found.into_iter().map(|it| (CanonicalName::to_string(&it.name), it.hook)).collect())
}

#[tokio::test]
async fn handlers_come_by_name_whatever_order_they_are_sent_in() {
    let handlers =
        [handler("b", "UpdateMachine"), handler("a", "CanUpdateMachine"), handler("c", "BeforeClusterDelete")];
    let expected = [
        ("a.ext".to_owned(), Hook::CanUpdateMachine),
        ("b.ext".to_owned(), Hook::UpdateMachine),
        ("c.ext".to_owned(), Hook::BeforeClusterDelete),
    ];
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
        let answer = success(order.map(|index| handlers[index].clone()).to_vec());
        assert_eq!(discovered(answer).await, Ok(expected.to_vec()));
    }
}

#[tokio::test]
async fn an_extension_with_every_hook_of_the_catalog_is_discovered() {
    let hooks = Hook::ALL.iter().filter(|hook| **hook != Hook::Discovery).enumerate();
    let answer = success(hooks.map(|(number, hook)| handler(&format!("h{number}"), hook.name())).collect());
    assert_eq!(discovered(answer).await.map(|found| found.len()), Ok(16));
}

#[tokio::test]
async fn what_is_wrong_with_an_extension_is_said_in_full() {
    let many = (0..513).map(|number| handler(&format!("h{number}"), "UpdateMachine")).collect();
    let v2 = json!({ "apiVersion": "hooks.runtime.cluster.x-k8s.io/v1beta1", "hook": "UpdateMachine" });
    let slashes = json!({ "apiVersion": "a/b/c", "hook": "UpdateMachine" });
    let cases: Vec<(Value, &str)> = vec![
        (json!({ "status": "Failure", "message": "not today" }), "got failure response with message: not today"),
        (json!({}), "got unknown response status \"\" with message: "),
        (
            success(vec![handler("a", "UpdateMachine"), handler("a", "CanUpdateMachine")]),
            "duplicate name for handler a found",
        ),
        (success(vec![handler("Upper", "UpdateMachine")]), "handler name Upper is not valid: ["),
        (success(vec![handler("with.dot", "UpdateMachine")]), "handler name with.dot is not valid: ["),
        (success(vec![handler("", "UpdateMachine")]), "handler name  is not valid: ["),
        (success(vec![with("a", "timeoutSeconds", json!(31))]), "handler a timeoutSeconds 31 must be between 0 and 30"),
        (success(vec![with("a", "timeoutSeconds", json!(-1))]), "handler a timeoutSeconds -1 must be between 0 and 30"),
        (
            success(vec![with("a", "failurePolicy", json!("Maybe"))]),
            "handler a failurePolicy Maybe must equal \"Ignore\" or \"Fail\"",
        ),
        (success(vec![with("a", "requestHook", slashes)]), "handler a requestHook APIVersion a/b/c is not valid"),
        (
            success(vec![with("a", "requestHook", v2)]),
            "handler a requestHook hooks.runtime.cluster.x-k8s.io/v1beta1/UpdateMachine is not in the Runtime SDK catalog",
        ),
        (success(vec![handler("a", "updateMachine")]), "updateMachine is not in the Runtime SDK catalog"),
        (success(many), "it has 513 handlers, more than the 512 there is room for"),
        (json!({ "status": "Success", "handlers": {} }), "http call failed: failed to decode response"),
        (
            success(vec![handler("A", "X"), with("b", "timeoutSeconds", json!(99))]),
            "handler b timeoutSeconds 99 must be between 0 and 30",
        ),
    ];
    for (answer, says) in cases {
        let error = discovered(answer.clone()).await.expect_err("the extension must be refused");
        assert!(error.starts_with("failed to discover extension \"ext\": "), "{error}");
        assert!(error.contains(says), "{answer}: {error}");
    }
}

#[tokio::test]
async fn all_errors_are_reported_together() {
    let answer = success(vec![handler("A", "X"), with("b", "timeoutSeconds", json!(99))]);
    let error = discovered(answer).await.expect_err("the extension must be refused");
    for part in ["handler name A is not valid", "X is not in the Runtime SDK catalog", "handler b timeoutSeconds 99"] {
        assert!(error.contains(part), "{error}");
    }
}

#[tokio::test]
async fn an_extension_that_changes_its_discovery_is_registered_anew() {
    let peer = Peer::start(|number, _| {
        let hook = if number == 0 { "UpdateMachine" } else { "CanUpdateMachine" };
        Reply::Json(success(vec![handler("h", hook)]))
    })
    .await;
    let (client, mut config) = (client(), config("ext", &peer, &[]));
    let extensions = extensions(client.clone(), &[]);
    let mut hooks = Vec::new();
    for _ in 0..2 {
        let found = discover(&client, &config).await.expect("it must be discovered");
        config.status.handlers = found.iter().map(refit_hooks::discovery::to_status).collect();
        extensions.register(&config).expect("it must be registered");
        let count = |hook| extensions.registry().matching(hook, &namespace()).expect("it must be ready").len();
        hooks.push((count(Hook::UpdateMachine), count(Hook::CanUpdateMachine)));
    }
    assert_eq!(hooks, [(1, 0), (0, 1)]);
}
