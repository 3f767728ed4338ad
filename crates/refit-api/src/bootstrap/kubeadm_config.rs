//! KubeadmConfig: how one Machine becomes a Node of its cluster.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{
    ClusterConfiguration, DiskSetup, File, Format, IgnitionSpec, InitConfiguration, JoinConfiguration, NTP, User,
};
use crate::cluster::V1Beta1Condition;
use crate::resource::{Column, Definition, is_default, resource};
use crate::schema;

resource! {
    /// How one Machine becomes a Node of its cluster.
    KubeadmConfig in Namespaced {
        optional { spec: KubeadmConfigSpec, status: KubeadmConfigStatus }
    }
    Definition {
        group: super::GROUP,
        version: super::VERSION,
        plural: "kubeadmconfigs",
        columns: &[
            Column::cluster_label(),
            Column::paused(),
            Column::string("Data secret created", ".status.initialization.dataSecretCreated", "Whether the bootstrap data is in its secret"),
            Column::age(),
        ],
        ..Definition::BASE
    }
}

/// What kubeadm is told, and what is done to the host before and after it runs.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct KubeadmConfigSpec {
    /// The configuration of the whole control plane. Only with `kubeadm init`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cluster_configuration: ClusterConfiguration,
    /// What `kubeadm init` is told beside it: for the first control plane Machine.
    #[serde(default, skip_serializing_if = "is_default")]
    pub init_configuration: InitConfiguration,
    /// What `kubeadm join` is told: for all other Machines.
    #[serde(default, skip_serializing_if = "is_default")]
    pub join_configuration: JoinConfiguration,
    /// Files to write to the host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 200), extend("x-kubernetes-list-type" = "atomic"))]
    pub files: Vec<File>,
    /// Partitions and filesystems to make.
    #[serde(default, skip_serializing_if = "is_default")]
    pub disk_setup: DiskSetup,
    /// Mounts to set up: each the fields of one line of `fstab`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(min = 1, max = 100),
        inner(length(min = 1, max = 100), inner(length(min = 1, max = 512))),
        extend("x-kubernetes-list-type" = "atomic")
    )]
    pub mounts: Vec<Vec<String>>,
    /// Commands to run early, on every start of the host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(min = 1, max = 1000),
        inner(length(min = 1, max = 10240)),
        extend("x-kubernetes-list-type" = "atomic")
    )]
    pub boot_commands: Vec<String>,
    /// Commands to run before kubeadm.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(min = 1, max = 1000),
        inner(length(min = 1, max = 10240)),
        extend("x-kubernetes-list-type" = "atomic")
    )]
    pub pre_kubeadm_commands: Vec<String>,
    /// Commands to run after kubeadm.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(min = 1, max = 1000),
        inner(length(min = 1, max = 10240)),
        extend("x-kubernetes-list-type" = "atomic")
    )]
    pub post_kubeadm_commands: Vec<String>,
    /// Users to add to the host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 100), extend("x-kubernetes-list-type" = "atomic"))]
    pub users: Vec<User>,
    /// Where the host takes its time from.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ntp: NTP,
    /// The format of the bootstrap data; `cloud-config` when unset.
    pub format: Option<Format>,
    /// How much kubeadm prints: its `--v`.
    pub verbosity: Option<i32>,
    /// What goes only into Ignition's format.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ignition: IgnitionSpec,
}

/// What was observed of a KubeadmConfig.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct KubeadmConfigStatus {
    /// What is true of it at the moment, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "schema::Conditions")]
    pub conditions: Vec<Condition>,
    /// What of its start has happened. Never taken back.
    #[serde(default, skip_serializing_if = "is_default")]
    pub initialization: KubeadmConfigInitializationStatus,
    /// The secret with the bootstrap data.
    #[schemars(length(min = 1, max = 253))]
    pub data_secret_name: Option<String>,
    /// The generation that this status is about.
    #[schemars(range(min = 1))]
    pub observed_generation: Option<i64>,
    /// What older versions of the API reported.
    pub deprecated: Option<KubeadmConfigDeprecatedStatus>,
}

/// What of a KubeadmConfig's start has happened. Never taken back.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct KubeadmConfigInitializationStatus {
    /// The bootstrap data is in its secret.
    pub data_secret_created: Option<bool>,
}

/// What older versions of the API reported.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KubeadmConfigDeprecatedStatus {
    /// What v1beta1 reported.
    pub v1beta1: Option<KubeadmConfigV1Beta1DeprecatedStatus>,
}

/// What v1beta1 reported of a KubeadmConfig.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KubeadmConfigV1Beta1DeprecatedStatus {
    /// Conditions in the old shape.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<V1Beta1Condition>,
    /// Why it failed for good, in one word.
    #[schemars(length(min = 1, max = 256))]
    pub failure_reason: Option<String>,
    /// Why it failed for good.
    #[schemars(length(min = 1, max = 10240))]
    pub failure_message: Option<String>,
}
