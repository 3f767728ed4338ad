//! SimControlPlane: a control plane without machines, as that of a hosted cluster.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use refit_api::controlplane::GROUP;
use refit_api::resource::{Column, Definition, condition, is_default, resource};
use refit_api::schema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

resource! {
    /// A control plane that somebody else runs: it has no Machines, and is there as soon as its workload cluster is.
    SimControlPlane in Namespaced {
        optional { spec: SimControlPlaneSpec, status: SimControlPlaneStatus }
    }
    Definition {
        group: GROUP,
        version: super::VERSION,
        plural: "simcontrolplanes",
        columns: &[
            Column::cluster_label(),
            Column::string("Available", condition!("Available"), "Whether its API server answers"),
            Column::string("Version", ".status.version", "The Kubernetes version that it runs"),
            Column::paused(),
            Column::age(),
        ],
        ..Definition::BASE
    }
}

/// What a SimControlPlane should be.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SimControlPlaneSpec {
    /// The Kubernetes version to run.
    #[schemars(length(min = 1, max = 256))]
    pub version: Option<String>,
}

/// What was observed of a SimControlPlane.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SimControlPlaneStatus {
    /// What is true of it at the moment, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "schema::Conditions")]
    pub conditions: Vec<Condition>,
    /// What of its start has happened. Never taken back.
    #[serde(default, skip_serializing_if = "is_default")]
    pub initialization: InitializedStatus,
    /// The Kubernetes version that it runs.
    #[schemars(length(min = 1, max = 256))]
    pub version: Option<String>,
    /// No Machine of the Cluster is part of it.
    pub external_managed_control_plane: Option<bool>,
}

/// What of a control plane's start has happened. Never taken back.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InitializedStatus {
    /// Its API server has answered.
    pub control_plane_initialized: Option<bool>,
}
