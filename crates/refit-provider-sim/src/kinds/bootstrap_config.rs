//! SimBootstrapConfig and its template: the bootstrap data of a simulated host.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use refit_api::bootstrap::GROUP;
use refit_api::cluster::ObjectMeta;
use refit_api::resource::{Column, Definition, condition, is_default, resource};
use refit_api::schema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

resource! {
    /// The bootstrap data of one simulated host. Made once: a new spec does not make it anew.
    SimBootstrapConfig in Namespaced {
        optional { spec: SimBootstrapConfigSpec, status: SimBootstrapConfigStatus }
    }
    Definition {
        group: GROUP,
        version: super::VERSION,
        plural: "simbootstrapconfigs",
        columns: &[
            Column::cluster_label(),
            Column::string("Ready", condition!("Ready"), "Whether the bootstrap data is in its secret"),
            Column::paused(),
            Column::age(),
        ],
        ..Definition::BASE
    }
}

resource! {
    /// What the SimBootstrapConfigs of a MachineSet are made from.
    SimBootstrapConfigTemplate in Namespaced {
        optional { spec: SimBootstrapConfigTemplateSpec }
    }
    Definition {
        group: GROUP,
        version: super::VERSION,
        plural: "simbootstrapconfigtemplates",
        has_status: false,
        columns: &[Column::age()],
        ..Definition::BASE
    }
}

/// What a simulated host is told when it starts for the first time.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SimBootstrapConfigSpec {
    /// The script that it would run.
    #[schemars(length(max = 10240))]
    pub script: Option<String>,
}

/// What was observed of a SimBootstrapConfig.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SimBootstrapConfigStatus {
    /// What is true of it at the moment, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "schema::Conditions")]
    pub conditions: Vec<Condition>,
    /// What of its start has happened. Never taken back.
    #[serde(default, skip_serializing_if = "is_default")]
    pub initialization: DataSecretStatus,
    /// The secret with the bootstrap data.
    #[schemars(length(min = 1, max = 253))]
    pub data_secret_name: Option<String>,
}

/// What of a bootstrap object's start has happened. Never taken back.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DataSecretStatus {
    /// The bootstrap data is in its secret.
    pub data_secret_created: Option<bool>,
}

/// What a SimBootstrapConfigTemplate should be.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SimBootstrapConfigTemplateSpec {
    /// The SimBootstrapConfig to be.
    pub template: SimBootstrapConfigTemplateResource,
}

/// A SimBootstrapConfig to be: its metadata and spec.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SimBootstrapConfigTemplateResource {
    /// Labels and annotations of the SimBootstrapConfig.
    #[serde(default, skip_serializing_if = "is_default")]
    pub metadata: ObjectMeta,
    /// What the SimBootstrapConfig should be.
    #[serde(default, skip_serializing_if = "is_default")]
    pub spec: SimBootstrapConfigSpec,
}
