//! Rules for an object by itself.

use super::*;
use crate::vocabulary::refit::annotations::IN_PLACE;

#[test]
fn replicas_are_set() {
    let verdict = written(json!({})).validate(None);
    assert_eq!(errors(&verdict), ["spec.replicas: Required value: must be set"]);
}

#[test]
fn replicas_are_above_zero() {
    check(spec(json!({ "replicas": 1 })), &[]);
    for wrong in [0, -1, i32::MIN] {
        check(spec(json!({ "replicas": wrong })), &["spec.replicas: Forbidden: must be above 0"]);
    }
}

#[test]
fn replicas_are_odd_unless_etcd_is_external() {
    check(spec(json!({ "replicas": 3 })), &[]);
    let mut external = cluster_configuration(json!({ "etcd": external_etcd() }));
    external["spec"]["replicas"] = 2.into();
    check(external, &[]);
    check(spec(json!({ "replicas": 2 })), &["spec.replicas: Forbidden: must be odd unless etcd is external"]);
}

#[test]
fn scaling_follows_the_rule_for_replicas() {
    let check_scale = |kcp: &KubeadmControlPlane, replicas, expected: &[&str]| {
        assert_eq!(errors(&validate_scale(kcp, replicas)), expected);
    };
    let stacked = kcp(json!({}));
    check_scale(&stacked, 5, &[]);
    check_scale(&stacked, 0, &["spec.replicas: Forbidden: must be above 0"]);
    check_scale(&stacked, 4, &["spec.replicas: Forbidden: must be odd unless etcd is external"]);
    let external = kcp(cluster_configuration(json!({ "etcd": external_etcd() })));
    check_scale(&external, 4, &[]);
    check_scale(&external, -1, &["spec.replicas: Forbidden: must be above 0"]);
}

#[test]
fn version_is_v_and_a_semantic_version() {
    for good in ["v1.31.0", "v1.31.0-rc.1+build.2"] {
        check(spec(json!({ "version": good })), &[]);
    }
    for wrong in ["v1.31", "vlatest", "v01.31.0"] {
        let error = format!("spec.version: Invalid value: {wrong:?}: must be a semantic version such as v1.34.0");
        check(spec(json!({ "version": wrong })), &[&error]);
    }
    let mut unprefixed = kcp(json!({}));
    unprefixed.spec.version = "1.31.0".to_owned();
    let error = r#"spec.version: Invalid value: "1.31.0": must start with v"#;
    assert_eq!(errors(&unprefixed.validate(None)), [error]);
}

#[test]
fn infrastructure_reference_is_whole() {
    let reference =
        |reference: Value| spec(json!({ "machineTemplate": { "spec": { "infrastructureRef": reference } } }));
    check(reference(json!({ "name": "other" })), &[]);
    for field in ["apiGroup", "kind", "name"] {
        let error =
            format!(r#"spec.machineTemplate.spec.infrastructureRef.{field}: Invalid value: "": must not be empty"#);
        check(reference(json!({ field: "" })), &[&error]);
    }
}

#[test]
fn machine_metadata_is_valid() {
    let metadata = |metadata: Value| spec(json!({ "machineTemplate": { "metadata": metadata } }));
    check(metadata(json!({ "labels": { "a": "b" }, "annotations": { "a": "b c" } })), &[]);
    let verdict = kcp(metadata(json!({ "labels": { "a": "b c" }, "annotations": { "/": "" } }))).validate(None);
    let fields: Vec<&str> = verdict.errors.iter().map(|error| error.field.as_str()).collect();
    assert_eq!(fields, ["spec.machineTemplate.metadata.labels", "spec.machineTemplate.metadata.annotations"]);
}

#[test]
fn machine_taints_are_for_users() {
    let taint = |key: &str| {
        let taint = json!({ "key": key, "effect": "NoSchedule", "propagation": "Always" });
        spec(json!({ "machineTemplate": { "spec": { "taints": [taint] } } }))
    };
    check(taint("dedicated"), &[]);
    let path = "spec.machineTemplate.spec.taints[0].key";
    let key = "node.kubernetes.io/not-ready";
    check(
        taint(key),
        &[&format!(
            "{path}: Invalid value: {key:?}: must not begin with node.kubernetes.io/, save for node.kubernetes.io/out-of-service"
        )],
    );
}

fn max_surge(replicas: i32, max_surge: Value) -> Value {
    let strategy = json!({ "rollingUpdate": { "maxSurge": max_surge } });
    spec(json!({ "replicas": replicas, "rollout": { "strategy": strategy } }))
}

#[test]
fn max_surge_is_zero_or_one() {
    for good in [json!(0), json!(1), json!("0"), json!("1")] {
        check(max_surge(3, good), &[]);
    }
    for wrong in [json!(2), json!(-1), json!("50%"), json!("one")] {
        let error = format!("spec.rollout.strategy.rollingUpdate.maxSurge: Invalid value: {wrong}: must be 0 or 1");
        check(max_surge(3, wrong), &[&error]);
    }
}

const NEEDS_SURGE: &str = "spec.rollout.strategy.rollingUpdate.maxSurge: Invalid value: 0: must be 1 below 3 \
                           replicas, unless only updates in place are allowed";

#[test]
fn no_surge_needs_three_replicas() {
    check(max_surge(3, json!(0)), &[]);
    check(max_surge(1, json!(0)), &[NEEDS_SURGE]);
}

#[test]
fn no_surge_needs_no_three_replicas_when_in_place_is_required() {
    let annotated = |policy: &str| {
        let mut patch = max_surge(1, json!(0));
        patch["metadata"] = json!({ "annotations": { IN_PLACE: policy } });
        patch
    };
    check(annotated("Require"), &[]);
    check(annotated("Prefer"), &[NEEDS_SURGE]);

    let in_place = |strategy: Value| {
        let mut patch = max_surge(1, json!(0));
        merge(&mut patch["spec"]["rollout"]["strategy"], strategy);
        patch
    };
    check(in_place(json!({ "type": "InPlace" })), &[]);
    check(in_place(json!({ "type": "InPlace", "fallback": "RollingUpdate" })), &[NEEDS_SURGE]);
}

#[test]
fn fallback_goes_with_in_place_only() {
    let strategy = |strategy: Value| spec(json!({ "rollout": { "strategy": strategy } }));
    check(strategy(json!({ "type": "InPlace", "fallback": "RollingUpdate" })), &[]);
    check(
        strategy(json!({ "type": "RollingUpdate", "fallback": "RollingUpdate" })),
        &["spec.rollout.strategy.fallback: Forbidden: only with the type InPlace"],
    );
}

#[test]
fn certificate_is_valid_for_no_longer_than_its_authority() {
    let days = |days: i32, ca_days: Option<i32>| {
        let mut cluster = json!({ "certificateValidityPeriodDays": days });
        if let Some(ca_days) = ca_days {
            cluster["caCertificateValidityPeriodDays"] = ca_days.into();
        }
        cluster_configuration(cluster)
    };
    let error = |days: i32, ca_days: i32| {
        let path = "spec.kubeadmConfigSpec.clusterConfiguration.certificateValidityPeriodDays";
        format!("{path}: Invalid value: {days}: must be at most caCertificateValidityPeriodDays ({ca_days})")
    };
    check(days(100, Some(100)), &[]);
    check(days(101, Some(100)), &[&error(101, 100)]);
    check(days(3650, None), &[]);
    check(days(3651, None), &[&error(3651, 3650)]);
}

#[test]
fn machines_are_replaced_before_but_not_at_once() {
    let before = |days: i32| {
        let mut patch = cluster_configuration(json!({ "certificateValidityPeriodDays": 30 }));
        patch["spec"]["rollout"] = json!({ "before": { "certificatesExpiryDays": days } });
        patch
    };
    check(before(29), &[]);
    check(
        before(30),
        &[
            "spec.rollout.before.certificatesExpiryDays: Invalid value: 30: must be below certificateValidityPeriodDays (30)",
        ],
    );
    check(spec(json!({ "rollout": { "before": { "certificatesExpiryDays": 400 } } })), &[]);
}

#[test]
fn naming_template_gives_valid_and_different_names() {
    let template = |template: &str| spec(json!({ "machineNaming": { "template": template } }));
    check(template("{{ .cluster.name }}-{{ .kubeadmControlPlane.name }}-{{ .random }}"), &[]);
    let wrong = [
        "{{ .cluster.name }}",
        "{{ .machineSet.name }}-{{ .random }}",
        "{{ .random }}-{{ .cluster.name",
        "UPPER-{{ .random }}",
    ];
    for text in wrong {
        let found = errors(&kcp(template(text)).validate(None));
        assert_eq!(found.len(), 1, "{text}: {found:?}");
        assert!(found[0].starts_with("spec.machineNaming.template: Invalid value"), "{found:?}");
    }
}

#[test]
fn image_tags_have_the_form_of_tags() {
    let etcd = |tag: &str| cluster_configuration(json!({ "etcd": { "local": { "imageTag": tag } } }));
    let dns = |tag: &str| cluster_configuration(json!({ "dns": { "imageTag": tag } }));
    check(etcd("3.5.15-0"), &[]);
    check(dns("v1.11.3_build.1"), &[]);
    let path = "spec.kubeadmConfigSpec.clusterConfiguration";
    let form = "must be letters, digits, '-', '_' or '.'";
    check(etcd("3.5/15"), &[&format!(r#"{path}.etcd.local.imageTag: Invalid value: "3.5/15": {form}"#)]);
    check(dns("1.11.3+build"), &[&format!(r#"{path}.dns.imageTag: Invalid value: "1.11.3+build": {form}"#)]);
}

#[test]
fn dns_tag_is_a_version() {
    let dns = |tag: &str| cluster_configuration(json!({ "dns": { "imageTag": tag } }));
    for good in ["1.11.3", "v1.11", "v1.11.3-eksbuild.1"] {
        check(dns(good), &[]);
    }
    let path = "spec.kubeadmConfigSpec.clusterConfiguration.dns.imageTag";
    check(dns("latest"), &[&format!(r#"{path}: Invalid value: "latest": must be a semantic version"#)]);
}

#[test]
fn etcd_is_local_or_external() {
    let mut both = external_etcd();
    check(cluster_configuration(json!({ "etcd": both })), &[]);
    both["local"] = json!({ "dataDir": "/data" });
    check(
        cluster_configuration(json!({ "etcd": both })),
        &["spec.kubeadmConfigSpec.clusterConfiguration.etcd.local: Forbidden: etcd is local or external, not both"],
    );
}

#[test]
fn first_and_joining_machines_wait_equally_long() {
    let timeouts = |init: Value, join: Value| {
        let with = |timeouts: Value| json!({ "timeouts": timeouts });
        spec(json!({ "kubeadmConfigSpec": { "initConfiguration": with(init), "joinConfiguration": with(join) } }))
    };
    let seconds = |seconds: i32| json!({ "controlPlaneComponentHealthCheckSeconds": seconds });
    check(timeouts(seconds(10), seconds(10)), &[]);
    check(timeouts(json!({ "discoverySeconds": 1 }), json!({ "discoverySeconds": 2 })), &[]);
    let error = |configuration: &str, value: &str| {
        let path = format!("spec.kubeadmConfigSpec.{configuration}.timeouts.controlPlaneComponentHealthCheckSeconds");
        format!("{path}: Invalid value: {value}: must be the same in initConfiguration and joinConfiguration")
    };
    check(timeouts(seconds(10), seconds(20)), &[&error("initConfiguration", "10"), &error("joinConfiguration", "20")]);
    check(timeouts(seconds(10), json!({})), &[&error("initConfiguration", "10"), &error("joinConfiguration", "null")]);
}

#[test]
fn rules_of_the_config_hold_in_the_control_plane() {
    check(
        spec(json!({ "kubeadmConfigSpec": { "files": [{ "path": "/a" }, { "path": "/a" }] } })),
        &[r#"spec.kubeadmConfigSpec.files[1].path: Duplicate value: "/a""#],
    );
}
