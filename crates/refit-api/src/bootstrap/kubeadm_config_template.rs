//! KubeadmConfigTemplate: what the KubeadmConfigs of a MachineSet are made from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::KubeadmConfigSpec;
use crate::cluster::ObjectMeta;
use crate::resource::{Column, Definition, is_default, resource};

resource! {
    /// What the KubeadmConfigs of a MachineSet are made from.
    KubeadmConfigTemplate in Namespaced {
        optional { spec: KubeadmConfigTemplateSpec }
    }
    Definition {
        group: super::GROUP,
        version: super::VERSION,
        plural: "kubeadmconfigtemplates",
        has_status: false,
        columns: &[
            Column::string("ClusterClass", ".metadata.ownerReferences[?(@.kind==\"ClusterClass\")].name", "The ClusterClass it is part of"),
            Column::string("Cluster", ".metadata.ownerReferences[?(@.kind==\"Cluster\")].name", "The Cluster it is part of"),
            Column::age(),
        ],
        ..Definition::BASE
    }
}

/// What a KubeadmConfigTemplate should be.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KubeadmConfigTemplateSpec {
    /// The KubeadmConfig to be.
    pub template: KubeadmConfigTemplateResource,
}

/// A KubeadmConfig to be: its metadata and spec.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct KubeadmConfigTemplateResource {
    /// Labels and annotations of the KubeadmConfig.
    #[serde(default, skip_serializing_if = "is_default")]
    pub metadata: ObjectMeta,
    /// What the KubeadmConfig should be.
    #[serde(default, skip_serializing_if = "is_default")]
    pub spec: KubeadmConfigSpec,
}
