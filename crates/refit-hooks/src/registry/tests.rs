use refit_api::runtime::ExtensionConfig;
use serde_json::{Value, json};

use super::*;

fn config(name: &str, edit: impl FnOnce(&mut Value)) -> ExtensionConfig {
    let handler = |handler: &str, hook: &str| {
        let api_version = "hooks.runtime.cluster.x-k8s.io/v1alpha1";
        json!({ "name": format!("{handler}.{name}"), "requestHook": { "apiVersion": api_version, "hook": hook } })
    };
    let mut object = json!({
        "metadata": { "name": name, "uid": "u", "generation": 1 },
        "spec": { "clientConfig": { "url": "https://ext.example.com" }, "namespaceSelector": {} },
        "status": { "handlers": [handler("can", "CanUpdateMachine"), handler("update", "UpdateMachine")] },
    });
    edit(&mut object);
    serde_json::from_value(object).expect("the ExtensionConfig must decode")
}

fn registry(configs: &[ExtensionConfig]) -> Registry {
    let mut registry = Registry::default();
    for config in configs {
        registry.register(config).expect("the ExtensionConfig must be registered");
    }
    registry.set_ready();
    registry
}

fn namespace(labels: Option<&[(&str, &str)]>) -> Namespace {
    let owned = |labels: &[(&str, &str)]| labels.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    Namespace { name: "ns".to_owned(), labels: labels.map(owned) }
}

fn names(registry: &Registry, namespace: &Namespace) -> Result<Vec<String>, RegistryError> {
    let matching = registry.matching(Hook::UpdateMachine, namespace)?;
    Ok(matching.iter().map(|it| it.name.to_string()).collect())
}

#[test]
fn a_cold_registry_has_no_answer_rather_than_an_empty_one() {
    let mut registry = Registry::default();
    registry.register(&config("a", |_| {})).expect("it must be registered");
    let error = names(&registry, &namespace(None)).expect_err("it must not answer");
    assert_eq!(
        error.to_string(),
        "failed to list extension handlers for GroupHook \"UpdateMachine.hooks.runtime.cluster.x-k8s.io\": invalid \
         operation: List cannot be called on a registry which has not been warmed up"
    );
    registry.set_ready();
    assert_eq!(names(&registry, &namespace(None)), Ok(vec!["update.a".to_owned()]));
}

#[test]
fn handlers_come_by_order_and_then_by_name() {
    let with_order = |name, order: &str| {
        config(name, |object| object["metadata"]["annotations"] = json!({ "refit.dev/order": order }))
    };
    let configs = [with_order("d", "2"), config("c", |_| {}), with_order("b", "-1"), with_order("a", "2")];
    let expected = ["update.b", "update.c", "update.a", "update.d"].map(str::to_owned).to_vec();
    assert_eq!(names(&registry(&configs), &namespace(None)), Ok(expected));
}

#[test]
fn namespaces_are_selected_by_their_labels() {
    let check = |selector: Value, labels: Option<&[(&str, &str)]>, expected: Result<bool, RegistryError>| {
        let registry = registry(&[config("a", |object| object["spec"]["namespaceSelector"] = selector.clone())]);
        let found = names(&registry, &namespace(labels)).map(|names| !names.is_empty());
        assert_eq!(found, expected, "{selector} {labels:?}");
    };
    let name = json!({ "matchLabels": { "kubernetes.io/metadata.name": "ns" } });
    check(json!({}), None, Ok(true));
    check(Value::Null, None, Ok(false));
    check(Value::Null, Some(&[]), Ok(false));
    check(name.clone(), Some(&[("kubernetes.io/metadata.name", "ns")]), Ok(true));
    check(name.clone(), Some(&[("kubernetes.io/metadata.name", "other")]), Ok(false));
    check(name, None, Err(RegistryError::Namespace("ns".to_owned())));
}

#[test]
fn registering_replaces_all_handlers_or_none() {
    let mut registry = registry(&[config("a", |_| {}), config("b", |_| {})]);
    let fewer = config("a", |object| {
        object["status"]["handlers"].as_array_mut().expect("handlers").pop();
    });
    registry.register(&fewer).expect("it must be registered");
    assert_eq!(names(&registry, &namespace(None)), Ok(vec!["update.b".to_owned()]));
    let broken = config("b", |object| object["spec"]["namespaceSelector"] = json!({ "matchLabels": { "a b": "c" } }));
    assert!(registry.register(&broken).is_err());
    assert_eq!(names(&registry, &namespace(None)), Ok(vec!["update.b".to_owned()]), "the old ones must stay");
    registry.unregister("b");
    assert_eq!(names(&registry, &namespace(None)), Ok(vec![]));
}

#[test]
fn a_handler_that_is_not_there_is_an_error_that_names_it() {
    let registry = registry(&[config("a", |_| {})]);
    let check = |name: &str, expected: &str| {
        let name = name.parse().expect("the name must parse");
        let error = registry.get(&name, Hook::UpdateMachine).expect_err("it must not be found");
        assert_eq!(error.to_string(), expected);
    };
    check(
        "x.y",
        "failed to get extension handler \"x.y\" from registry: handler with name \"x.y\" has not been registered",
    );
    check("can.a", "handler does not match GroupHook \"UpdateMachine.hooks.runtime.cluster.x-k8s.io\"");
}

#[test]
fn a_misconfigured_extension_is_registered_and_cannot_be_called() {
    let check = |edit: fn(&mut Value), expected: &str| {
        let registry = registry(&[config("a", edit)]);
        let found = registry.matching(Hook::UpdateMachine, &namespace(None)).expect("the registry must be ready");
        assert_eq!(found[0].endpoint.as_ref().expect_err("it must be refused"), expected);
    };
    check(
        |object| object["spec"]["clientConfig"]["url"] = json!("http://x"),
        "failed to compute URL: expected https scheme, got http",
    );
    check(
        |object| object["metadata"]["annotations"] = json!({ "refit.dev/order": "first" }),
        "metadata.annotations[refit.dev/order]: Invalid value: \"first\": must be an integer of 32 bits",
    );
}

#[test]
fn a_hook_of_a_newer_controller_is_passed_over() {
    let config = config("a", |object| object["status"]["handlers"][0]["requestHook"]["hook"] = json!("Unheard"));
    assert_eq!(names(&registry(&[config]), &namespace(None)), Ok(vec!["update.a".to_owned()]));
}

#[test]
fn the_identity_follows_everything_that_may_change_an_answer() {
    let identity = |edit: fn(&mut Value)| {
        let registry = registry(&[config("a", edit)]);
        registry.matching(Hook::UpdateMachine, &namespace(None)).expect("ready")[0].identity.clone()
    };
    let same = identity(|_| {});
    assert_eq!(same, identity(|object| object["metadata"]["resourceVersion"] = json!("5")));
    for edit in [
        (|object| object["metadata"]["uid"] = json!("other")) as fn(&mut Value),
        |object| object["metadata"]["generation"] = json!(2),
        |object| object["spec"]["settings"] = json!({ "a": "b" }),
        |object| object["status"]["handlers"][0]["timeoutSeconds"] = json!(3),
    ] {
        assert_ne!(same, identity(edit));
    }
}

#[test]
fn the_updater_of_a_plan_is_found_beside_the_one_that_answered() {
    let registry = registry(&[config("a", |_| {}), config("b", |_| {})]);
    let name = "can.b".parse().expect("the name must parse");
    let found: Vec<_> = registry.beside(&name, Hook::UpdateMachine).iter().map(|it| it.name.to_string()).collect();
    assert_eq!(found, ["update.b"]);
}

/// An ExtensionConfig that is there and was never reached may serve anything, wherever it may be meant for.
#[test]
fn what_was_not_discovered_is_known_to_be_unknown() {
    let only = |label: &str| json!({ "matchLabels": { "team": label } });
    let mut registry = registry(&[config("good", |_| {})]);
    let (here, nowhere) = (namespace(Some(&[("team", "a")])), namespace(None));
    let unknown = |registry: &Registry, namespace: &Namespace| -> Vec<String> {
        let undiscovered = registry.undiscovered(namespace).into_iter();
        undiscovered.map(|it| format!("{}: {}", it.extension_config, it.words)).collect()
    };
    assert!(unknown(&registry, &here).is_empty());
    registry.announce(&config("new", |object| object["spec"]["namespaceSelector"] = only("a")));
    registry.announce(&config("other", |object| object["spec"]["namespaceSelector"] = only("b")));
    assert_eq!(unknown(&registry, &here), ["new: it has not been discovered yet"]);
    assert_eq!(unknown(&registry, &nowhere).len(), 2, "without labels nobody knows whom it is for");
    registry.register(&config("new", |_| {})).expect("it must be registered");
    assert!(unknown(&registry, &here).is_empty());
    let failed = registry.register_undiscovered(&config("good", |_| {}), "bad certificate".to_owned());
    failed.expect("it must be registered");
    assert_eq!(unknown(&registry, &here), ["good: bad certificate"]);
    assert_eq!(
        names(&registry, &here),
        Ok(vec!["update.good".to_owned(), "update.new".to_owned()]),
        "they stay in use"
    );
    registry.register(&config("good", |_| {})).expect("it must be registered");
    registry.announce(&config("good", |object| object["metadata"]["generation"] = json!(2)));
    assert_eq!(unknown(&registry, &here), ["good: it has not been discovered yet"], "its spec is another one");
    registry.unregister("good");
    assert!(unknown(&registry, &here).is_empty());
}

/// Whoever waits is told of what is another than before, and of nothing else.
#[test]
fn the_version_grows_with_every_change_and_with_nothing_else() {
    let (mut registry, here) = (registry(&[config("a", |_| {})]), namespace(None));
    let fingerprint = |registry: &Registry| registry.fingerprint(Hook::UpdateMachine, &here).expect("it must be ready");
    let mut before = (registry.version(), fingerprint(&registry));
    let mut check = |registry: &Registry, is_other: bool, is_print_other: bool, what: &str| {
        let now = (registry.version(), fingerprint(registry));
        assert_eq!((now.0 != before.0, now.1 != before.1), (is_other, is_print_other), "{what}");
        before = now;
    };
    registry.register(&config("a", |_| {})).expect("it must be registered");
    registry.announce(&config("a", |_| {}));
    registry.unregister("nobody");
    check(&registry, false, false, "nothing has changed");
    let order = config("a", |object| object["metadata"]["annotations"] = json!({ "refit.dev/order": "7" }));
    registry.register(&order).expect("it must be registered");
    check(&registry, true, true, "another place among the others");
    registry.announce(&config("a", |object| object["metadata"]["uid"] = json!("other")));
    check(&registry, true, true, "deleted and made again");
    registry
        .register(&config("a", |object| object["metadata"]["uid"] = json!("other")))
        .expect("it must be registered");
    check(&registry, true, true, "discovered again");
    let again = config("a", |object| object["metadata"]["uid"] = json!("other"));
    registry.register_undiscovered(&again, "away".to_owned()).expect("it must be registered");
    check(&registry, true, false, "not to be reached");
    registry.unregister("a");
    check(&registry, true, true, "deleted");
}
