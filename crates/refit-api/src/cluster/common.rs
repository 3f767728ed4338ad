//! Types that several kinds of Cluster API share.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::schema;

/// Points to an object of another provider in the same namespace.
///
/// It names no version: the version to use follows from the contract labels on the CRD.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContractVersionedObjectReference {
    /// The API group of the object.
    #[schemars(length(min = 1, max = 253), regex(pattern = schema::DNS_SUBDOMAIN))]
    pub api_group: String,
    /// The kind of the object.
    #[schemars(length(min = 1, max = 63), regex(pattern = schema::KIND))]
    pub kind: String,
    /// The name of the object.
    #[schemars(length(min = 1, max = 253), regex(pattern = schema::DNS_SUBDOMAIN))]
    pub name: String,
}

/// Labels and annotations that a template gives to the objects made from it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct ObjectMeta {
    /// Labels of the object.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Annotations of the object.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

/// A taint that a Machine puts on its Node.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineTaint {
    /// The key of the taint.
    #[schemars(
        length(min = 1, max = 317),
        regex(
            pattern = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$"
        )
    )]
    pub key: String,
    /// The value of the taint.
    #[schemars(length(min = 1, max = 63), regex(pattern = r"^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$"))]
    pub value: Option<String>,
    /// What the taint does to pods that do not tolerate it.
    pub effect: TaintEffect,
    /// For how long the taint is kept on the Node.
    pub propagation: TaintPropagation,
}

/// What a taint does to pods that do not tolerate it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum TaintEffect {
    NoSchedule,
    PreferNoSchedule,
    NoExecute,
}

/// For how long a taint is kept on the Node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum TaintPropagation {
    /// Put back whenever it is missing, removed when it leaves the Machine.
    Always,
    /// Set once, when the Node first appears.
    OnInitialization,
}

/// A condition of the Machine that counts towards its `Ready`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineReadinessGate {
    /// The type of the condition.
    #[schemars(length(min = 1, max = 316), regex(pattern = schema::CONDITION_TYPE))]
    pub condition_type: String,
    /// Which status of the condition is the good one; `Positive` when unset.
    pub polarity: Option<ConditionPolarity>,
}

/// Which status of a condition is the good one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ConditionPolarity {
    /// `True` is good.
    Positive,
    /// `False` is good.
    Negative,
}

/// How long the steps of a Machine's deletion may take.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct MachineDeletionSpec {
    /// For how long draining the Node is tried; 0 or unset: without limit.
    #[schemars(range(min = 0))]
    pub node_drain_timeout_seconds: Option<i32>,
    /// For how long the volumes of the Node are waited for; 0 or unset: without limit.
    #[schemars(range(min = 0))]
    pub node_volume_detach_timeout_seconds: Option<i32>,
    /// For how long deleting the Node object is tried; 10 when unset, 0: without limit.
    #[schemars(range(min = 0))]
    pub node_deletion_timeout_seconds: Option<i32>,
}

/// How many machines run one version.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatusVersion {
    /// The Kubernetes version.
    #[schemars(length(min = 1, max = 256))]
    pub version: String,
    /// The number of machines that run it.
    #[schemars(range(min = 1))]
    pub replicas: Option<i32>,
}

/// A condition in the shape that Cluster API used before v1beta2.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct V1Beta1Condition {
    /// The type of the condition.
    #[serde(rename = "type")]
    #[schemars(length(min = 1, max = 256))]
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// How bad it is, when the status is not the good one.
    #[schemars(length(max = 32))]
    pub severity: Option<String>,
    /// Since when the condition has this status.
    #[schemars(with = "schema::Time")]
    pub last_transition_time: Time,
    /// Why, in one word.
    #[schemars(length(min = 1, max = 256))]
    pub reason: Option<String>,
    /// Why, in words.
    #[schemars(length(min = 1, max = 10240))]
    pub message: Option<String>,
}

/// What to do in place's stead with a change that no extension covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum InPlaceFallback {
    /// Replace the Machines.
    RollingUpdate,
}

/// How new Machines are named.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct MachineNamingSpec {
    /// The name, with `{{ .cluster.name }}`, `{{ .machineSet.name }}` and `{{ .random }}` filled in.
    #[schemars(length(min = 1, max = 256))]
    pub template: Option<String>,
}

/// Which Machines go first when there are too many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum MachineSetDeletionOrder {
    /// In the order of their names.
    Random,
    /// The youngest.
    Newest,
    /// The oldest.
    Oldest,
}
