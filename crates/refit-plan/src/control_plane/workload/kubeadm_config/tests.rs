use refit_api::bootstrap::{
    APIServer, Arg, DNS, EncryptionAlgorithmType, EnvVar, Etcd, ExternalEtcd, LocalEtcd, Scheduler,
};

use super::*;

fn version(text: &str) -> KubernetesVersion {
    KubernetesVersion::parse_prefixed(text).expect("the version must be one")
}

fn arg(name: &str, value: &str) -> Arg {
    Arg { name: name.to_owned(), value: value.to_owned() }
}

/// As kubeadm writes it, with something that nobody here knows.
fn document(api_version: &str, flags: Value) -> Value {
    json!({
        "apiVersion": format!("kubeadm.k8s.io/{api_version}"),
        "kind": "ClusterConfiguration",
        "apiServer": { "extraArgs": flags, "timeoutForControlPlane": "4m0s", "unknown": 1 },
        "certificatesDir": "/etc/kubernetes/pki",
        "clusterName": "demo",
        "controlPlaneEndpoint": "api.example:6443",
        "controllerManager": {},
        "dns": {},
        "etcd": { "local": { "dataDir": "/var/lib/etcd", "imageTag": "old" } },
        "imageRepository": "registry.k8s.io",
        "kubernetesVersion": "v1.30.1",
        "networking": { "dnsDomain": "cluster.local" },
        "scheduler": null,
        "fieldOfTomorrow": { "a": [1, 2] },
    })
}

fn configuration() -> ClusterConfiguration {
    ClusterConfiguration {
        api_server: APIServer {
            extra_args: vec![arg("v", "2"), arg("audit-log-path", "/var/log/a")],
            extra_envs: Some(vec![EnvVar { name: "A".to_owned(), ..EnvVar::default() }]),
            cert_sans: vec!["api.example".to_owned()],
            ..APIServer::default()
        },
        scheduler: Scheduler { extra_args: vec![arg("v", "4")], ..Scheduler::default() },
        etcd: Etcd {
            local: LocalEtcd { extra_args: vec![arg("quota", "1")], ..LocalEtcd::default() },
            ..Etcd::default()
        },
        image_repository: Some("mirror".to_owned()),
        certificate_validity_period_days: Some(30),
        encryption_algorithm: Some(EncryptionAlgorithmType::EcdsaP256),
        feature_gates: [("EtcdLearnerMode".to_owned(), true)].into(),
        ..ClusterConfiguration::default()
    }
}

/// Updates, and checks that doing it again changes nothing.
fn update(document: &Value, to: &str, configuration: &ClusterConfiguration) -> Value {
    let to = version(to);
    let once = updated(document, &to, configuration).expect("the document must be usable");
    assert_eq!(updated(&once, &to, configuration).as_ref(), Ok(&once));
    once
}

#[test]
fn only_the_version_is_written_where_nothing_is_configured() {
    let before = document("v1beta3", json!({ "v": "2" }));
    let after = update(&before, "v1.30.2", &ClusterConfiguration::default());
    let mut expected = before;
    expected["kubernetesVersion"] = json!("v1.30.2");
    assert_eq!(after, expected);
}

#[test]
fn an_older_form_becomes_the_newer_one_and_keeps_what_is_unknown() {
    let before = document("v1beta3", json!({ "v": "2", "audit": "x" }));
    let after = update(&before, "v1.31.0", &ClusterConfiguration::default());
    let mut expected = before;
    expected["apiVersion"] = json!("kubeadm.k8s.io/v1beta4");
    expected["kubernetesVersion"] = json!("v1.31.0");
    expected["apiServer"] =
        json!({ "extraArgs": [{ "name": "audit", "value": "x" }, { "name": "v", "value": "2" }], "unknown": 1 });
    assert_eq!(after, expected);
}

#[test]
fn what_is_configured_is_written_in_the_form_of_the_version() {
    let after = update(&document("v1beta3", json!({})), "v1.33.0", &configuration());
    assert_eq!(after["kubernetesVersion"], "v1.33.0");
    assert_eq!(after["imageRepository"], "mirror");
    assert_eq!(after["featureGates"], json!({ "ControlPlaneKubeletLocalMode": true, "EtcdLearnerMode": true }));
    let server = json!({
        "extraArgs": [{ "name": "v", "value": "2" }, { "name": "audit-log-path", "value": "/var/log/a" }],
        "extraEnvs": [{ "name": "A" }],
        "certSANs": ["api.example"],
        "unknown": 1,
    });
    assert_eq!(after["apiServer"], server);
    assert_eq!(after["scheduler"], json!({ "extraArgs": [{ "name": "v", "value": "4" }] }));
    let local = json!({ "dataDir": "/var/lib/etcd", "extraArgs": [{ "name": "quota", "value": "1" }] });
    assert_eq!(after["etcd"], json!({ "local": local }));
    assert_eq!([&after["certificateValidityPeriod"], &after["encryptionAlgorithm"]], ["720h0m0s", "ECDSA-P256"]);
    for kept in ["certificatesDir", "clusterName", "controlPlaneEndpoint", "networking", "fieldOfTomorrow", "dns"] {
        assert_eq!(after[kept], document("v1beta3", json!({}))[kept], "{kept}");
    }

    let older = update(&document("v1beta3", json!({ "gone": "1" })), "v1.30.9", &configuration());
    assert_eq!(older["apiServer"]["extraArgs"], json!({ "v": "2", "audit-log-path": "/var/log/a" }));
    assert_eq!(older["apiServer"].get("extraEnvs").or(older.get("encryptionAlgorithm")), None);
    assert_eq!(older["featureGates"], json!({ "EtcdLearnerMode": true }));
}

#[test]
fn what_is_configured_no_more_goes() {
    let before = update(&document("v1beta4", json!([])), "v1.36.0", &configuration());
    let less = ClusterConfiguration { image_repository: Some("other".to_owned()), ..ClusterConfiguration::default() };
    let after = update(&before, "v1.36.0", &less);
    assert_eq!(after["apiServer"], json!({ "timeoutForControlPlane": "4m0s", "unknown": 1 }));
    assert_eq!(after["scheduler"], json!({}));
    assert_eq!(after["etcd"], json!({ "local": { "dataDir": "/var/lib/etcd" } }));
    assert_eq!(after.get("featureGates").or(after.get("encryptionAlgorithm")), None);
}

#[test]
fn etcd_stays_where_it_is() {
    let external = ExternalEtcd {
        endpoints: vec!["https://etcd:2379".to_owned()],
        ca_file: "ca".to_owned(),
        cert_file: "cert".to_owned(),
        key_file: "key".to_owned(),
    };
    let etcd = Etcd { external: Some(external), ..Etcd::default() };
    let wanted = ClusterConfiguration { etcd, ..ClusterConfiguration::default() };
    let local = document("v1beta4", json!([]));
    assert_eq!(update(&local, "v1.33.0", &wanted)["etcd"], local["etcd"]);

    let mut elsewhere = local;
    elsewhere["etcd"] = json!({ "external": { "endpoints": ["https://old:2379"], "caFile": "old", "more": 1 } });
    let expected = json!({
        "endpoints": ["https://etcd:2379"], "caFile": "ca", "certFile": "cert", "keyFile": "key", "more": 1,
    });
    assert_eq!(update(&elsewhere, "v1.33.0", &wanted)["etcd"], json!({ "external": expected }));
    assert_eq!(update(&elsewhere, "v1.33.0", &configuration())["etcd"], elsewhere["etcd"]);
}

#[test]
fn what_cannot_be_understood_is_left_alone() {
    let check = |document: Value, expected: &str| {
        let error = updated(&document, &version("v1.33.0"), &configuration()).expect_err("it must be refused");
        assert_eq!(error.to_string(), expected);
    };
    check(json!([]), "it is no object of kind ClusterConfiguration");
    check(json!({ "kind": "InitConfiguration" }), "it is no object of kind ClusterConfiguration");
    let known = "is no version of kubeadm's API that is known; known are kubeadm.k8s.io/v1beta3 and \
                 kubeadm.k8s.io/v1beta4";
    check(document("v1beta5", json!([])), &format!("\"kubeadm.k8s.io/v1beta5\" {known}"));
    check(json!({ "kind": "ClusterConfiguration" }), &format!("\"\" {known}"));
    check(document("v1beta3", json!([])), "apiServer.extraArgs should be an object, as in v1beta3");
    let mut odd = document("v1beta4", json!([]));
    odd["scheduler"] = json!("fast");
    check(odd, "scheduler should be an object");
}

#[test]
fn only_what_is_said_of_coredns_is_written() {
    let of = |repository: Option<&str>, tag: Option<&str>| {
        let dns = DNS { image_repository: repository.map(str::to_owned), image_tag: tag.map(str::to_owned) };
        let wanted = ClusterConfiguration { dns, ..ClusterConfiguration::default() };
        with_dns(&document("v1beta4", json!([])), &wanted).expect("the document must be usable")["dns"].clone()
    };
    assert_eq!(of(None, None), json!({}));
    assert_eq!(of(None, Some("v1.12.0")), json!({ "imageTag": "v1.12.0" }));
    assert_eq!(of(Some("mirror"), None), json!({ "imageRepository": "mirror" }));
}
