//! What was observed of a KubeadmControlPlane.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::cluster::{StatusVersion, V1Beta1Condition};
use crate::resource::is_default;
use crate::schema;

/// What was observed of a KubeadmControlPlane.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct KubeadmControlPlaneStatus {
    /// What is true of it at the moment, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "schema::Conditions")]
    pub conditions: Vec<Condition>,
    /// What of its start has happened. Never taken back.
    #[serde(default, skip_serializing_if = "is_default")]
    pub initialization: KubeadmControlPlaneInitializationStatus,
    /// The selector of its Machines in text form, for the scale subresource.
    #[schemars(length(min = 1, max = 4096))]
    pub selector: Option<String>,
    /// How many Machines there are.
    pub replicas: Option<i32>,
    /// How many of them are ready.
    pub ready_replicas: Option<i32>,
    /// How many of them are available.
    pub available_replicas: Option<i32>,
    /// How many of them match the spec.
    pub up_to_date_replicas: Option<i32>,
    /// The Kubernetes versions that the Machines run, lowest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(min = 1, max = 100),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["version"])
    )]
    pub versions: Vec<StatusVersion>,
    /// The lowest Kubernetes version that a Machine runs.
    #[schemars(length(min = 1, max = 256))]
    pub version: Option<String>,
    /// The generation that this status is about.
    #[schemars(range(min = 1))]
    pub observed_generation: Option<i64>,
    /// The last time an unhealthy Machine was replaced.
    pub last_remediation: Option<LastRemediationStatus>,
    /// What older versions of the API reported.
    pub deprecated: Option<KubeadmControlPlaneDeprecatedStatus>,
}

/// What of a KubeadmControlPlane's start has happened. Never taken back.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct KubeadmControlPlaneInitializationStatus {
    /// It can be asked: `kubeadm init` has run and its API server has answered.
    pub control_plane_initialized: Option<bool>,
}

/// The last time an unhealthy Machine was replaced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LastRemediationStatus {
    /// The Machine that was unhealthy.
    #[schemars(length(min = 1, max = 253))]
    pub machine: String,
    /// When its replacement began.
    #[schemars(with = "schema::Time")]
    pub time: Time,
    /// How many replacements for the same trouble went before.
    #[schemars(range(min = 0))]
    pub retry_count: i32,
}

/// What older versions of the API reported.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KubeadmControlPlaneDeprecatedStatus {
    /// What v1beta1 reported.
    pub v1beta1: Option<KubeadmControlPlaneV1Beta1DeprecatedStatus>,
}

/// What v1beta1 reported of a KubeadmControlPlane.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KubeadmControlPlaneV1Beta1DeprecatedStatus {
    /// Conditions in the old shape.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<V1Beta1Condition>,
    /// Why it failed for good, in one word.
    pub failure_reason: Option<String>,
    /// Why it failed for good.
    #[schemars(length(min = 1, max = 10240))]
    pub failure_message: Option<String>,
    /// Machines that match the spec, as v1beta1 counted them.
    pub updated_replicas: Option<i32>,
    /// Machines that are ready, as v1beta1 counted them.
    pub ready_replicas: Option<i32>,
    /// Machines still missing, as v1beta1 counted them.
    pub unavailable_replicas: Option<i32>,
}
