use refit_api::version::KubernetesVersion;
use serde_json::{Value, json};

use super::*;

fn spec(value: Value) -> KubeadmConfigSpec {
    serde_json::from_value(value).expect("the config must decode")
}

fn version(minor: u64) -> KubernetesVersion {
    KubernetesVersion::new(1, minor, 2)
}

/// Compares a machine's config with a template, without feature gates in play.
fn check(template: Value, current: Value, expected: bool) {
    let found = compare(&spec(template.clone()), &version(30), &spec(current.clone()));
    assert_eq!(found.is_up_to_date, expected, "{current} against {template}");
    assert_eq!(Flavour::of(&found.desired), Flavour::Join, "desired is always for join");
    assert_eq!(found.desired.init_configuration, InitConfiguration::default());
}

fn joined(mut config: Value) -> Value {
    config["joinConfiguration"]["controlPlane"] = json!({});
    config
}

#[test]
fn desired_is_of_one_flavour() {
    let template = spec(json!({
        "initConfiguration": { "skipPhases": ["a"] },
        "joinConfiguration": { "skipPhases": ["b"] },
        "clusterConfiguration": { "certificatesDir": "/c" },
    }));
    let join = desired(&template, &version(30), Flavour::Join);
    let expected = json!({
        "clusterConfiguration": { "certificatesDir": "/c" },
        "joinConfiguration": { "skipPhases": ["b"], "controlPlane": {} },
    });
    assert_eq!(join, spec(expected));
    let init = desired(&template, &version(30), Flavour::Init);
    let expected = json!({
        "clusterConfiguration": { "certificatesDir": "/c" }, "initConfiguration": { "skipPhases": ["a"] },
    });
    assert_eq!(init, spec(expected));
}

#[test]
fn local_mode_is_on_where_the_version_has_it() {
    let check = |text: &str, set: Option<bool>, expected: Option<bool>| {
        let mut config = KubeadmConfigSpec::default();
        let gates = &mut config.cluster_configuration.feature_gates;
        gates.extend(set.map(|on| (CONTROL_PLANE_KUBELET_LOCAL_MODE.to_owned(), on)));
        default_feature_gates(&mut config, &text.parse().expect("a version"));
        let found = config.cluster_configuration.feature_gates.get(CONTROL_PLANE_KUBELET_LOCAL_MODE);
        assert_eq!(found.copied(), expected, "{text}");
    };
    check("v1.30.9", None, None);
    check("v1.31.0-alpha.1", None, Some(true));
    check("v1.31.0", None, Some(true));
    check("v1.31.0", Some(false), Some(false));
    check("v1.35.9+vendor.1", None, Some(true));
    check("v1.36.0-rc.1", None, None);
    check("v1.36.0", None, None);
    check("v1.36.0", Some(true), Some(true));
}

#[test]
fn the_gate_makes_two_version_bumps_a_change_of_the_config() {
    let outdated = |from: u64, to: u64| {
        let current = desired(&KubeadmConfigSpec::default(), &version(from), Flavour::Join);
        !compare(&KubeadmConfigSpec::default(), &version(to), &current).is_up_to_date
    };
    let changing: Vec<u64> = (28..38).filter(|from| outdated(*from, from + 1)).collect();
    assert_eq!(changing, [30, 35]);
}

#[test]
fn what_others_write_or_what_is_needed_once_is_no_change() {
    let template = json!({ "clusterConfiguration": { "certificatesDir": "/c" } });
    check(template.clone(), joined(template.clone()), true);
    for ignored in [
        json!({ "clusterConfiguration": { "certificatesDir": "/c", "controlPlaneEndpoint": "a:6443" } }),
        json!({ "clusterConfiguration": { "certificatesDir": "/c", "dns": { "imageTag": "v1" } } }),
        json!({ "clusterConfiguration": { "certificatesDir": "/c" }, "format": "cloud-config" }),
        json!({
            "clusterConfiguration": { "certificatesDir": "/c" },
            "joinConfiguration": {
                "discovery": { "bootstrapToken": { "token": "abcdef.0123456789abcdef" } },
                "timeouts": { "controlPlaneComponentHealthCheckSeconds": 5 },
                "nodeRegistration": { "imagePullPolicy": "IfNotPresent" },
            },
        }),
        json!({
            "clusterConfiguration": { "certificatesDir": "/c" },
            "initConfiguration": {
                "timeouts": { "controlPlaneComponentHealthCheckSeconds": 5 },
                "nodeRegistration": { "imagePullPolicy": "IfNotPresent" },
            },
        }),
        json!({ "clusterConfiguration": {
            "certificatesDir": "/c", "featureGates": {},
            "etcd": { "local": { "extraEnvs": [], "extraArgs": [] } }, "apiServer": { "extraEnvs": [] },
            "controllerManager": { "extraEnvs": [] }, "scheduler": { "extraEnvs": [], "extraVolumes": [] },
        }, "files": [], "users": [], "ntp": { "servers": [] } }),
    ] {
        check(template.clone(), joined(ignored), true);
    }
}

#[test]
fn empty_texts_that_kubeadm_does_not_see_are_no_change() {
    let with = |variable: Value, mount: Value| {
        let component = json!({ "extraEnvs": [variable], "extraVolumes": [mount] });
        json!({ "clusterConfiguration": { "apiServer": component, "scheduler": component } })
    };
    let (variable, mount) = (json!({ "name": "a" }), json!({ "name": "m", "hostPath": "/h", "mountPath": "/m" }));
    let (mut empty_variable, mut empty_mount) = (variable.clone(), mount.clone());
    empty_variable["value"] = json!("");
    empty_mount["pathType"] = json!("");
    check(with(variable.clone(), mount.clone()), joined(with(empty_variable, mount.clone())), true);
    check(with(variable.clone(), mount), joined(with(variable, empty_mount)), true);
}

#[test]
fn everything_else_is_a_change() {
    for changed in [
        json!({ "clusterConfiguration": { "certificatesDir": "/d" } }),
        json!({ "clusterConfiguration": { "featureGates": { "x": true } } }),
        json!({ "clusterConfiguration": { "apiServer": { "extraEnvs": [{ "name": "a" }] } } }),
        json!({ "files": [{ "path": "/a" }] }),
        json!({ "users": [{ "name": "a" }] }),
        json!({ "ntp": { "enabled": false } }),
        json!({ "verbosity": 0 }),
        json!({ "format": "ignition" }),
        json!({ "preKubeadmCommands": ["true"] }),
        json!({ "joinConfiguration": { "nodeRegistration": { "taints": [] } } }),
        json!({ "joinConfiguration": { "nodeRegistration": { "imagePullPolicy": "Always" } } }),
        json!({ "joinConfiguration": { "timeouts": { "discoverySeconds": 5 } } }),
        json!({ "joinConfiguration": { "caCertPath": "/ca" } }),
    ] {
        check(json!({}), joined(changed), false);
    }
}

#[test]
fn the_first_machine_is_compared_as_if_it_had_joined() {
    let section = json!({ "nodeRegistration": { "name": "n" }, "skipPhases": ["p"], "patches": { "directory": "/p" }, "timeouts": { "discoverySeconds": 9 } });
    let with_path = |path: &str| {
        let mut join = section.clone();
        join["caCertPath"] = json!(path);
        json!({ "initConfiguration": section, "joinConfiguration": join })
    };
    let current = json!({ "initConfiguration": section });
    check(with_path("/ca"), current.clone(), true);
    let mut with_tokens = current.clone();
    with_tokens["initConfiguration"]["bootstrapTokens"] = json!([{ "token": "abcdef.0123456789abcdef" }]);
    check(with_path("/ca"), with_tokens, true);
    let mut with_endpoint = current;
    with_endpoint["initConfiguration"]["localAPIEndpoint"] = json!({ "bindPort": 6444 });
    check(with_path("/ca"), with_endpoint, false);
}

#[test]
fn the_first_machine_is_compared_as_it_is_when_the_sections_differ() {
    let template = json!({
        "initConfiguration": { "skipPhases": ["init"] }, "joinConfiguration": { "skipPhases": ["join"] },
    });
    check(template.clone(), json!({ "initConfiguration": { "skipPhases": ["init"] } }), true);
    check(template.clone(), json!({ "initConfiguration": { "skipPhases": ["join"] } }), true);
    check(template.clone(), json!({ "initConfiguration": { "skipPhases": ["other"] } }), false);
    check(template.clone(), joined(json!({ "joinConfiguration": { "skipPhases": ["join"] } })), true);
    check(template, joined(json!({ "joinConfiguration": { "skipPhases": ["init"] } })), false);
}

#[test]
fn a_joined_machine_of_an_older_version_is_told_by_the_flags_of_its_kubelet() {
    let join =
        json!({ "nodeRegistration": { "kubeletExtraArgs": [{ "name": "cloud-provider", "value": "external" }] } });
    let template = json!({ "initConfiguration": { "skipPhases": ["x"] }, "joinConfiguration": join });
    check(template, json!({ "joinConfiguration": join }), true);
    let left_by_conversion = json!({ "timeouts": { "controlPlaneComponentHealthCheckSeconds": 5 } });
    assert_eq!(Flavour::of(&spec(json!({ "joinConfiguration": left_by_conversion }))), Flavour::Init);
}

#[test]
fn extensions_never_see_the_token() {
    let config = |spec_value: Value| KubeadmConfig { spec: spec(spec_value), ..KubeadmConfig::default() };
    let current = config(joined(json!({ "joinConfiguration": { "discovery": { "tlsBootstrapToken": "hunter2" } } })));
    let wanted = config(joined(json!({ "joinConfiguration": { "discovery": { "tlsBootstrapToken": "hunter3" } } })));
    let (current, desired) = prepare_objects(&current, &wanted).expect("the objects must encode");
    assert_eq!(
        (current.kind(), current.api_version()),
        (Some("KubeadmConfig"), Some("bootstrap.cluster.x-k8s.io/v1beta2"))
    );
    for object in [&current, &desired] {
        assert!(!object.as_value().to_string().contains("hunter"));
    }
    assert_eq!(current, desired);
}
