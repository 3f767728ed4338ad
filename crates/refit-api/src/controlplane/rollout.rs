//! When and how a change of a KubeadmControlPlane reaches its Machines.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::cluster::InPlaceFallback;
use crate::resource::is_default;
use crate::schema;

/// When and how a change reaches the Machines.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct KubeadmControlPlaneRolloutSpec {
    /// What is coming that Machines are replaced ahead of.
    #[serde(default, skip_serializing_if = "is_default")]
    pub before: KubeadmControlPlaneRolloutBeforeSpec,
    /// Once this time has passed, Machines that are older than it are replaced even if nothing else changed.
    #[schemars(with = "Option<schema::Time>")]
    pub after: Option<Time>,
    /// How a change reaches the Machines.
    pub strategy: Option<KubeadmControlPlaneRolloutStrategy>,
}

/// What is coming that Machines are replaced ahead of.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct KubeadmControlPlaneRolloutBeforeSpec {
    /// How long before its certificates expire a Machine is replaced.
    #[schemars(range(min = 7))]
    pub certificates_expiry_days: Option<i32>,
}

/// How a change reaches the Machines.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct KubeadmControlPlaneRolloutStrategy {
    /// The strategy.
    #[serde(rename = "type", default)]
    #[schemars(!default)]
    pub type_: KubeadmControlPlaneRolloutStrategyType,
    /// How fast a rolling update may go.
    #[serde(default, skip_serializing_if = "is_default")]
    pub rolling_update: KubeadmControlPlaneRolloutStrategyRollingUpdate,
    /// What to do under `InPlace` with a change that no extension covers. Unset: nothing, and say so.
    pub fallback: Option<InPlaceFallback>,
}

/// The strategies by which a change reaches the Machines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum KubeadmControlPlaneRolloutStrategyType {
    /// One Machine at a time, within `maxSurge`.
    #[default]
    RollingUpdate,
    /// Within the same bounds, but only ever in place, save for the fallback. Refit's own; upstream's CRD refuses it.
    InPlace,
}

/// How fast a rolling update may go.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct KubeadmControlPlaneRolloutStrategyRollingUpdate {
    /// How many Machines may exist beyond the number wanted: none or one.
    #[schemars(with = "Option<schema::IntOrString>")]
    pub max_surge: Option<IntOrString>,
}
