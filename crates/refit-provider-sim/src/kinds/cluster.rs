//! SimCluster: the network and the API server of a workload cluster.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use refit_api::cluster::APIEndpoint;
use refit_api::resource::{Column, Definition, condition, is_default, resource};
use refit_api::schema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

resource! {
    /// The network and the API server of a simulated workload cluster.
    SimCluster in Namespaced {
        optional { spec: SimClusterSpec, status: SimClusterStatus }
    }
    Definition {
        group: super::INFRASTRUCTURE_GROUP,
        version: super::VERSION,
        plural: "simclusters",
        columns: &[
            Column::cluster_label(),
            Column::string("Ready", condition!("Ready"), "Whether the workload cluster can be reached"),
            Column::string("Host", ".spec.controlPlaneEndpoint.host", "Where its API server listens"),
            Column::integer("Port", ".spec.controlPlaneEndpoint.port", "The port of its API server"),
            Column::paused(),
            Column::age(),
        ],
        ..Definition::BASE
    }
}

/// What a SimCluster should be.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SimClusterSpec {
    /// Where the API server of the workload cluster is reached. Filled in by the provider.
    #[serde(default, skip_serializing_if = "is_default")]
    pub control_plane_endpoint: APIEndpoint,
}

/// What was observed of a SimCluster.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SimClusterStatus {
    /// What is true of it at the moment, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "schema::Conditions")]
    pub conditions: Vec<Condition>,
    /// What of its start has happened. Never taken back.
    #[serde(default, skip_serializing_if = "is_default")]
    pub initialization: ProvisionedStatus,
    /// The workload cluster that was made for it.
    pub workload: Option<WorkloadStatus>,
}

/// What of an infrastructure object's start has happened. Never taken back.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProvisionedStatus {
    /// It is there and can be used.
    pub provisioned: Option<bool>,
}

/// The logical cluster that plays a workload cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadStatus {
    /// The name of the logical cluster.
    pub name: String,
    /// Another one of the same name has another uid, and other credentials.
    pub uid: String,
    /// The address that is in the kubeconfig secret.
    pub server: String,
}
