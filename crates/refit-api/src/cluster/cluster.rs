//! Cluster: what the Machines of one Kubernetes cluster have in common.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{ConditionPolarity, ContractVersionedObjectReference, StatusVersion, Topology, V1Beta1Condition};
use crate::resource::{Column, Definition, condition, is_default, resource};
use crate::schema;

resource! {
    /// A Kubernetes cluster: its control plane, its infrastructure and its network.
    Cluster in Namespaced {
        required { spec: ClusterSpec }
        optional { status: ClusterStatus }
    }
    Definition {
        group: super::GROUP,
        version: super::VERSION,
        plural: "clusters",
        short_names: &["cl"],
        columns: &[
            Column::string("ClusterClass", ".spec.topology.classRef.name", "The ClusterClass it was written for"),
            Column::string("Available", condition!("Available"), "Whether it is available"),
            Column::integer("CP Desired", ".status.controlPlane.desiredReplicas", "Control plane machines wanted"),
            Column::integer("CP Current", ".status.controlPlane.replicas", "Control plane machines that exist").wide(),
            Column::integer("CP Ready", ".status.controlPlane.readyReplicas", "Control plane machines that are ready").wide(),
            Column::integer("CP Available", ".status.controlPlane.availableReplicas", "Control plane machines that are available"),
            Column::integer("CP Up-to-date", ".status.controlPlane.upToDateReplicas", "Control plane machines that match their template"),
            Column::integer("W Desired", ".status.workers.desiredReplicas", "Worker machines wanted"),
            Column::integer("W Current", ".status.workers.replicas", "Worker machines that exist").wide(),
            Column::integer("W Ready", ".status.workers.readyReplicas", "Worker machines that are ready").wide(),
            Column::integer("W Available", ".status.workers.availableReplicas", "Worker machines that are available"),
            Column::integer("W Up-to-date", ".status.workers.upToDateReplicas", "Worker machines that match their template"),
            Column::paused(),
            Column::string("Phase", ".status.phase", "What it is doing"),
            Column::age(),
            Column::string("Version", ".spec.topology.version", "The Kubernetes version that its topology asks for"),
        ],
        ..Definition::BASE
    }
}

/// What a Cluster should be.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct ClusterSpec {
    /// Stops the controllers of the Cluster and of everything that belongs to it.
    pub paused: Option<bool>,
    /// The network of the Cluster.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cluster_network: ClusterNetwork,
    /// Where the API server of the Cluster is reached.
    #[serde(default, skip_serializing_if = "is_default")]
    pub control_plane_endpoint: APIEndpoint,
    /// The control plane provider's object.
    pub control_plane_ref: Option<ContractVersionedObjectReference>,
    /// The infrastructure provider's object.
    pub infrastructure_ref: Option<ContractVersionedObjectReference>,
    /// What upstream makes the rest of the Cluster from. Kept, not reconciled.
    pub topology: Option<Topology>,
    /// Further conditions that count towards `Available`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(min = 1, max = 32),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["conditionType"])
    )]
    pub availability_gates: Vec<ClusterAvailabilityGate>,
}

/// The network of a Cluster.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct ClusterNetwork {
    /// The port that the API server listens on.
    #[schemars(range(min = 1, max = 65535))]
    pub api_server_port: Option<i32>,
    /// The addresses of Services.
    pub services: Option<NetworkRanges>,
    /// The addresses of Pods.
    pub pods: Option<NetworkRanges>,
    /// The DNS domain of Services.
    #[schemars(length(min = 1, max = 253))]
    pub service_domain: Option<String>,
}

/// Ranges of addresses.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkRanges {
    /// The ranges in CIDR notation.
    #[schemars(
        length(min = 1, max = 100),
        inner(length(min = 1, max = 43)),
        extend("x-kubernetes-list-type" = "atomic")
    )]
    pub cidr_blocks: Vec<String>,
}

/// Where an API server is reached.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct APIEndpoint {
    /// Its host name or address.
    #[schemars(length(min = 1, max = 512))]
    pub host: Option<String>,
    /// Its port.
    #[schemars(range(min = 1, max = 65535))]
    pub port: Option<i32>,
}

/// A condition of the Cluster that counts towards its `Available`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterAvailabilityGate {
    /// The type of the condition.
    #[schemars(length(min = 1, max = 316), regex(pattern = schema::CONDITION_TYPE))]
    pub condition_type: String,
    /// Which status of the condition is the good one; `Positive` when unset.
    pub polarity: Option<ConditionPolarity>,
}

/// What was observed of a Cluster.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct ClusterStatus {
    /// What is true of it at the moment, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "schema::Conditions")]
    pub conditions: Vec<Condition>,
    /// What of the Cluster's start has happened. Never taken back.
    #[serde(default, skip_serializing_if = "is_default")]
    pub initialization: ClusterInitializationStatus,
    /// The machines of the control plane.
    pub control_plane: Option<ClusterReplicasStatus>,
    /// The worker machines.
    pub workers: Option<ClusterReplicasStatus>,
    /// Where the infrastructure provider can put machines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(min = 1, max = 100),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"])
    )]
    pub failure_domains: Vec<FailureDomain>,
    /// What it is doing, in one word.
    pub phase: Option<ClusterPhase>,
    /// The generation that this status is about.
    #[schemars(range(min = 1))]
    pub observed_generation: Option<i64>,
    /// What older versions of the API reported.
    pub deprecated: Option<ClusterDeprecatedStatus>,
}

/// What of a Cluster's start has happened. Never taken back.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct ClusterInitializationStatus {
    /// The infrastructure is there.
    pub infrastructure_provisioned: Option<bool>,
    /// The API server takes requests.
    pub control_plane_initialized: Option<bool>,
}

/// How many machines of the control plane, or how many workers, a Cluster has.
///
/// Upstream has this twice with the same fields: `ClusterControlPlaneStatus` and `WorkersStatus`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterReplicasStatus {
    /// How many machines are wanted.
    pub desired_replicas: Option<i32>,
    /// How many there are.
    pub replicas: Option<i32>,
    /// How many of them match their template.
    pub up_to_date_replicas: Option<i32>,
    /// How many of them are ready.
    pub ready_replicas: Option<i32>,
    /// How many of them are available.
    pub available_replicas: Option<i32>,
    /// The Kubernetes versions that they run, lowest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 32), extend("x-kubernetes-list-type" = "atomic"))]
    pub versions: Vec<StatusVersion>,
    /// The Kubernetes versions still to go through, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 32), extend("x-kubernetes-list-type" = "atomic"))]
    pub upgrade_plan: Vec<StatusUpgradePlanVersion>,
}

/// One step of an upgrade through several versions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatusUpgradePlanVersion {
    /// The Kubernetes version.
    #[schemars(length(min = 1, max = 256))]
    pub version: String,
}

/// A part of the infrastructure that fails on its own.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailureDomain {
    /// Its name.
    #[schemars(length(min = 1, max = 256))]
    pub name: String,
    /// Whether machines of the control plane may be in it.
    pub control_plane: Option<bool>,
    /// What the provider says about it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, String>,
}

/// What a Cluster is doing, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ClusterPhase {
    /// Nothing has happened yet.
    Pending,
    /// The infrastructure or the control plane is in the making.
    Provisioning,
    /// The infrastructure is there and the API can be reached.
    Provisioned,
    /// It is being deleted.
    Deleting,
    /// Never written any more.
    Failed,
    /// Cannot be told.
    Unknown,
}

/// What older versions of the API reported.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterDeprecatedStatus {
    /// What v1beta1 reported.
    pub v1beta1: Option<ClusterV1Beta1DeprecatedStatus>,
}

/// What v1beta1 reported of a Cluster.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterV1Beta1DeprecatedStatus {
    /// Conditions in the old shape.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<V1Beta1Condition>,
    /// Why the Cluster failed for good, in one word.
    pub failure_reason: Option<String>,
    /// Why the Cluster failed for good.
    #[schemars(length(min = 1, max = 10240))]
    pub failure_message: Option<String>,
}
