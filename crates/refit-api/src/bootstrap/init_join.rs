//! What kubeadm is told about one Machine, when it starts the cluster and when it joins.

use k8s_openapi::api::core::v1::Taint;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::cluster_configuration::one_per_name;
use super::{Arg, Discovery};
use crate::resource::is_default;
use crate::schema;

/// What `kubeadm init` is told about the first control plane Machine.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct InitConfiguration {
    /// Tokens to make.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 100), extend("x-kubernetes-list-type" = "atomic"))]
    pub bootstrap_tokens: Vec<BootstrapToken>,
    /// How the Node is registered.
    #[serde(default, skip_serializing_if = "is_default")]
    pub node_registration: NodeRegistrationOptions,
    /// Where the API server of this Machine listens.
    #[serde(rename = "localAPIEndpoint", default, skip_serializing_if = "is_default")]
    pub local_api_endpoint: APIEndpoint,
    /// Phases of kubeadm to leave out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(min = 1, max = 50),
        inner(length(min = 1, max = 256)),
        extend("x-kubernetes-list-type" = "atomic")
    )]
    pub skip_phases: Vec<String>,
    /// Patches to what kubeadm writes.
    #[serde(default, skip_serializing_if = "is_default")]
    pub patches: Patches,
    /// For how long kubeadm waits for things.
    #[serde(default, skip_serializing_if = "is_default")]
    pub timeouts: Timeouts,
}

/// What `kubeadm join` is told about a Machine.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct JoinConfiguration {
    /// How the Node is registered.
    #[serde(default, skip_serializing_if = "is_default")]
    pub node_registration: NodeRegistrationOptions,
    /// Where the certificate authority is stored on the host.
    #[schemars(length(min = 1, max = 512))]
    pub ca_cert_path: Option<String>,
    /// How the Machine finds the cluster and comes to trust it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub discovery: Discovery,
    /// There, even if empty: the Machine joins as part of the control plane.
    pub control_plane: Option<JoinControlPlane>,
    /// Phases of kubeadm to leave out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(min = 1, max = 50),
        inner(length(min = 1, max = 256)),
        extend("x-kubernetes-list-type" = "atomic")
    )]
    pub skip_phases: Vec<String>,
    /// Patches to what kubeadm writes.
    #[serde(default, skip_serializing_if = "is_default")]
    pub patches: Patches,
    /// For how long kubeadm waits for things.
    #[serde(default, skip_serializing_if = "is_default")]
    pub timeouts: Timeouts,
}

/// How a Machine joins as part of the control plane.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JoinControlPlane {
    /// Where the API server of this Machine listens.
    #[serde(rename = "localAPIEndpoint", default, skip_serializing_if = "is_default")]
    pub local_api_endpoint: APIEndpoint,
}

/// Where an API server listens.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct APIEndpoint {
    /// The IP address that it announces.
    #[schemars(length(min = 1, max = 39))]
    pub advertise_address: Option<String>,
    /// The port.
    #[schemars(range(min = 1))]
    pub bind_port: Option<i32>,
}

/// How a Node is registered.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct NodeRegistrationOptions {
    /// The name of the Node; that of the host when unset.
    #[schemars(length(min = 1, max = 253))]
    pub name: Option<String>,
    /// The socket of the container runtime.
    #[schemars(length(min = 1, max = 512))]
    pub cri_socket: Option<String>,
    /// Taints of the Node. An empty list means none; unset, kubeadm taints control plane Nodes.
    #[schemars(with = "Option<Vec<schema::Taint>>", length(min = 0, max = 100))]
    pub taints: Option<Vec<Taint>>,
    /// Further flags of the kubelet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 100), extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name", "value"],
        "x-kubernetes-validations" = one_per_name("kubeletExtraArgs")
    ))]
    pub kubelet_extra_args: Vec<Arg>,
    /// Checks of kubeadm whose failure is only a warning.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(min = 1, max = 50),
        inner(length(min = 1, max = 512)),
        extend("x-kubernetes-list-type" = "atomic")
    )]
    pub ignore_preflight_errors: Vec<String>,
    /// When kubeadm pulls images.
    pub image_pull_policy: Option<PullPolicy>,
    /// Whether kubeadm pulls one image at a time.
    pub image_pull_serial: Option<bool>,
}

/// When images are pulled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PullPolicy {
    Always,
    IfNotPresent,
    Never,
}

/// A token by which Machines join.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BootstrapToken {
    /// The token: an id of six and a secret of sixteen lowercase letters or digits, with a dot between.
    #[schemars(length(min = 1, max = 23))]
    pub token: String,
    /// What the token is for.
    #[schemars(length(min = 1, max = 512))]
    pub description: Option<String>,
    /// For how long the token is good; a day when unset, 0: for ever.
    #[schemars(range(min = 0))]
    pub ttl_seconds: Option<i32>,
    /// Until when the token is good.
    #[schemars(with = "Option<schema::Time>")]
    pub expires: Option<Time>,
    /// What the token may be used for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(min = 1, max = 100),
        inner(length(min = 1, max = 256)),
        extend("x-kubernetes-list-type" = "atomic")
    )]
    pub usages: Vec<String>,
    /// The groups that whoever uses the token is in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(min = 1, max = 100),
        inner(length(min = 1, max = 256)),
        extend("x-kubernetes-list-type" = "atomic")
    )]
    pub groups: Vec<String>,
}

/// Patches to what kubeadm writes.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct Patches {
    /// The folder on the host with the patches.
    #[schemars(length(min = 1, max = 512))]
    pub directory: Option<String>,
}

/// For how long kubeadm waits for things.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct Timeouts {
    /// A component of the control plane to become healthy.
    #[schemars(range(min = 0))]
    pub control_plane_component_health_check_seconds: Option<i32>,
    /// The kubelet to become healthy.
    #[schemars(range(min = 0))]
    pub kubelet_health_check_seconds: Option<i32>,
    /// A call to the API server.
    #[serde(rename = "kubernetesAPICallSeconds")]
    #[schemars(range(min = 0))]
    pub kubernetes_api_call_seconds: Option<i32>,
    /// A call to etcd.
    #[serde(rename = "etcdAPICallSeconds")]
    #[schemars(range(min = 0))]
    pub etcd_api_call_seconds: Option<i32>,
    /// The kubelet to get its certificate.
    #[schemars(range(min = 0))]
    pub tls_bootstrap_seconds: Option<i32>,
    /// A joining Machine to find the cluster.
    #[schemars(range(min = 0))]
    pub discovery_seconds: Option<i32>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn absent_and_empty_are_kept_apart_where_they_mean_different_things() {
        let check = |written: serde_json::Value| {
            let decoded: JoinConfiguration = serde_json::from_value(written.clone()).expect("it must decode");
            assert_eq!(serde_json::to_value(decoded).expect("it must encode"), written);
        };
        check(json!({}));
        check(json!({ "controlPlane": {} }));
        check(json!({ "nodeRegistration": { "taints": [] } }));
        check(json!({ "nodeRegistration": { "taints": [{ "key": "a", "effect": "NoSchedule" }] } }));
    }
}
