//! SimMachine: one simulated host.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use refit_api::cluster::MachineAddress;
use refit_api::resource::{Column, Definition, condition, is_default, resource};
use refit_api::schema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{ProvisionedStatus, SimFailures};

/// An amount of memory, as Kubernetes writes it.
const QUANTITY: &str = r"^[0-9]+([KMGTPE]i|[kMGTPE])?$";

resource! {
    /// One simulated host. Its status says what the host really runs; a new spec reaches it only by an update.
    SimMachine in Namespaced {
        optional { spec: SimMachineSpec, status: SimMachineStatus }
    }
    Definition {
        group: super::INFRASTRUCTURE_GROUP,
        version: super::VERSION,
        plural: "simmachines",
        columns: &[
            Column::cluster_label(),
            Column::string("Ready", condition!("Ready"), "Whether the host is there"),
            Column::string("Memory", ".status.host.memory", "The memory that the host has"),
            Column::string("Image", ".status.host.image", "The image that the host runs").wide(),
            Column::string("Version", ".status.host.kubernetesVersion", "The Kubernetes version that the host runs"),
            Column::string("Provider ID", ".spec.providerID", "What the provider calls the host").wide(),
            Column::string("Disk", ".status.host.diskID", "The disk of the host").wide(),
            Column::integer("Boots", ".status.host.bootCount", "How often the host was started").wide(),
            Column::paused(),
            Column::age(),
        ],
        ..Definition::BASE
    }
}

/// What a simulated host should be, and how it behaves.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SimMachineSpec {
    /// What the host is called; the same as on its Node. Filled in by the provider, and never changed.
    #[serde(rename = "providerID")]
    #[schemars(length(min = 1, max = 512))]
    pub provider_id: Option<String>,
    /// The number of its processors; 2 when unset.
    #[schemars(range(min = 1, max = 4096))]
    pub cpus: Option<i32>,
    /// Its memory, such as `8Gi`; `4Gi` when unset.
    #[schemars(length(min = 1, max = 32), regex(pattern = QUANTITY))]
    pub memory: Option<String>,
    /// The image that it runs.
    #[schemars(length(min = 1, max = 256))]
    pub image: Option<String>,
    /// How long it takes until the host is there; 0 when unset.
    #[schemars(range(min = 0))]
    pub provisioning_seconds: Option<i32>,
    /// How long one change of the running host takes; 0 when unset.
    #[schemars(range(min = 0))]
    pub update_seconds: Option<i32>,
    /// What goes wrong, for tests of failures.
    #[serde(default, skip_serializing_if = "is_default")]
    pub failures: SimFailures,
}

/// What was observed of a simulated host.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SimMachineStatus {
    /// What is true of it at the moment, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "schema::Conditions")]
    pub conditions: Vec<Condition>,
    /// What of its start has happened. Never taken back.
    #[serde(default, skip_serializing_if = "is_default")]
    pub initialization: ProvisionedStatus,
    /// The addresses of the host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), extend("x-kubernetes-list-type" = "atomic"))]
    pub addresses: Vec<MachineAddress>,
    /// The attempt to get the host, until it is there.
    pub provisioning: Option<SimAttempt>,
    /// The change of the running host that is on its way.
    pub update: Option<SimAttempt>,
    /// How many changes of the running host have failed.
    #[schemars(range(min = 0))]
    pub failed_updates: Option<i32>,
    /// The host. Once there, it stays the same until the SimMachine is deleted.
    pub host: Option<SimHost>,
}

/// Something that takes its time and may fail.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SimAttempt {
    /// What is tried, in words.
    #[schemars(length(max = 512))]
    pub what: Option<String>,
    /// When the present attempt began.
    #[schemars(with = "schema::Time")]
    pub start_time: Time,
    /// How many earlier ones failed.
    #[schemars(range(min = 0))]
    pub failures: Option<i32>,
}

/// A simulated host: what it really is and runs.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SimHost {
    /// The serial number of the host.
    pub id: String,
    /// The serial number of its disk, given when the host was made: another host has another disk.
    #[serde(rename = "diskID")]
    pub disk_id: String,
    /// How often it was started.
    #[schemars(range(min = 1))]
    pub boot_count: i32,
    /// When it, or Kubernetes on it, was last started.
    #[schemars(with = "Option<schema::Time>")]
    pub start_time: Option<Time>,
    /// The number of its processors.
    pub cpus: i32,
    /// Its memory.
    pub memory: String,
    /// The image that it runs.
    pub image: Option<String>,
    /// The version of Kubernetes on it.
    pub kubernetes_version: Option<String>,
}
