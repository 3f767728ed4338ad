//! Machine: one host, and what should run on it.

use k8s_openapi::api::core::v1::NodeSystemInfo;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{
    ContractVersionedObjectReference, MachineDeletionSpec, MachineReadinessGate, MachineTaint, ObjectMeta,
    V1Beta1Condition,
};
use crate::resource::{Column, Definition, condition, is_default, resource};
use crate::schema;

resource! {
    /// One host, and what should run on it.
    Machine in Namespaced {
        required { spec: MachineSpec }
        optional { status: MachineStatus }
    }
    Definition {
        group: super::GROUP,
        version: super::VERSION,
        plural: "machines",
        short_names: &["ma"],
        columns: &[
            Column::string("Cluster", ".spec.clusterName", "The Cluster it belongs to"),
            Column::string("Node Name", ".status.nodeRef.name", "The Node that runs on it"),
            Column::string("Provider ID", ".spec.providerID", "What the provider calls it").wide(),
            Column::string("Failure domain", ".status.failureDomain", "The failure domain it is in"),
            Column::string("Ready", condition!("Ready"), "Whether it is ready"),
            Column::string("Available", condition!("Available"), "Whether it is available"),
            Column::string("Up-to-date", condition!("UpToDate"), "Whether it matches what its owner wants"),
            Column::string("Internal-IP", ".status.addresses[?(@.type==\"InternalIP\")].address", "Internal IP address").wide(),
            Column::string("External-IP", ".status.addresses[?(@.type==\"ExternalIP\")].address", "External IP address").wide(),
            Column::string("OS-Image", ".status.nodeInfo.osImage", "The operating system that the Node reports").wide(),
            Column::paused(),
            Column::string("Phase", ".status.phase", "What it is doing"),
            Column::age(),
            Column::string("Version", ".spec.version", "The Kubernetes version wanted"),
        ],
        ..Definition::BASE
    }
}

/// A Machine to be: its metadata and spec.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineTemplateSpec {
    /// Labels and annotations of the Machine.
    #[serde(default, skip_serializing_if = "is_default")]
    pub metadata: ObjectMeta,
    /// What the Machine should be.
    pub spec: MachineSpec,
}

/// What a Machine should be.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineSpec {
    /// The Cluster that the Machine belongs to. Immutable.
    #[schemars(length(min = 1, max = 63))]
    pub cluster_name: String,
    /// Where its bootstrap data comes from.
    pub bootstrap: Bootstrap,
    /// The provider's object for the host.
    pub infrastructure_ref: ContractVersionedObjectReference,
    /// The Kubernetes version to run.
    #[schemars(length(min = 1, max = 256))]
    pub version: Option<String>,
    /// What the provider calls the host; the same as on its Node.
    #[serde(rename = "providerID")]
    #[schemars(length(min = 1, max = 512))]
    pub provider_id: Option<String>,
    /// The failure domain to create the host in.
    #[schemars(length(min = 1, max = 256))]
    pub failure_domain: Option<String>,
    /// For how long the Machine must be ready before it counts as available.
    #[schemars(range(min = 0))]
    pub min_ready_seconds: Option<i32>,
    /// Further conditions that count towards `Ready`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(min = 1, max = 32),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["conditionType"])
    )]
    pub readiness_gates: Vec<MachineReadinessGate>,
    /// How long the steps of its deletion may take.
    #[serde(default, skip_serializing_if = "is_default")]
    pub deletion: MachineDeletionSpec,
    /// Taints for its Node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(min = 1, max = 64),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["key", "effect"])
    )]
    pub taints: Vec<MachineTaint>,
}

/// Where the bootstrap data of a Machine comes from: a provider's object, or a secret that is there already.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Bootstrap {
    /// The bootstrap provider's object.
    pub config_ref: Option<ContractVersionedObjectReference>,
    /// The secret with the bootstrap data.
    #[schemars(length(min = 0, max = 253))]
    pub data_secret_name: Option<String>,
}

/// What was observed of a Machine.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct MachineStatus {
    /// What is true of it at the moment, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "schema::Conditions")]
    pub conditions: Vec<Condition>,
    /// What of the Machine's start has happened. Never taken back.
    #[serde(default, skip_serializing_if = "is_default")]
    pub initialization: MachineInitializationStatus,
    /// The Node that runs on the host.
    pub node_ref: Option<MachineNodeReference>,
    /// What the Node reports about itself.
    #[schemars(with = "Option<schema::NodeSystemInfo>")]
    pub node_info: Option<NodeSystemInfo>,
    /// When the phase last changed.
    #[schemars(with = "Option<schema::Time>")]
    pub last_updated: Option<Time>,
    /// The addresses of the host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256), extend("x-kubernetes-list-type" = "atomic"))]
    pub addresses: Vec<MachineAddress>,
    /// The failure domain that the host is in.
    #[schemars(length(min = 1, max = 256))]
    pub failure_domain: Option<String>,
    /// What it is doing, in one word.
    pub phase: Option<MachinePhase>,
    /// When the control plane's certificates on the host expire.
    #[schemars(with = "Option<schema::Time>")]
    pub certificates_expiry_date: Option<Time>,
    /// The generation that this status is about.
    #[schemars(range(min = 1))]
    pub observed_generation: Option<i64>,
    /// When the steps of its deletion began.
    pub deletion: Option<MachineDeletionStatus>,
    /// What older versions of the API reported.
    pub deprecated: Option<MachineDeprecatedStatus>,
}

/// What of a Machine's start has happened. Never taken back.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct MachineInitializationStatus {
    /// The host exists.
    pub infrastructure_provisioned: Option<bool>,
    /// The bootstrap data is in its secret.
    pub bootstrap_data_secret_created: Option<bool>,
}

/// The Node that runs on a Machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineNodeReference {
    /// The name of the Node.
    #[schemars(length(min = 1, max = 253), regex(pattern = schema::DNS_SUBDOMAIN))]
    pub name: String,
}

/// An address of a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineAddress {
    /// What kind of address it is.
    #[serde(rename = "type")]
    pub type_: MachineAddressType,
    /// The address.
    #[schemars(length(min = 1, max = 256))]
    pub address: String,
}

/// What kind of address of a host it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum MachineAddressType {
    Hostname,
    ExternalIP,
    InternalIP,
    ExternalDNS,
    InternalDNS,
}

/// What a Machine is doing, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum MachinePhase {
    /// Nothing has happened yet.
    Pending,
    /// The bootstrap data is there, the host is not.
    Provisioning,
    /// The host is there.
    Provisioned,
    /// The host has become a Node.
    Running,
    /// It is being updated in place.
    Updating,
    /// It is being deleted.
    Deleting,
    /// Never written any more.
    Deleted,
    /// Never written any more.
    Failed,
    /// Cannot be told.
    Unknown,
}

/// When the steps of a Machine's deletion began.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineDeletionStatus {
    /// Draining the Node.
    #[schemars(with = "Option<schema::Time>")]
    pub node_drain_start_time: Option<Time>,
    /// Waiting for the volumes of the Node.
    #[schemars(with = "Option<schema::Time>")]
    pub wait_for_node_volume_detach_start_time: Option<Time>,
    /// Waiting for somebody's pre-drain hook.
    #[schemars(with = "Option<schema::Time>")]
    pub wait_for_pre_drain_hook_start_time: Option<Time>,
    /// Waiting for somebody's pre-terminate hook.
    #[schemars(with = "Option<schema::Time>")]
    pub wait_for_pre_terminate_hook_start_time: Option<Time>,
}

/// What older versions of the API reported.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineDeprecatedStatus {
    /// What v1beta1 reported.
    pub v1beta1: Option<MachineV1Beta1DeprecatedStatus>,
}

/// What v1beta1 reported of a Machine.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineV1Beta1DeprecatedStatus {
    /// Conditions in the old shape.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<V1Beta1Condition>,
    /// Why the Machine failed for good, in one word.
    pub failure_reason: Option<String>,
    /// Why the Machine failed for good.
    #[schemars(length(min = 1, max = 10240))]
    pub failure_message: Option<String>,
}
