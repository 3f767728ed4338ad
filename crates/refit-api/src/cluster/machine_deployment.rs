//! MachineDeployment: a number of Machines of one template, and how changes to the template reach them.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector, Time};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{
    InPlaceFallback, MachineNamingSpec, MachineSetDeletionOrder, MachineTemplateSpec, StatusVersion, V1Beta1Condition,
};
use crate::resource::{Column, Definition, condition, is_default, resource};
use crate::schema;

resource! {
    /// Keeps a number of Machines of one template, and brings changes of the template to them.
    MachineDeployment in Namespaced {
        required { spec: MachineDeploymentSpec }
        optional { status: MachineDeploymentStatus }
    }
    Definition {
        group: super::GROUP,
        version: super::VERSION,
        plural: "machinedeployments",
        short_names: &["md"],
        has_scale: true,
        columns: &[
            Column::string("Cluster", ".spec.clusterName", "The Cluster it belongs to"),
            Column::string("Available", condition!("Available"), "Whether enough Machines are available"),
            Column::integer("Desired", ".spec.replicas", "Machines wanted"),
            Column::integer("Current", ".status.replicas", "Machines that exist"),
            Column::integer("Ready", ".status.readyReplicas", "Machines that are ready"),
            Column::integer("Available", ".status.availableReplicas", "Machines that are available"),
            Column::integer("Up-to-date", ".status.upToDateReplicas", "Machines that match the template"),
            Column::paused(),
            Column::string("Phase", ".status.phase", "What it is doing"),
            Column::age(),
            Column::string("Version", ".spec.template.spec.version", "The Kubernetes version wanted"),
        ],
        ..Definition::BASE
    }
}

/// What a MachineDeployment should be.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineDeploymentSpec {
    /// The Cluster that the Machines belong to. Immutable.
    #[schemars(length(min = 1, max = 63))]
    pub cluster_name: String,
    /// How many Machines are wanted.
    pub replicas: Option<i32>,
    /// When and how a change of the template reaches the Machines.
    #[serde(default, skip_serializing_if = "is_default")]
    pub rollout: MachineDeploymentRolloutSpec,
    /// Which Machines belong to it. Must match the labels of the template.
    #[serde(default)]
    #[schemars(!default, with = "schema::LabelSelector")]
    pub selector: LabelSelector,
    /// What the Machines should be.
    pub template: MachineTemplateSpec,
    /// How new Machines are named.
    #[serde(default, skip_serializing_if = "is_default")]
    pub machine_naming: MachineNamingSpec,
    /// How unhealthy Machines are replaced.
    #[serde(default, skip_serializing_if = "is_default")]
    pub remediation: MachineDeploymentRemediationSpec,
    /// Which Machines go first when there are too many.
    #[serde(default, skip_serializing_if = "is_default")]
    pub deletion: MachineDeploymentDeletionSpec,
    /// Stops rollouts; scaling goes on. Not the same as the `cluster.x-k8s.io/paused` annotation, which stops everything.
    pub paused: Option<bool>,
}

/// When and how a change of the template reaches the Machines.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct MachineDeploymentRolloutSpec {
    /// Once this time has passed, Machines that are older than it are replaced even if nothing else changed.
    #[schemars(with = "Option<schema::Time>")]
    pub after: Option<Time>,
    /// How a change reaches the Machines.
    pub strategy: Option<MachineDeploymentRolloutStrategy>,
}

/// How a change reaches the Machines.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct MachineDeploymentRolloutStrategy {
    /// The strategy.
    #[serde(rename = "type", default)]
    #[schemars(!default)]
    pub type_: MachineDeploymentRolloutStrategyType,
    /// How fast a rolling update may go. Under `InPlace`: how fast machines are updated in place.
    #[serde(default, skip_serializing_if = "is_default")]
    pub rolling_update: MachineDeploymentRolloutStrategyRollingUpdate,
    /// What to do under `InPlace` with a change that no extension covers. Unset: nothing, and say so.
    pub fallback: Option<InPlaceFallback>,
    /// How fast the fallback of `InPlace` may replace machines. What is unset is as in `rollingUpdate`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub fallback_rolling_update: MachineDeploymentRolloutStrategyRollingUpdate,
}

impl MachineDeploymentRolloutStrategy {
    /// How fast machines change. What the user does not say is filled in here and nowhere else: admission may not be
    /// installed. A rolling update makes a new machine first. A strategy that updates in place has no use for another machine.
    pub fn bounds(&self) -> MachineDeploymentRolloutStrategyRollingUpdate {
        let (max_surge, max_unavailable) = match self.type_ {
            MachineDeploymentRolloutStrategyType::InPlace => (0, 1),
            MachineDeploymentRolloutStrategyType::RollingUpdate | MachineDeploymentRolloutStrategyType::OnDelete => {
                (1, 0)
            }
        };
        self.rolling_update.or(MachineDeploymentRolloutStrategyRollingUpdate {
            max_surge: Some(IntOrString::Int(max_surge)),
            max_unavailable: Some(IntOrString::Int(max_unavailable)),
        })
    }

    /// How fast machines are replaced that cannot be updated in place.
    pub fn fallback_bounds(&self) -> MachineDeploymentRolloutStrategyRollingUpdate {
        self.fallback_rolling_update.or(self.bounds())
    }
}

/// The strategies by which a change reaches the Machines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum MachineDeploymentRolloutStrategyType {
    /// Some Machines at a time, within `maxSurge` and `maxUnavailable`.
    #[default]
    RollingUpdate,
    /// Only when the user deletes a Machine.
    OnDelete,
    /// Within the same bounds, but only ever in place, save for the fallback. Refit's own; upstream's CRD refuses it.
    InPlace,
}

/// How fast a rolling update may go.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct MachineDeploymentRolloutStrategyRollingUpdate {
    /// How many Machines, or what part of them, may be unavailable at a time.
    #[schemars(with = "Option<schema::IntOrString>")]
    pub max_unavailable: Option<IntOrString>,
    /// How many Machines, or what part of them, may exist beyond the number wanted.
    #[schemars(with = "Option<schema::IntOrString>")]
    pub max_surge: Option<IntOrString>,
}

impl MachineDeploymentRolloutStrategyRollingUpdate {
    /// These bounds, and those of `other` where they say nothing.
    fn or(&self, other: Self) -> Self {
        Self {
            max_unavailable: self.max_unavailable.clone().or(other.max_unavailable),
            max_surge: self.max_surge.clone().or(other.max_surge),
        }
    }
}

/// How unhealthy Machines are replaced.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct MachineDeploymentRemediationSpec {
    /// How many Machines, or what part of them, may be under remediation at a time; unset: all.
    #[schemars(with = "Option<schema::IntOrString>")]
    pub max_in_flight: Option<IntOrString>,
}

/// Which Machines go first when there are too many.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct MachineDeploymentDeletionSpec {
    /// The order; `Random` when unset.
    pub order: Option<MachineSetDeletionOrder>,
}

/// What was observed of a MachineDeployment.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct MachineDeploymentStatus {
    /// What is true of it at the moment, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "schema::Conditions")]
    pub conditions: Vec<Condition>,
    /// The generation that this status is about.
    #[schemars(range(min = 1))]
    pub observed_generation: Option<i64>,
    /// The selector in text form, for the scale subresource.
    #[schemars(length(min = 1, max = 4096))]
    pub selector: Option<String>,
    /// How many Machines there are.
    pub replicas: Option<i32>,
    /// How many of them are ready.
    pub ready_replicas: Option<i32>,
    /// How many of them are available.
    pub available_replicas: Option<i32>,
    /// How many of them match the template.
    pub up_to_date_replicas: Option<i32>,
    /// The Kubernetes versions that the Machines run, lowest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(min = 1, max = 100),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["version"])
    )]
    pub versions: Vec<StatusVersion>,
    /// What it is doing, in one word.
    pub phase: Option<MachineDeploymentPhase>,
    /// What older versions of the API reported.
    pub deprecated: Option<MachineDeploymentDeprecatedStatus>,
}

/// What a MachineDeployment is doing, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum MachineDeploymentPhase {
    /// Fewer Machines than wanted.
    ScalingUp,
    /// More Machines than wanted, or being deleted.
    ScalingDown,
    /// As many Machines as wanted.
    Running,
    /// Never written any more.
    Failed,
    /// The Machines could not be counted.
    Unknown,
}

/// What older versions of the API reported.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineDeploymentDeprecatedStatus {
    /// What v1beta1 reported.
    pub v1beta1: Option<MachineDeploymentV1Beta1DeprecatedStatus>,
}

/// What v1beta1 reported of a MachineDeployment.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineDeploymentV1Beta1DeprecatedStatus {
    /// Conditions in the old shape.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<V1Beta1Condition>,
    /// Machines that match the template, as v1beta1 counted them.
    pub updated_replicas: Option<i32>,
    /// Machines that are ready, as v1beta1 counted them.
    pub ready_replicas: Option<i32>,
    /// Machines that are available, as v1beta1 counted them.
    pub available_replicas: Option<i32>,
    /// Machines still missing, as v1beta1 counted them.
    pub unavailable_replicas: Option<i32>,
}
