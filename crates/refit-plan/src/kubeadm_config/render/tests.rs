//! Bootstrap data as files to read. `UPDATE_GOLDEN=1` writes them anew; the diff shows what has changed.

use std::path::Path;

use refit_api::bootstrap::KubeadmConfigSpec;
use refit_api::cluster::NetworkRanges;
use serde_json::{Value, json};

use super::*;
use crate::testing::{cluster, machine};

/// Every field that goes into kubeadm's documents of a first Machine.
fn init() -> Value {
    let component = json!({
        "extraArgs": [{ "name": "v", "value": "2" }],
        "extraEnvs": [{ "name": "A", "value": "b" }],
        "extraVolumes": [{ "name": "n", "hostPath": "/h", "mountPath": "/m", "readOnly": true, "pathType": "File" }],
    });
    let mut api_server = component.clone();
    api_server["certSANs"] = json!(["c.example"]);
    json!({
        "clusterConfiguration": {
            "apiServer": api_server,
            "controllerManager": component,
            "scheduler": component,
            "etcd": { "local": {
                "imageTag": "3.6.5-0", "dataDir": "/data", "extraArgs": [{ "name": "quota-backend-bytes", "value": "8" }],
                "extraEnvs": [{ "name": "A", "value": "b" }], "serverCertSANs": ["s"], "peerCertSANs": ["p"],
            } },
            "controlPlaneEndpoint": "c.example:6443",
            "dns": { "imageRepository": "registry.example", "imageTag": "v1.12.0" },
            "certificatesDir": "/etc/kubernetes/pki",
            "imageRepository": "registry.example",
            "featureGates": { "ControlPlaneKubeletLocalMode": true },
            "certificateValidityPeriodDays": 90,
            "caCertificateValidityPeriodDays": 3650,
            "encryptionAlgorithm": "ECDSA-P256",
        },
        "initConfiguration": {
            "bootstrapTokens": [{ "token": "abcdef.0123456789abcdef", "ttlSeconds": 3600, "usages": ["signing"] }],
            "nodeRegistration": node(),
            "localAPIEndpoint": { "advertiseAddress": "10.0.0.1", "bindPort": 6443 },
            "skipPhases": ["addon/kube-proxy"],
            "patches": { "directory": "/patches" },
            "timeouts": timeouts(),
        },
        "verbosity": 5,
    })
}

fn node() -> Value {
    json!({
        "name": "{{ ds.meta_data.local_hostname }}",
        "criSocket": "unix:///run/containerd/containerd.sock",
        "kubeletExtraArgs": [{ "name": "node-labels", "value": "a=b,c=d" }],
        "ignorePreflightErrors": ["NumCPU"],
        "imagePullPolicy": "IfNotPresent",
        "imagePullSerial": false,
        "taints": [],
    })
}

fn timeouts() -> Value {
    json!({
        "controlPlaneComponentHealthCheckSeconds": 240, "kubeletHealthCheckSeconds": 60,
        "kubernetesAPICallSeconds": 61, "etcdAPICallSeconds": 120, "tlsBootstrapSeconds": 300,
        "discoverySeconds": 301,
    })
}

fn join() -> Value {
    json!({ "joinConfiguration": {
        "nodeRegistration": node(),
        "caCertPath": "/etc/kubernetes/pki/ca.crt",
        "discovery": {
            "bootstrapToken": {
                "token": "abcdef.0123456789abcdef", "apiServerEndpoint": "c.example:6443",
                "caCertHashes": ["sha256:1"],
            },
            "tlsBootstrapToken": "abcdef.0123456789abcdef",
        },
        "skipPhases": ["preflight"],
        "patches": { "directory": "/patches" },
        "timeouts": timeouts(),
    } })
}

/// Everything around kubeadm.
fn host() -> Value {
    json!({
        "bootCommands": ["swapoff -a"],
        "preKubeadmCommands": ["hostnamectl set-hostname '{{ ds.meta_data.hostname }}'", "echo \"a: b\""],
        "postKubeadmCommands": ["touch /done"],
        "ntp": { "enabled": true, "servers": ["pool.example"] },
        "diskSetup": {
            "partitions": [
                { "device": "/dev/sdb", "layout": true, "overwrite": false, "tableType": "gpt" },
                { "device": "/dev/sdc", "diskLayout": [
                    { "percentage": 60, "partitionType": "LVM" }, { "percentage": 40 },
                ] },
            ],
            "filesystems": [{
                "device": "/dev/sdb", "filesystem": "ext4", "label": "data", "partition": "auto", "overwrite": true,
                "extraOpts": ["-F"],
            }],
        },
        "mounts": [["LABEL=data", "/data", "auto", "defaults,nofail"]],
    })
}

fn sources() -> Sources {
    let files = json!([
        { "path": "/etc/motd", "content": "hello\n", "permissions": "0644", "owner": "root:root", "append": true },
        { "path": "/etc/version", "content": "{{ .controlPlane.version }}\n", "contentFormat": "Template" },
        { "path": "/etc/blob", "content": "aGk=", "encoding": "base64" },
    ]);
    let users = json!([{
        "name": "admin", "gecos": "An Admin", "groups": "wheel,users", "homeDir": "/home/admin", "inactive": false,
        "shell": "/bin/bash", "passwd": "$6$hash", "primaryGroup": "admin", "lockPassword": false,
        "sudo": "ALL=(ALL) NOPASSWD:ALL", "sshAuthorizedKeys": ["ssh-ed25519 AAAA admin@example"],
    }]);
    Sources {
        files: serde_json::from_value(files).expect("they must decode"),
        users: serde_json::from_value(users).expect("they must decode"),
        control_plane_version: Some("v1.34".to_owned()),
    }
}

fn certificates() -> Vec<CertificateFile> {
    let file = |path: &str, content: &str, is_private| CertificateFile {
        path: format!("/etc/kubernetes/pki/{path}"),
        content: content.to_owned(),
        is_private,
    };
    vec![
        file("ca.crt", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n", false),
        file("ca.key", "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n", true),
    ]
}

fn rendered(spec: Value, role: Role, version: &str, sources: &Sources) -> Result<String, RenderError> {
    let spec: KubeadmConfigSpec = serde_json::from_value(spec).expect("it must decode");
    let (mut cluster, mut machine) = (cluster(), machine("m"));
    machine.spec.version = Some(version.to_owned());
    let network = &mut cluster.spec.cluster_network;
    network.service_domain = Some("cluster.local".to_owned());
    let ranges =
        |blocks: &[&str]| Some(NetworkRanges { cidr_blocks: blocks.iter().map(|&block| block.to_owned()).collect() });
    network.pods = ranges(&["10.244.0.0/16", "fd00::/48"]);
    network.services = ranges(&["10.96.0.0/12"]);
    let certificates = certificates();
    let facts = Facts { cluster: &cluster, machine: &machine, certificates: &certificates, sources };
    render(&spec, role, &facts).map(|data| data.value)
}

#[expect(clippy::disallowed_methods, reason = "a switch for people who run the test, not for what is tested")]
fn check(name: &str, spec: Value, role: Role, version: &str, sources: &Sources) {
    let text = rendered(spec, role, version, sources).expect("it must be rendered");
    let yaml: Value = serde_saphyr::from_str(&text).expect("it must be YAML");
    assert!(yaml["write_files"].as_array().is_some_and(|files| files.len() > 1), "{text}");
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bootstrap").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&golden, &text).expect("it must be written");
    }
    let expected = std::fs::read_to_string(&golden).unwrap_or_default();
    assert_eq!(text, expected, "{} has changed; UPDATE_GOLDEN=1 accepts it", golden.display());
}

fn merged(mut one: Value, other: Value) -> Value {
    crate::merge::apply(&mut one, &other);
    one
}

#[test]
fn bootstrap_data_reads_as_before() {
    let none = Sources::default();
    check("init-v1beta4.yaml", init(), Role::Init, "v1.34.0", &none);
    check("init-v1beta3.yaml", init(), Role::Init, "v1.30.9", &none);
    let control_plane = json!({ "joinConfiguration": { "controlPlane": {
        "localAPIEndpoint": { "advertiseAddress": "10.0.0.2", "bindPort": 6443 },
    } } });
    check(
        "join-control-plane-v1beta4.yaml",
        merged(join(), control_plane),
        Role::JoinControlPlane,
        "v1.35.0-rc.1",
        &none,
    );
    check("join-worker-v1beta3.yaml", join(), Role::JoinWorker, "v1.30.0", &none);
    check("join-worker-host.yaml", merged(join(), host()), Role::JoinWorker, "v1.34.0", &sources());
    let by_file = json!({ "joinConfiguration": { "discovery": {
        "bootstrapToken": null, "tlsBootstrapToken": null,
        "file": { "kubeConfigPath": "/run/kubeadm/discovery.conf", "kubeConfig": {
            "cluster": { "server": "https://c.example:6443", "certificateAuthorityData": "Q0E=" },
            "user": { "exec": { "command": "login", "args": ["--now"], "env": [{ "name": "A", "value": "b" }] } },
        } },
    } } });
    check("join-worker-by-file.yaml", merged(join(), by_file), Role::JoinWorker, "v1.34.0", &none);
}

#[test]
fn an_empty_spec_is_enough() {
    let none = Sources::default();
    let text = rendered(json!({}), Role::Init, "v1.34.0", &none).expect("it must be rendered");
    assert!(text.contains("kubeadm init --config /run/kubeadm/kubeadm.yaml && echo success"), "{text}");
}

#[test]
fn what_cannot_be_rendered_says_what_to_change() {
    let error = |version: &str, sources: &Sources| {
        rendered(json!({}), Role::JoinWorker, version, sources).expect_err("it must be refused").to_string()
    };
    assert_eq!(error("v1.21.9", &Sources::default()), "Kubernetes v1.21.9 is not supported; use v1.22.0 or later");
    let long = File { path: "/long".to_owned(), content: Some("x".repeat(MAX_DATA_BYTES)), ..File::default() };
    let long = Sources { files: vec![long], ..Sources::default() };
    assert!(error("v1.34.0", &long).ends_with("make spec.files smaller"));
    let unknown = Sources { control_plane_version: None, ..sources() };
    assert!(error("v1.34.0", &unknown).starts_with("spec.files: /etc/version: the version"));
}
