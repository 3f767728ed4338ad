//! KubeadmControlPlane: the control plane Machines of a cluster, set up by kubeadm.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{KubeadmControlPlaneRolloutSpec, KubeadmControlPlaneStatus};
use crate::bootstrap::KubeadmConfigSpec;
use crate::cluster::{
    ContractVersionedObjectReference, MachineDeletionSpec, MachineReadinessGate, MachineTaint, ObjectMeta,
};
use crate::resource::{Column, Definition, condition, is_default, resource};

resource! {
    /// The control plane Machines of a cluster, set up by kubeadm.
    KubeadmControlPlane in Namespaced {
        required { spec: KubeadmControlPlaneSpec }
        optional { status: KubeadmControlPlaneStatus }
    }
    Definition {
        group: super::GROUP,
        version: super::VERSION,
        plural: "kubeadmcontrolplanes",
        short_names: &["kcp"],
        has_scale: true,
        columns: &[
            Column::cluster_label(),
            Column::string("Available", condition!("Available"), "Whether the control plane is available"),
            Column::integer("Desired", ".spec.replicas", "Machines wanted"),
            Column::integer("Current", ".status.replicas", "Machines that exist"),
            Column::integer("Ready", ".status.readyReplicas", "Machines that are ready"),
            Column::integer("Available", ".status.availableReplicas", "Machines that are available"),
            Column::integer("Up-to-date", ".status.upToDateReplicas", "Machines that match the spec"),
            Column::paused(),
            Column::boolean("Initialized", ".status.initialization.controlPlaneInitialized", "Whether it has served requests once"),
            Column::age(),
            Column::string("Version", ".spec.version", "The Kubernetes version wanted"),
        ],
        ..Definition::BASE
    }
}

/// What a KubeadmControlPlane should be.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KubeadmControlPlaneSpec {
    /// How many Machines are wanted: an odd number, unless etcd is external.
    pub replicas: Option<i32>,
    /// The Kubernetes version to run.
    #[schemars(length(min = 1, max = 256))]
    pub version: String,
    /// What the Machines should be.
    pub machine_template: KubeadmControlPlaneMachineTemplate,
    /// What kubeadm is told, and what is done to the hosts around it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub kubeadm_config_spec: KubeadmConfigSpec,
    /// When and how a change reaches the Machines.
    #[serde(default, skip_serializing_if = "is_default")]
    pub rollout: KubeadmControlPlaneRolloutSpec,
    /// How unhealthy Machines are replaced.
    #[serde(default, skip_serializing_if = "is_default")]
    pub remediation: KubeadmControlPlaneRemediationSpec,
    /// How new Machines are named.
    #[serde(default, skip_serializing_if = "is_default")]
    pub machine_naming: MachineNamingSpec,
}

/// A control plane Machine to be: its metadata and spec.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KubeadmControlPlaneMachineTemplate {
    /// Labels and annotations of the Machine.
    #[serde(default, skip_serializing_if = "is_default")]
    pub metadata: ObjectMeta,
    /// What the Machine should be.
    pub spec: KubeadmControlPlaneMachineTemplateSpec,
}

/// What a control plane Machine should be, beside what kubeadm is told.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KubeadmControlPlaneMachineTemplateSpec {
    /// The provider's template for the hosts.
    pub infrastructure_ref: ContractVersionedObjectReference,
    /// Further conditions that count towards `Ready` of a Machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(min = 1, max = 32),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["conditionType"])
    )]
    pub readiness_gates: Vec<MachineReadinessGate>,
    /// How long the steps of a Machine's deletion may take.
    #[serde(default, skip_serializing_if = "is_default")]
    pub deletion: MachineDeletionSpec,
    /// Taints for the Nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(min = 1, max = 64),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["key", "effect"])
    )]
    pub taints: Vec<MachineTaint>,
}

/// How unhealthy Machines are replaced.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct KubeadmControlPlaneRemediationSpec {
    /// How often a replacement that is unhealthy itself is replaced again; unset: without limit.
    pub max_retry: Option<i32>,
    /// How long to wait between one replacement and the next; 0 when unset.
    #[schemars(range(min = 0))]
    pub retry_period_seconds: Option<i32>,
    /// After how long without trouble an unhealthy Machine counts as a new case; an hour when unset.
    #[schemars(range(min = 0))]
    pub min_healthy_period_seconds: Option<i32>,
}

/// How new control plane Machines are named.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct MachineNamingSpec {
    /// The name, with `{{ .cluster.name }}`, `{{ .kubeadmControlPlane.name }}` and `{{ .random }}` filled in.
    #[schemars(length(min = 1, max = 256))]
    pub template: Option<String>,
}
