//! Rules for the step from the stored object to the new one.

use super::*;
use crate::vocabulary::annotations::SKIP_COREDNS;

fn config(config: Value) -> Value {
    spec(json!({ "kubeadmConfigSpec": config }))
}

#[test]
fn nothing_changed_is_fine() {
    let object = cluster_configuration(json!({ "controlPlaneEndpoint": "e", "featureGates": { "a": true } }));
    check_change(object.clone(), object, &[]);
}

#[test]
fn mutable_fields_may_change() {
    let changes = [
        json!({ "metadata": { "labels": { "a": "b" } } }),
        spec(json!({ "replicas": 3, "version": "v1.32.0" })),
        spec(json!({ "rollout": { "after": "2030-01-01T00:00:00Z", "before": { "certificatesExpiryDays": 9 } } })),
        spec(json!({ "remediation": { "maxRetry": 1 }, "machineNaming": { "template": "a-{{ .random }}" } })),
        spec(json!({ "machineTemplate": { "metadata": { "labels": { "a.b/c": "d" } } } })),
        spec(json!({ "machineTemplate": { "spec": { "infrastructureRef": { "name": "other" } } } })),
        spec(json!({ "machineTemplate": { "spec": { "deletion": { "nodeDrainTimeoutSeconds": 1 } } } })),
        cluster_configuration(json!({ "etcd": { "local": { "extraArgs": [{ "name": "a", "value": "b" }] } } })),
        cluster_configuration(json!({ "dns": { "imageRepository": "r" }, "imageRepository": "r" })),
        cluster_configuration(json!({ "featureGates": { "a": true }, "encryptionAlgorithm": "RSA-4096" })),
        cluster_configuration(json!({ "apiServer": { "certSANs": ["a"] }, "certificateValidityPeriodDays": 9 })),
        cluster_configuration(json!({ "controllerManager": { "extraArgs": [{ "name": "a", "value": "" }] } })),
        cluster_configuration(json!({ "scheduler": { "extraArgs": [{ "name": "a", "value": "" }] } })),
        config(json!({ "initConfiguration": {
            "bootstrapTokens": [{ "token": "abcdef.0123456789abcdef" }],
            "localAPIEndpoint": { "bindPort": 1 },
            "nodeRegistration": { "name": "n", "taints": [] },
            "patches": { "directory": "/p" },
            "skipPhases": ["a"],
            "timeouts": { "discoverySeconds": 1 },
        } })),
        config(json!({ "joinConfiguration": {
            "caCertPath": "/ca",
            "controlPlane": { "localAPIEndpoint": { "bindPort": 1 } },
            "discovery": { "bootstrapToken": { "token": "t" } },
            "nodeRegistration": { "name": "n" },
            "patches": { "directory": "/p" },
            "skipPhases": ["a"],
            "timeouts": { "discoverySeconds": 1 },
        } })),
        config(json!({
            "files": [{ "path": "/a" }], "diskSetup": { "filesystems": [{ "device": "/dev/sda", "filesystem": "ext4" }] }, "mounts": [["a", "b"]],
            "bootCommands": ["a"], "preKubeadmCommands": ["a"], "postKubeadmCommands": ["a"],
            "users": [{ "name": "a" }], "ntp": { "enabled": true }, "verbosity": 1,
        })),
        config(json!({ "format": "ignition", "ignition": { "containerLinuxConfig": { "strict": true } } })),
    ];
    for change in changes {
        check_change(json!({}), change, &[]);
    }
}

#[test]
fn other_fields_cannot_be_modified() {
    let fields = [
        ("controlPlaneEndpoint", json!("a"), json!("b")),
        ("certificatesDir", json!("/a"), json!("/b")),
        ("caCertificateValidityPeriodDays", json!(100), json!(200)),
    ];
    for (field, before, after) in fields {
        let error = format!("spec.kubeadmConfigSpec.clusterConfiguration.{field}: Forbidden: cannot be modified");
        let with = |value: &Value| cluster_configuration(json!({ "imageRepository": "r", field: value }));
        let without = || cluster_configuration(json!({ "imageRepository": "r" }));
        check_change(with(&before), with(&before), &[]);
        check_change(with(&before), with(&after), &[&error]);
        check_change(with(&before), without(), &[&error]);
        check_change(without(), with(&after), &[&error]);
        check_change(json!({}), with(&after), &[&error]);
    }
}

/// As upstream has it: what may change piece by piece may not go as a whole.
#[test]
fn whole_configurations_cannot_be_removed() {
    let check_removal = |with: Value, removed: &str| {
        let with_and = config(json!({ "verbosity": 1, removed: with }));
        let error = format!("spec.kubeadmConfigSpec.{removed}: Forbidden: cannot be modified");
        check_change(with_and, config(json!({ "verbosity": 1 })), &[&error]);
    };
    check_removal(json!({ "imageRepository": "r" }), "clusterConfiguration");
    check_removal(json!({ "skipPhases": ["a"] }), "initConfiguration");
    check_removal(json!({ "skipPhases": ["a"] }), "joinConfiguration");
    check_change(
        config(json!({ "initConfiguration": { "skipPhases": ["a"], "patches": { "directory": "/p" } } })),
        config(json!({ "initConfiguration": { "skipPhases": ["a"] } })),
        &[],
    );
}

#[test]
fn no_minor_version_is_left_out() {
    let version = |version: &str| spec(json!({ "version": version }));
    for good in ["v1.31.0", "v1.31.9", "v1.32.4", "v1.32.0-rc.1", "v1.29.0"] {
        check_change(version("v1.31.5"), version(good), &[]);
    }
    for wrong in ["v1.33.0", "v1.33.0-rc.1", "v2.0.0"] {
        let error = format!("spec.version: Forbidden: going from v1.31.5 to {wrong} leaves out a minor version");
        check_change(version("v1.31.5"), version(wrong), &[&error]);
    }
}

#[test]
fn version_after_an_unreadable_one_is_refused() {
    let error = r#"spec.version: Invalid value: "v1.31.0": the version it replaces, "vx", is not a semantic version"#;
    check_change(spec(json!({ "version": "vx" })), json!({}), &[error]);
}

#[test]
fn etcd_does_not_change_between_local_and_external() {
    let external = || cluster_configuration(json!({ "imageRepository": "r", "etcd": external_etcd() }));
    let local = || cluster_configuration(json!({ "imageRepository": "r", "etcd": { "local": { "dataDir": "/d" } } }));
    check_change(external(), external(), &[]);
    check_change(local(), cluster_configuration(json!({ "imageRepository": "r" })), &[]);
    let error = "spec.kubeadmConfigSpec.clusterConfiguration.etcd.external: Forbidden: must not change between local \
                 and external etcd";
    check_change(external(), local(), &[error]);
    check_change(local(), external(), &[error]);
}

fn dns(tag: &str) -> Value {
    cluster_configuration(json!({ "imageRepository": "r", "dns": { "imageTag": tag } }))
}

#[test]
fn coredns_goes_up_between_known_versions() {
    for (from, to) in [("1.6.7", "1.6.9"), ("v1.8.0", "v1.8.3"), ("1.1.3", "1.14.7"), ("1.9.3_a", "1.10.1-b")] {
        check_change(dns(from), dns(to), &[]);
    }
    for (from, to) in [("1.11.3", "1.11.1"), ("1.6.7", "1.6.8"), ("1.8.1", "1.8.3"), ("1.14.7", "2.0.0")] {
        let path = "spec.kubeadmConfigSpec.clusterConfiguration.dns.imageTag";
        let detail = format!("the configuration of CoreDNS cannot be migrated from {from} to {to}");
        check_change(dns(from), dns(to), &[&format!("{path}: Forbidden: {detail}")]);
    }
}

#[test]
fn coredns_version_that_stays_need_not_be_known() {
    check_change(dns("1.99.0"), dns("1.99.0"), &[]);
    check_change(dns("1.99.0"), dns("v1.99.0-b"), &[]);
    check_change(dns("1.99.0"), cluster_configuration(json!({ "imageRepository": "r" })), &[]);
    check_change(cluster_configuration(json!({ "imageRepository": "r" })), dns("1.99.0"), &[]);
}

#[test]
fn coredns_is_the_users_when_it_is_skipped() {
    let mut new = dns("1.99.0");
    new["metadata"] = json!({ "annotations": { SKIP_COREDNS: "" } });
    check_change(dns("1.11.3"), new, &[]);
}

#[test]
fn coredns_tag_after_an_unreadable_one_is_refused() {
    let path = "spec.kubeadmConfigSpec.clusterConfiguration.dns.imageTag";
    let detail = r#"the tag it replaces, "latest", is not a semantic version"#;
    check_change(dns("latest"), dns("1.11.3"), &[&format!(r#"{path}: Invalid value: "1.11.3": {detail}"#)]);
}
