//! MachineHealthCheck: which Machines count as unhealthy, and what happens to them.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::V1Beta1Condition;
use crate::conditions::Status;
use crate::resource::{Column, Definition, is_default, resource};
use crate::schema;

resource! {
    /// Marks unhealthy Machines, so that their owner replaces them.
    MachineHealthCheck in Namespaced {
        required { spec: MachineHealthCheckSpec }
        optional { status: MachineHealthCheckStatus }
    }
    Definition {
        group: super::GROUP,
        version: super::VERSION,
        plural: "machinehealthchecks",
        short_names: &["mhc", "mhcs"],
        columns: &[
            Column::string("Cluster", ".spec.clusterName", "The Cluster it belongs to"),
            Column::integer("Replicas", ".status.expectedMachines", "Machines that it watches"),
            Column::integer("Healthy", ".status.currentHealthy", "Machines that are healthy"),
            Column::paused(),
            Column::age(),
        ],
        ..Definition::BASE
    }
}

/// What a MachineHealthCheck should do.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineHealthCheckSpec {
    /// The Cluster that the Machines belong to. Immutable.
    #[schemars(length(min = 1, max = 63))]
    pub cluster_name: String,
    /// Which Machines it watches. An empty selector is refused.
    #[schemars(with = "schema::LabelSelector")]
    pub selector: LabelSelector,
    /// When a Machine counts as unhealthy.
    #[serde(default, skip_serializing_if = "is_default")]
    pub checks: MachineHealthCheckChecks,
    /// When and how unhealthy Machines are replaced.
    #[serde(default, skip_serializing_if = "is_default")]
    pub remediation: MachineHealthCheckRemediation,
}

/// When a Machine counts as unhealthy.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct MachineHealthCheckChecks {
    /// For how long a Machine may be without a Node; 600 when unset, 0: for ever.
    #[schemars(range(min = 0))]
    pub node_startup_timeout_seconds: Option<i32>,
    /// Conditions of the Node, any one of which makes the Machine unhealthy.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 100), extend("x-kubernetes-list-type" = "atomic"))]
    pub unhealthy_node_conditions: Vec<UnhealthyNodeCondition>,
    /// Conditions of the Machine, any one of which makes it unhealthy.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 100), extend("x-kubernetes-list-type" = "atomic"))]
    pub unhealthy_machine_conditions: Vec<UnhealthyMachineCondition>,
}

/// A condition of a Node that makes its Machine unhealthy once it has lasted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnhealthyNodeCondition {
    /// The type of the condition.
    #[serde(rename = "type")]
    #[schemars(length(min = 1))]
    pub type_: String,
    /// The status that is the bad one.
    #[schemars(length(min = 1))]
    pub status: String,
    /// For how long the condition must have lasted.
    #[schemars(range(min = 0))]
    pub timeout_seconds: i32,
}

/// A condition of a Machine that makes it unhealthy once it has lasted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnhealthyMachineCondition {
    /// The type of the condition. Not one of those that say what the health check itself found.
    #[serde(rename = "type")]
    #[schemars(
        length(min = 1, max = 316),
        regex(pattern = schema::CONDITION_TYPE),
        extend("x-kubernetes-validations" = [{
            "rule": "!(self in ['Ready','Available','HealthCheckSucceeded','OwnerRemediated','ExternallyRemediated'])",
            "message": "type must not be one of: Ready, Available, HealthCheckSucceeded, OwnerRemediated, ExternallyRemediated",
        }])
    )]
    pub type_: String,
    /// The status that is the bad one.
    pub status: Status,
    /// For how long the condition must have lasted.
    #[schemars(range(min = 0))]
    pub timeout_seconds: i32,
}

/// When and how unhealthy Machines are replaced.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct MachineHealthCheckRemediation {
    /// How many Machines may be unhealthy for any to be replaced; unset: however many.
    #[serde(default, skip_serializing_if = "is_default")]
    pub trigger_if: MachineHealthCheckRemediationTriggerIf,
    /// Somebody else's remediation, from this template; unset: the owner replaces the Machine.
    pub template_ref: Option<MachineHealthCheckRemediationTemplateReference>,
}

/// How many Machines may be unhealthy for any to be replaced.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct MachineHealthCheckRemediationTriggerIf {
    /// At most so many, or this part of them.
    #[schemars(with = "Option<schema::IntOrString>")]
    pub unhealthy_less_than_or_equal_to: Option<IntOrString>,
    /// A number in this range, as in `[3-5]`. Wins over the other field.
    #[schemars(length(min = 1, max = 32), regex(pattern = r"^\[[0-9]+-[0-9]+\]$"))]
    pub unhealthy_in_range: Option<String>,
}

/// Points to a template of a remediation, in the namespace of the check.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineHealthCheckRemediationTemplateReference {
    /// The kind of the template.
    #[schemars(length(min = 1, max = 63), regex(pattern = schema::KIND))]
    pub kind: String,
    /// The name of the template.
    #[schemars(length(min = 1, max = 253), regex(pattern = schema::DNS_SUBDOMAIN))]
    pub name: String,
    /// The group and version of the template.
    #[schemars(
        length(min = 1, max = 317),
        regex(
            pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/[a-z]([-a-z0-9]*[a-z0-9])?$"
        )
    )]
    pub api_version: String,
}

/// What was observed by a MachineHealthCheck.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct MachineHealthCheckStatus {
    /// What is true of it at the moment, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "schema::Conditions")]
    pub conditions: Vec<Condition>,
    /// How many Machines it watches.
    #[schemars(range(min = 0))]
    pub expected_machines: Option<i32>,
    /// How many of them are healthy.
    #[schemars(range(min = 0))]
    pub current_healthy: Option<i32>,
    /// How many more may be replaced before it stops.
    #[schemars(range(min = 0))]
    pub remediations_allowed: Option<i32>,
    /// The generation that this status is about.
    #[schemars(range(min = 1))]
    pub observed_generation: Option<i64>,
    /// The names of the Machines that it watches, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10000), inner(length(min = 1, max = 253)), extend("x-kubernetes-list-type" = "atomic"))]
    pub targets: Vec<String>,
    /// What older versions of the API reported.
    pub deprecated: Option<MachineHealthCheckDeprecatedStatus>,
}

/// What older versions of the API reported.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineHealthCheckDeprecatedStatus {
    /// What v1beta1 reported.
    pub v1beta1: Option<MachineHealthCheckV1Beta1DeprecatedStatus>,
}

/// What v1beta1 reported of a MachineHealthCheck.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineHealthCheckV1Beta1DeprecatedStatus {
    /// Conditions in the old shape.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<V1Beta1Condition>,
}
