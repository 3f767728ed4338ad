//! The topology of a Cluster: what upstream makes its machines from, by way of a ClusterClass.
//!
//! Refit keeps it as it is and does not reconcile it; nothing here has an effect on machines. It is typed all the
//! same, so that a Cluster written for upstream is held to the same schema. Where upstream has a type once per
//! kind of machines with the same fields, there is one type here.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;

use super::{
    MachineDeletionSpec, MachineDeploymentRolloutStrategyRollingUpdate, MachineHealthCheckChecks,
    MachineHealthCheckRemediation, MachineHealthCheckRemediationTemplateReference,
    MachineHealthCheckRemediationTriggerIf, MachineReadinessGate, MachineSetDeletionOrder, MachineTaint, ObjectMeta,
};
use crate::resource::is_default;
use crate::schema;

/// What the machines of a Cluster are made from.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Topology {
    /// The ClusterClass that the values below are for.
    pub class_ref: ClusterClassRef,
    /// The Kubernetes version of all machines.
    #[schemars(length(min = 1, max = 256))]
    pub version: String,
    /// The machines of the control plane.
    #[serde(default, skip_serializing_if = "is_default")]
    pub control_plane: ControlPlaneTopology,
    /// The worker machines.
    #[serde(default, skip_serializing_if = "is_default")]
    pub workers: WorkersTopology,
    /// Values for the variables of the ClusterClass.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(min = 1, max = 1000),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"])
    )]
    pub variables: Vec<ClusterVariable>,
}

/// Points to a ClusterClass.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterClassRef {
    /// The name of the ClusterClass.
    #[schemars(length(min = 1, max = 253), regex(pattern = schema::DNS_SUBDOMAIN))]
    pub name: String,
    /// The namespace of the ClusterClass; that of the Cluster when unset.
    #[schemars(length(min = 1, max = 63), regex(pattern = schema::DNS_LABEL))]
    pub namespace: Option<String>,
}

/// The machines of the control plane.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct ControlPlaneTopology {
    /// Labels and annotations of the control plane and its machines.
    #[serde(default, skip_serializing_if = "is_default")]
    pub metadata: ObjectMeta,
    /// How many machines are wanted.
    pub replicas: Option<i32>,
    /// When machines are replaced even if nothing changed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub rollout: ControlPlaneTopologyRolloutSpec,
    /// The health check for the machines.
    #[serde(default, skip_serializing_if = "is_default")]
    pub health_check: ControlPlaneTopologyHealthCheck,
    /// How long the steps of a machine's deletion may take.
    #[serde(default, skip_serializing_if = "is_default")]
    pub deletion: MachineDeletionSpec,
    /// Taints for the Nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(min = 1, max = 64),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["key", "effect"])
    )]
    pub taints: Vec<MachineTaint>,
    /// Further conditions that count towards `Ready` of the machines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(min = 1, max = 32),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["conditionType"])
    )]
    pub readiness_gates: Vec<MachineReadinessGate>,
    /// Values that differ from those of the whole topology.
    #[serde(default, skip_serializing_if = "is_default")]
    pub variables: TopologyVariables,
}

/// When machines of the control plane are replaced even if nothing changed.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct ControlPlaneTopologyRolloutSpec {
    /// Once this time has passed, machines that are older than it.
    #[schemars(with = "Option<schema::Time>")]
    pub after: Option<Time>,
}

/// The health check for the machines of the control plane.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct ControlPlaneTopologyHealthCheck {
    /// Whether there is one; unset: when this or the ClusterClass defines one.
    pub enabled: Option<bool>,
    /// When a machine counts as unhealthy.
    #[serde(default, skip_serializing_if = "is_default")]
    pub checks: MachineHealthCheckChecks,
    /// When and how unhealthy machines are replaced.
    #[serde(default, skip_serializing_if = "is_default")]
    pub remediation: MachineHealthCheckRemediation,
}

/// The worker machines.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct WorkersTopology {
    /// Those that a MachineDeployment keeps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(min = 1, max = 2000),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"])
    )]
    pub machine_deployments: Vec<MachineDeploymentTopology>,
    /// Those that the infrastructure provider keeps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(min = 1, max = 2000),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"])
    )]
    pub machine_pools: Vec<MachinePoolTopology>,
}

/// Worker machines that a MachineDeployment keeps.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineDeploymentTopology {
    /// Labels and annotations of the MachineDeployment and its machines.
    #[serde(default, skip_serializing_if = "is_default")]
    pub metadata: ObjectMeta,
    /// Which of the ClusterClass's kinds of workers they are.
    #[schemars(length(min = 1, max = 256))]
    pub class: String,
    /// What they are called within the topology.
    #[schemars(length(min = 1, max = 63), regex(pattern = schema::DNS_SUBDOMAIN))]
    pub name: String,
    /// The failure domain to create the hosts in.
    #[schemars(length(min = 1, max = 256))]
    pub failure_domain: Option<String>,
    /// How many machines are wanted.
    pub replicas: Option<i32>,
    /// The health check for the machines.
    #[serde(default, skip_serializing_if = "is_default")]
    pub health_check: MachineDeploymentTopologyHealthCheck,
    /// Which machines go first when there are too many, and how long the steps of that may take.
    #[serde(default, skip_serializing_if = "is_default")]
    pub deletion: MachineDeploymentTopologyMachineDeletionSpec,
    /// Taints for the Nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(min = 1, max = 64),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["key", "effect"])
    )]
    pub taints: Vec<MachineTaint>,
    /// For how long a machine must be ready before it counts as available.
    #[schemars(range(min = 0))]
    pub min_ready_seconds: Option<i32>,
    /// Further conditions that count towards `Ready` of the machines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(min = 1, max = 32),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["conditionType"])
    )]
    pub readiness_gates: Vec<MachineReadinessGate>,
    /// When and how a change reaches the machines.
    #[serde(default, skip_serializing_if = "is_default")]
    pub rollout: MachineDeploymentTopologyRolloutSpec,
    /// Values that differ from those of the whole topology.
    #[serde(default, skip_serializing_if = "is_default")]
    pub variables: TopologyVariables,
}

/// The health check for worker machines. Unlike the control plane's, it can bound how many are replaced at a time.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct MachineDeploymentTopologyHealthCheck {
    /// Whether there is one; unset: when this or the ClusterClass defines one.
    pub enabled: Option<bool>,
    /// When a machine counts as unhealthy.
    #[serde(default, skip_serializing_if = "is_default")]
    pub checks: MachineHealthCheckChecks,
    /// When and how unhealthy machines are replaced.
    #[serde(default, skip_serializing_if = "is_default")]
    pub remediation: MachineDeploymentTopologyHealthCheckRemediation,
}

/// When and how unhealthy worker machines are replaced.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct MachineDeploymentTopologyHealthCheckRemediation {
    /// How many machines, or what part of them, may be under remediation at a time; unset: all.
    #[schemars(with = "Option<schema::IntOrString>")]
    pub max_in_flight: Option<IntOrString>,
    /// How many machines may be unhealthy for any to be replaced; unset: however many.
    #[serde(default, skip_serializing_if = "is_default")]
    pub trigger_if: MachineHealthCheckRemediationTriggerIf,
    /// Somebody else's remediation, from this template.
    pub template_ref: Option<MachineHealthCheckRemediationTemplateReference>,
}

/// Which worker machines go first when there are too many, and how long the steps of that may take.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct MachineDeploymentTopologyMachineDeletionSpec {
    /// The order; `Random` when unset.
    pub order: Option<MachineSetDeletionOrder>,
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

/// When and how a change reaches worker machines.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct MachineDeploymentTopologyRolloutSpec {
    /// Once this time has passed, machines that are older than it are replaced even if nothing else changed.
    #[schemars(with = "Option<schema::Time>")]
    pub after: Option<Time>,
    /// How a change reaches the machines.
    pub strategy: Option<MachineDeploymentTopologyRolloutStrategy>,
}

/// How a change reaches worker machines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct MachineDeploymentTopologyRolloutStrategy {
    /// The strategy.
    #[serde(rename = "type")]
    pub type_: MachineDeploymentTopologyRolloutStrategyType,
    /// How fast a rolling update may go.
    #[serde(default, skip_serializing_if = "is_default")]
    pub rolling_update: MachineDeploymentRolloutStrategyRollingUpdate,
}

/// The strategies that a topology can name. Not refit's `InPlace`: nothing would carry it out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum MachineDeploymentTopologyRolloutStrategyType {
    /// Some machines at a time.
    RollingUpdate,
    /// Only when the user deletes a machine.
    OnDelete,
}

/// Worker machines that the infrastructure provider keeps.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachinePoolTopology {
    /// Labels and annotations of the pool and its machines.
    #[serde(default, skip_serializing_if = "is_default")]
    pub metadata: ObjectMeta,
    /// Which of the ClusterClass's kinds of pools they are.
    #[schemars(length(min = 1, max = 256))]
    pub class: String,
    /// What they are called within the topology.
    #[schemars(length(min = 1, max = 63), regex(pattern = schema::DNS_SUBDOMAIN))]
    pub name: String,
    /// The failure domains to create the hosts in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(min = 1, max = 100),
        inner(length(min = 1, max = 256)),
        extend("x-kubernetes-list-type" = "atomic")
    )]
    pub failure_domains: Vec<String>,
    /// How long the steps of a machine's deletion may take.
    #[serde(default, skip_serializing_if = "is_default")]
    pub deletion: MachineDeletionSpec,
    /// Taints for the Nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(min = 1, max = 64),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["key", "effect"])
    )]
    pub taints: Vec<MachineTaint>,
    /// For how long a machine must be ready before it counts as available.
    #[schemars(range(min = 0))]
    pub min_ready_seconds: Option<i32>,
    /// How many machines are wanted.
    pub replicas: Option<i32>,
    /// Values that differ from those of the whole topology.
    #[serde(default, skip_serializing_if = "is_default")]
    pub variables: TopologyVariables,
}

/// A value for a variable of the ClusterClass.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterVariable {
    /// The name of the variable.
    #[schemars(length(min = 1, max = 256))]
    pub name: String,
    /// Its value: any JSON, with the nulls in it.
    #[schemars(with = "schema::Any")]
    pub value: Value,
}

/// Values for variables that differ, for some machines, from those of the whole topology.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct TopologyVariables {
    /// The values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(min = 1, max = 1000),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"])
    )]
    pub overrides: Vec<ClusterVariable>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nulls_in_a_variable_are_kept() {
        let written = serde_json::json!({ "name": "proxy", "value": { "url": null, "hosts": ["a", null] } });
        let variable: ClusterVariable = serde_json::from_value(written.clone()).expect("the variable must decode");
        assert_eq!(serde_json::to_value(variable).expect("the variable must encode"), written);
    }

    #[test]
    fn a_variable_that_is_null_is_not_a_missing_one() {
        let decode = serde_json::from_value::<ClusterVariable>;
        assert_eq!(
            decode(serde_json::json!({ "name": "proxy", "value": null })).map(|v| v.value).ok(),
            Some(Value::Null)
        );
        assert!(decode(serde_json::json!({ "name": "proxy" })).is_err());
    }
}
