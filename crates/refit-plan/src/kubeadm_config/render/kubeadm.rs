//! What kubeadm reads, in the version of its API that the Machine's kubeadm knows.
//!
//! Cluster API's fields are those of kubeadm's v1beta4, save for durations, which Cluster API counts in seconds and
//! days. v1beta3 lacks some fields, and has flags as maps.

use refit_api::bootstrap::KubeadmConfigSpec;
use refit_api::cluster::{Cluster, Machine, NetworkRanges};
use refit_api::version::KubernetesVersion;
use refit_api::vocabulary::taints::NODE_UNINITIALIZED;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::duration;
use super::yaml;
use crate::kubeadm_config::Role;

const SECONDS_OF_A_DAY: i64 = 24 * 60 * 60;
/// The minor version that brought v1beta4, and the first that Cluster API can start.
const FIRST_V1BETA4: u64 = 31;
const FIRST_V1BETA3: u64 = 22;
/// Cluster API's names for waiting times, and kubeadm's.
const TIMEOUTS: [(&str, &str); 6] = [
    ("controlPlaneComponentHealthCheckSeconds", "controlPlaneComponentHealthCheck"),
    ("kubeletHealthCheckSeconds", "kubeletHealthCheck"),
    ("kubernetesAPICallSeconds", "kubernetesAPICall"),
    ("etcdAPICallSeconds", "etcdAPICall"),
    ("tlsBootstrapSeconds", "tlsBootstrap"),
    ("discoverySeconds", "discovery"),
];
/// Where the flags of components are.
const COMPONENTS: [&str; 4] = ["/apiServer", "/controllerManager", "/scheduler", "/etcd/local"];

/// A version of kubeadm's API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KubeadmApi {
    V1Beta3,
    V1Beta4,
}

impl KubeadmApi {
    /// The newest version that the kubeadm of this Kubernetes version reads. Nothing if it is too old.
    pub fn of(version: &KubernetesVersion) -> Option<Self> {
        match (version.major(), version.minor()) {
            (0, _) => None,
            (1, minor) if minor < FIRST_V1BETA3 => None,
            (1, minor) if minor < FIRST_V1BETA4 => Some(Self::V1Beta3),
            _ => Some(Self::V1Beta4),
        }
    }

    fn api_version(self) -> &'static str {
        match self {
            Self::V1Beta3 => "kubeadm.k8s.io/v1beta3",
            Self::V1Beta4 => "kubeadm.k8s.io/v1beta4",
        }
    }
}

/// The documents that kubeadm is given, as one text.
pub fn documents(
    spec: &KubeadmConfigSpec,
    role: Role,
    api: KubeadmApi,
    cluster: &Cluster,
    machine: &Machine,
) -> String {
    let documents = match role {
        Role::Init => vec![cluster_configuration(spec, api, cluster, machine), init_configuration(spec, api)],
        Role::JoinControlPlane => vec![join_configuration(spec, api)],
        Role::JoinWorker => vec![with_taint(join_configuration(spec, api))],
    };
    documents.iter().map(|document| format!("---\n{}", yaml::write(document))).collect()
}

fn cluster_configuration(spec: &KubeadmConfigSpec, api: KubeadmApi, cluster: &Cluster, machine: &Machine) -> Value {
    let mut document = document(&spec.cluster_configuration, "ClusterConfiguration", api);
    let network = &cluster.spec.cluster_network;
    let ranges = |ranges: &Option<NetworkRanges>| ranges.as_ref().map(|ranges| ranges.cidr_blocks.join(","));
    let networking = [
        ("dnsDomain", network.service_domain.clone()),
        ("podSubnet", ranges(&network.pods)),
        ("serviceSubnet", ranges(&network.services)),
    ];
    let networking = networking.into_iter().filter_map(|(name, value)| Some((name.to_owned(), json!(value?))));
    let networking: Map<String, Value> = networking.collect();
    if !networking.is_empty() {
        document["networking"] = Value::Object(networking);
    }
    document["clusterName"] = json!(cluster.metadata.name);
    document["kubernetesVersion"] = json!(machine.spec.version);
    let ca_days = take(&mut document, "caCertificateValidityPeriodDays");
    let days = take(&mut document, "certificateValidityPeriodDays");
    match api {
        KubeadmApi::V1Beta4 => {
            set_duration(&mut document, "caCertificateValidityPeriod", ca_days, SECONDS_OF_A_DAY);
            set_duration(&mut document, "certificateValidityPeriod", days, SECONDS_OF_A_DAY);
        }
        KubeadmApi::V1Beta3 => {
            take(&mut document, "encryptionAlgorithm");
            for component in COMPONENTS {
                if let Some(component) = document.pointer_mut(component) {
                    take(component, "extraEnvs");
                    flags_as_map(component, "extraArgs");
                }
            }
            let health_check = spec.init_configuration.timeouts.control_plane_component_health_check_seconds;
            if let Some(seconds) = health_check {
                document["apiServer"]["timeoutForControlPlane"] = json!(duration::go(i64::from(seconds)));
            }
        }
    }
    document
}

fn init_configuration(spec: &KubeadmConfigSpec, api: KubeadmApi) -> Value {
    let mut document = document(&spec.init_configuration, "InitConfiguration", api);
    let tokens = document.get_mut("bootstrapTokens").and_then(Value::as_array_mut);
    for token in tokens.into_iter().flatten() {
        let seconds = take(token, "ttlSeconds");
        set_duration(token, "ttl", seconds, 1);
    }
    of_node(&mut document, api);
    document
}

fn join_configuration(spec: &KubeadmConfigSpec, api: KubeadmApi) -> Value {
    let mut document = document(&spec.join_configuration, "JoinConfiguration", api);
    of_node(&mut document, api);
    if document.get("discovery").is_none() {
        document["discovery"] = json!({});
    }
    if let Some(file) = document.pointer_mut("/discovery/file") {
        take(file, "kubeConfig");
    }
    let tls_bootstrap = spec.join_configuration.timeouts.tls_bootstrap_seconds;
    if let (KubeadmApi::V1Beta3, Some(seconds)) = (api, tls_bootstrap) {
        document["discovery"]["timeout"] = json!(duration::go(i64::from(seconds)));
    }
    document
}

/// A worker takes no Pods before the Machine controller has labelled its Node. Only here: the spec stays as it is.
fn with_taint(mut document: Value) -> Value {
    let taint = json!({ "key": NODE_UNINITIALIZED, "effect": "NoSchedule" });
    let taints = &mut document["nodeRegistration"]["taints"];
    match taints {
        Value::Array(all) if all.iter().any(|it| it["key"] == NODE_UNINITIALIZED) => {}
        Value::Array(all) => all.push(taint),
        _ => *taints = json!([taint]),
    }
    document
}

/// What init and join have in common.
fn of_node(document: &mut Value, api: KubeadmApi) {
    let timeouts = take(document, "timeouts");
    match api {
        KubeadmApi::V1Beta4 => set_timeouts(document, timeouts.as_ref()),
        KubeadmApi::V1Beta3 => {
            if let Some(registration) = document.get_mut("nodeRegistration") {
                take(registration, "imagePullSerial");
                flags_as_map(registration, "kubeletExtraArgs");
            }
        }
    }
}

fn set_timeouts(document: &mut Value, timeouts: Option<&Value>) {
    let Some(timeouts) = timeouts else { return };
    let mut renamed = json!({});
    for (ours, kubeadms) in TIMEOUTS {
        set_duration(&mut renamed, kubeadms, timeouts.get(ours).cloned(), 1);
    }
    document["timeouts"] = renamed;
}

fn document(part: &impl Serialize, kind: &str, api: KubeadmApi) -> Value {
    let mut document = serde_json::to_value(part).expect("a spec must encode");
    document["apiVersion"] = json!(api.api_version());
    document["kind"] = json!(kind);
    document
}

fn take(object: &mut Value, field: &str) -> Option<Value> {
    object.as_object_mut()?.remove(field)
}

fn set_duration(object: &mut Value, field: &str, count: Option<Value>, unit: i64) {
    if let Some(count) = count.as_ref().and_then(Value::as_i64) {
        object[field] = json!(duration::go(count.saturating_mul(unit)));
    }
}

/// v1beta3 has flags as a map from name to value.
fn flags_as_map(object: &mut Value, field: &str) {
    let Some(flags) = object.get_mut(field) else { return };
    let named = flags.as_array().into_iter().flatten();
    let pairs = named.filter_map(|flag| Some((flag["name"].as_str()?.to_owned(), flag["value"].clone())));
    *flags = Value::Object(pairs.collect());
}
