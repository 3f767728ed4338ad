use serde_json::{Value, json};

use super::*;

fn path() -> FieldPath {
    FieldPath::new("x")
}

/// What the errors say, in short: the field of each.
fn fields(errors: &[FieldError]) -> Vec<&str> {
    errors.iter().map(|error| error.field.as_str()).collect()
}

fn decode<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("the value must decode")
}

#[test]
fn version_gets_its_prefix() {
    for (given, expected) in
        [(Some("1.34.0"), Some("v1.34.0")), (Some("v1.34.0"), Some("v1.34.0")), (Some(""), None), (None, None)]
    {
        let mut version = given.map(str::to_owned);
        default_version(&mut version);
        assert_eq!(version.as_deref(), expected, "{given:?}");
    }
}

#[test]
fn version_is_v_and_a_strict_semantic_version() {
    for good in [None, Some("v1.34.0"), Some("v1.34.0-rc.1+vendor.2")] {
        assert_eq!(validate_version(good, &path()), [], "{good:?}");
    }
    for bad in ["1.34.0", "v1.34", "v01.34.0", "v1.34.0.1", "v", "latest"] {
        assert_eq!(fields(&validate_version(Some(bad), &path())), ["x"], "{bad}");
    }
}

#[test]
fn bootstrap_has_a_source() {
    let config_ref = json!({ "apiGroup": "a.io", "kind": "K", "name": "n" });
    for good in [json!({ "dataSecretName": "s" }), json!({ "dataSecretName": "" }), json!({ "configRef": config_ref })]
    {
        assert_eq!(validate_bootstrap(&decode(good.clone()), &path()), [], "{good}");
    }
    assert_eq!(fields(&validate_bootstrap(&Bootstrap::default(), &path())), ["x"]);
}

#[test]
fn metadata_is_such_that_objects_can_have_it() {
    let good = json!({ "labels": { "a.io/b": "c" }, "annotations": { "a.io/B": "any text: {}" } });
    assert_eq!(validate_metadata(&decode(good), &path()), []);
    let bad = json!({ "labels": { "a b": "c", "d": "e f" }, "annotations": { "/": "" } });
    assert_eq!(fields(&validate_metadata(&decode(bad), &path())), ["x.labels", "x.labels", "x.annotations"]);
}

fn taints(keys: &[&str]) -> Vec<MachineTaint> {
    let taint = |key: &&str| json!({ "key": key, "effect": "NoSchedule", "propagation": "Always" });
    decode(keys.iter().map(taint).collect())
}

#[test]
fn taints_that_others_manage_are_refused() {
    for good in ["a.io/b", "node.kubernetes.io/out-of-service", "node-role.kubernetes.io/control-plane"] {
        assert_eq!(validate_taints(&taints(&[good]), &path()), [], "{good}");
    }
    for bad in [
        "node.cluster.x-k8s.io/uninitialized",
        "node.cluster.x-k8s.io/outdated-revision",
        "node.kubernetes.io/not-ready",
        "node.cloudprovider.kubernetes.io/shutdown",
        "node-role.kubernetes.io/master",
    ] {
        assert_eq!(fields(&validate_taints(&taints(&["a", bad]), &path())), ["x[1].key"], "{bad}");
    }
}

#[test]
fn the_key_of_a_taint_is_a_qualified_name() {
    let too_long = format!("a.io/{}", "b".repeat(64));
    for bad in ["a b", too_long.as_str()] {
        assert_eq!(fields(&validate_taints(&taints(&[bad]), &path())), ["x[0].key"], "{bad}");
    }
}

#[test]
fn workers_do_not_have_the_taint_of_control_planes() {
    assert_eq!(validate_worker_taints(&taints(&["a.io/b"]), &path()), []);
    let errors = validate_worker_taints(&taints(&["a", "node-role.kubernetes.io/control-plane"]), &path());
    assert_eq!(fields(&errors), ["x[1].key"]);
}

fn check_naming(template: Option<&str>, refusals: usize) {
    let errors = validate_naming(template, NameOwner::MachineSet, &path());
    assert_eq!(fields(&errors), vec!["x.template"; refusals], "{template:?}: {errors:?}");
}

#[test]
fn a_naming_template_gives_different_names() {
    check_naming(None, 0);
    check_naming(Some("{{ .machineSet.name }}-{{ .random }}"), 0);
    check_naming(Some("{{ .machineSet.name }}"), 1);
}

#[test]
fn a_naming_template_gives_valid_names() {
    check_naming(Some("Upper-{{ .random }}"), 1);
    check_naming(Some("{{ .random }}-"), 1);
    check_naming(Some("{{ .unknown }}-{{ .random }}"), 1);
    check_naming(Some("{{ .random }}{{"), 1);
    check_naming(Some("-{{"), 2);
}
