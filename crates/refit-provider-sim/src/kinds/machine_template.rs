//! SimMachineTemplate: what the SimMachines of a MachineSet are made from.

use refit_api::cluster::ObjectMeta;
use refit_api::resource::{Column, Definition, is_default, resource};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::SimMachineSpec;

resource! {
    /// What the SimMachines of a MachineSet are made from.
    SimMachineTemplate in Namespaced {
        optional { spec: SimMachineTemplateSpec }
    }
    Definition {
        group: super::INFRASTRUCTURE_GROUP,
        version: super::VERSION,
        plural: "simmachinetemplates",
        has_status: false,
        columns: &[
            Column::string("Memory", ".spec.template.spec.memory", "The memory of each host"),
            Column::string("Image", ".spec.template.spec.image", "The image of each host"),
            Column::age(),
        ],
        ..Definition::BASE
    }
}

/// What a SimMachineTemplate should be.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SimMachineTemplateSpec {
    /// The SimMachine to be.
    pub template: SimMachineTemplateResource,
}

/// A SimMachine to be: its metadata and spec.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SimMachineTemplateResource {
    /// Labels and annotations of the SimMachine.
    #[serde(default, skip_serializing_if = "is_default")]
    pub metadata: ObjectMeta,
    /// What the SimMachine should be.
    #[serde(default, skip_serializing_if = "is_default")]
    pub spec: SimMachineSpec,
}
