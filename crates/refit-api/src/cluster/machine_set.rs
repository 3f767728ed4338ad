//! MachineSet: a number of Machines of one template that never changes under them.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{MachineNamingSpec, MachineSetDeletionOrder, MachineTemplateSpec, StatusVersion, V1Beta1Condition};
use crate::resource::{Column, Definition, is_default, resource};
use crate::schema;

resource! {
    /// Keeps a number of Machines of one template.
    MachineSet in Namespaced {
        required { spec: MachineSetSpec }
        optional { status: MachineSetStatus }
    }
    Definition {
        group: super::GROUP,
        version: super::VERSION,
        plural: "machinesets",
        short_names: &["ms"],
        has_scale: true,
        columns: &[
            Column::string("Cluster", ".spec.clusterName", "The Cluster it belongs to"),
            Column::integer("Desired", ".spec.replicas", "Machines wanted"),
            Column::integer("Current", ".status.replicas", "Machines that exist"),
            Column::integer("Ready", ".status.readyReplicas", "Machines that are ready"),
            Column::integer("Available", ".status.availableReplicas", "Machines that are available"),
            Column::integer("Up-to-date", ".status.upToDateReplicas", "Machines that match what the owner wants"),
            Column::paused(),
            Column::age(),
            Column::string("Version", ".spec.template.spec.version", "The Kubernetes version wanted"),
        ],
        ..Definition::BASE
    }
}

/// What a MachineSet should be.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineSetSpec {
    /// The Cluster that the Machines belong to. Immutable.
    #[schemars(length(min = 1, max = 63))]
    pub cluster_name: String,
    /// How many Machines are wanted.
    pub replicas: Option<i32>,
    /// Which Machines belong to it. Must match the labels of the template.
    #[serde(default)]
    #[schemars(!default, with = "schema::LabelSelector")]
    pub selector: LabelSelector,
    /// What the Machines should be.
    pub template: MachineTemplateSpec,
    /// How new Machines are named.
    #[serde(default, skip_serializing_if = "is_default")]
    pub machine_naming: MachineNamingSpec,
    /// Which Machines go first when there are too many.
    #[serde(default, skip_serializing_if = "is_default")]
    pub deletion: MachineSetDeletionSpec,
}

/// Which Machines go first when there are too many.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct MachineSetDeletionSpec {
    /// The order; `Random` when unset.
    pub order: Option<MachineSetDeletionOrder>,
}

/// What was observed of a MachineSet.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct MachineSetStatus {
    /// What is true of it at the moment, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "schema::Conditions")]
    pub conditions: Vec<Condition>,
    /// The selector in text form, for the scale subresource.
    #[schemars(length(min = 1, max = 4096))]
    pub selector: Option<String>,
    /// How many Machines there are.
    pub replicas: Option<i32>,
    /// How many of them are ready.
    pub ready_replicas: Option<i32>,
    /// How many of them are available.
    pub available_replicas: Option<i32>,
    /// How many of them match what the owner of the MachineSet wants.
    pub up_to_date_replicas: Option<i32>,
    /// The Kubernetes versions that the Machines run, lowest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(min = 1, max = 100),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["version"])
    )]
    pub versions: Vec<StatusVersion>,
    /// The generation that this status is about.
    #[schemars(range(min = 1))]
    pub observed_generation: Option<i64>,
    /// What older versions of the API reported.
    pub deprecated: Option<MachineSetDeprecatedStatus>,
}

/// What older versions of the API reported.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineSetDeprecatedStatus {
    /// What v1beta1 reported.
    pub v1beta1: Option<MachineSetV1Beta1DeprecatedStatus>,
}

/// What v1beta1 reported of a MachineSet.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineSetV1Beta1DeprecatedStatus {
    /// Conditions in the old shape.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<V1Beta1Condition>,
    /// Why the MachineSet failed for good, in one word.
    pub failure_reason: Option<String>,
    /// Why the MachineSet failed for good.
    #[schemars(length(min = 1, max = 10240))]
    pub failure_message: Option<String>,
    /// Machines that have all labels of the template.
    pub fully_labeled_replicas: Option<i32>,
    /// Machines that are ready, as v1beta1 counted them.
    pub ready_replicas: Option<i32>,
    /// Machines that are available, as v1beta1 counted them.
    pub available_replicas: Option<i32>,
}
