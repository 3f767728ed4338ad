//! What kubeadm is told about the whole control plane.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use serde_with::skip_serializing_none;

use super::EnvVar;
use crate::resource::is_default;

/// The configuration of the whole control plane.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct ClusterConfiguration {
    /// The etcd of the cluster; one member per control plane Machine when unset.
    #[serde(default, skip_serializing_if = "is_default")]
    pub etcd: Etcd,
    /// A stable address of the API servers: host or host and port.
    #[schemars(length(min = 1, max = 512))]
    pub control_plane_endpoint: Option<String>,
    /// Settings of the API server.
    #[serde(default, skip_serializing_if = "is_default")]
    pub api_server: APIServer,
    /// Settings of the controller manager.
    #[serde(default, skip_serializing_if = "is_default")]
    pub controller_manager: ControllerManager,
    /// Settings of the scheduler.
    #[serde(default, skip_serializing_if = "is_default")]
    pub scheduler: Scheduler,
    /// The image of CoreDNS.
    #[serde(default, skip_serializing_if = "is_default")]
    pub dns: DNS,
    /// Where certificates are stored on the host.
    #[schemars(length(min = 1, max = 512))]
    pub certificates_dir: Option<String>,
    /// The registry to pull the images of the control plane from.
    #[schemars(length(min = 1, max = 512))]
    pub image_repository: Option<String>,
    /// Feature gates of kubeadm.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub feature_gates: BTreeMap<String, bool>,
    /// For how long new certificates are valid.
    #[schemars(range(min = 1, max = 1095))]
    pub certificate_validity_period_days: Option<i32>,
    /// For how long new certificate authorities are valid.
    #[schemars(range(min = 1, max = 36500))]
    pub ca_certificate_validity_period_days: Option<i32>,
    /// The kind of the keys of new certificates.
    pub encryption_algorithm: Option<EncryptionAlgorithmType>,
}

/// The kind of the keys of new certificates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum EncryptionAlgorithmType {
    #[serde(rename = "ECDSA-P256")]
    EcdsaP256,
    #[serde(rename = "ECDSA-P384")]
    EcdsaP384,
    #[serde(rename = "RSA-2048")]
    Rsa2048,
    #[serde(rename = "RSA-3072")]
    Rsa3072,
    #[serde(rename = "RSA-4096")]
    Rsa4096,
}

/// Settings of the API server.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct APIServer {
    /// Further flags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 100), extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name", "value"],
        "x-kubernetes-validations" = one_per_name("extraArgs")
    ))]
    pub extra_args: Vec<Arg>,
    /// Paths of the host to mount.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 100), extend("x-kubernetes-list-type" = "atomic"))]
    pub extra_volumes: Vec<HostPathMount>,
    /// Further environment variables.
    #[schemars(length(min = 1, max = 100), extend("x-kubernetes-list-type" = "atomic"))]
    pub extra_envs: Option<Vec<EnvVar>>,
    /// Further names for the serving certificate.
    #[serde(rename = "certSANs", default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(min = 1, max = 100),
        inner(length(min = 1, max = 253)),
        extend("x-kubernetes-list-type" = "atomic")
    )]
    pub cert_sans: Vec<String>,
}

/// Settings of the controller manager.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct ControllerManager {
    /// Further flags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 100), extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name", "value"],
        "x-kubernetes-validations" = one_per_name("extraArgs")
    ))]
    pub extra_args: Vec<Arg>,
    /// Paths of the host to mount.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 100), extend("x-kubernetes-list-type" = "atomic"))]
    pub extra_volumes: Vec<HostPathMount>,
    /// Further environment variables.
    #[schemars(length(min = 1, max = 100), extend("x-kubernetes-list-type" = "atomic"))]
    pub extra_envs: Option<Vec<EnvVar>>,
}

/// Settings of the scheduler.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct Scheduler {
    /// Further flags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 100), extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name", "value"],
        "x-kubernetes-validations" = one_per_name("extraArgs")
    ))]
    pub extra_args: Vec<Arg>,
    /// Paths of the host to mount.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 100), extend("x-kubernetes-list-type" = "atomic"))]
    pub extra_volumes: Vec<HostPathMount>,
    /// Further environment variables.
    #[schemars(length(min = 1, max = 100), extend("x-kubernetes-list-type" = "atomic"))]
    pub extra_envs: Option<Vec<EnvVar>>,
}

/// The image of CoreDNS.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct DNS {
    /// The registry to pull from; the `imageRepository` of the cluster when unset.
    #[schemars(length(min = 1, max = 512))]
    pub image_repository: Option<String>,
    /// The tag; what kubeadm chooses when unset.
    #[schemars(length(min = 1, max = 256))]
    pub image_tag: Option<String>,
}

/// The etcd of a cluster: on the control plane Machines, or somewhere else.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct Etcd {
    /// Settings of the etcd that kubeadm runs.
    #[serde(default, skip_serializing_if = "is_default")]
    pub local: LocalEtcd,
    /// An etcd that somebody else runs.
    pub external: Option<ExternalEtcd>,
}

/// Settings of the etcd that kubeadm runs.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct LocalEtcd {
    /// The registry to pull from; the `imageRepository` of the cluster when unset.
    #[schemars(length(min = 1, max = 512))]
    pub image_repository: Option<String>,
    /// The tag; what kubeadm chooses when unset.
    #[schemars(length(min = 1, max = 256))]
    pub image_tag: Option<String>,
    /// Where its data is on the host.
    #[schemars(length(min = 1, max = 512))]
    pub data_dir: Option<String>,
    /// Further flags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 100), extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name", "value"],
        "x-kubernetes-validations" = one_per_name("extraArgs")
    ))]
    pub extra_args: Vec<Arg>,
    /// Further environment variables.
    #[schemars(length(min = 1, max = 100), extend("x-kubernetes-list-type" = "atomic"))]
    pub extra_envs: Option<Vec<EnvVar>>,
    /// Further names for the serving certificate.
    #[serde(rename = "serverCertSANs", default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(min = 1, max = 100),
        inner(length(min = 1, max = 253)),
        extend("x-kubernetes-list-type" = "atomic")
    )]
    pub server_cert_sans: Vec<String>,
    /// Further names for the certificate that members show each other.
    #[serde(rename = "peerCertSANs", default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(min = 1, max = 100),
        inner(length(min = 1, max = 253)),
        extend("x-kubernetes-list-type" = "atomic")
    )]
    pub peer_cert_sans: Vec<String>,
}

/// An etcd that somebody else runs. Its files must be on every control plane Machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExternalEtcd {
    /// The addresses of its members.
    #[schemars(
        length(min = 1, max = 50),
        inner(length(min = 1, max = 512)),
        extend("x-kubernetes-list-type" = "atomic")
    )]
    pub endpoints: Vec<String>,
    /// The file with its certificate authority.
    #[schemars(length(min = 1, max = 512))]
    pub ca_file: String,
    /// The file with the client certificate.
    #[schemars(length(min = 1, max = 512))]
    pub cert_file: String,
    /// The file with the key of the client certificate.
    #[schemars(length(min = 1, max = 512))]
    pub key_file: String,
}

/// A flag of a component.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Arg {
    /// The flag, without dashes before it.
    #[schemars(length(min = 1, max = 256))]
    pub name: String,
    /// The value; it may be empty.
    #[schemars(length(min = 0, max = 1024))]
    pub value: String,
}

/// A path of the host that a component mounts.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostPathMount {
    /// The name of the volume in the pod.
    #[schemars(length(min = 1, max = 512))]
    pub name: String,
    /// The path on the host.
    #[schemars(length(min = 1, max = 512))]
    pub host_path: String,
    /// The path in the pod.
    #[schemars(length(min = 1, max = 512))]
    pub mount_path: String,
    /// Whether the pod may only read it.
    pub read_only: Option<bool>,
    /// What must be at the path of the host.
    pub path_type: Option<String>,
}

/// The rule that a list of flags names each flag once. The list's keys alone would allow one flag with two values.
pub(super) fn one_per_name(field: &str) -> Value {
    json!([{
        "message": format!("{field} name must be unique"),
        "rule": "self.all(x, self.exists_one(y, x.name == y.name))",
    }])
}
