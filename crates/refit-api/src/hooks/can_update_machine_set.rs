//! CanUpdateMachineSet: which changes of the Machines of a MachineSet can be made in place?

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::stripped::Stripped;
use super::{
    ApiVersion, Hook, HookRequest, HookResponse, Patch, RawObject, ResponseStatus, Settings, StatusError, null,
};
use crate::cluster::{MachineSet, MachineSetSpec};

/// Asks an extension which of the differences between "current" and "desired" it can make in place on
/// the Machines of a MachineSet.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub struct CanUpdateMachineSetRequest {
    #[serde(flatten)]
    #[schemars(skip)]
    pub api_version: ApiVersion,
    /// The settings of the ExtensionConfig.
    #[serde(default, deserialize_with = "null::in_map", skip_serializing_if = "Settings::is_empty")]
    pub settings: Settings,
    /// What is.
    #[serde(default, deserialize_with = "null::as_object")]
    #[schemars(!default)]
    pub current: CanUpdateMachineSetRequestObjects,
    /// What should be.
    #[serde(default, deserialize_with = "null::as_object")]
    #[schemars(!default)]
    pub desired: CanUpdateMachineSetRequestObjects,
}

/// A MachineSet and the templates it refers to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CanUpdateMachineSetRequestObjects {
    /// The MachineSet.
    #[serde(default, deserialize_with = "null::as_default")]
    #[schemars(!default, with = "Stripped<MachineSet, MachineSetSpec>")]
    pub machine_set: RawObject,
    /// The infrastructure provider's template.
    #[serde(default, deserialize_with = "null::as_default")]
    #[schemars(!default)]
    pub infrastructure_machine_template: RawObject,
    /// The bootstrap provider's template, if the MachineSet has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bootstrap_config_template: Option<RawObject>,
}

impl CanUpdateMachineSetRequest {
    pub fn new(current: CanUpdateMachineSetRequestObjects, desired: CanUpdateMachineSetRequestObjects) -> Self {
        Self { current, desired, ..Self::default() }
    }
}

impl HookRequest for CanUpdateMachineSetRequest {
    const HOOK: Hook = Hook::CanUpdateMachineSet;
    type Response = CanUpdateMachineSetResponse;

    fn settings_mut(&mut self) -> Option<&mut Settings> {
        Some(&mut self.settings)
    }
}

/// Which changes of the Machines of a MachineSet the extension can make in place. Only changes in
/// `spec.template.spec` count.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub struct CanUpdateMachineSetResponse {
    #[serde(flatten)]
    #[schemars(skip)]
    api_version: ApiVersion,
    /// Whether the extension could answer. To be able to do nothing is an answer.
    #[serde(default, deserialize_with = "null::as_default")]
    #[schemars(!default)]
    status: ResponseStatus,
    /// What went wrong, for people.
    #[serde(default, deserialize_with = "null::as_default", skip_serializing_if = "String::is_empty")]
    message: String,
    /// What the extension can change of the MachineSet.
    #[serde(default, deserialize_with = "Patch::deserialize_defined", skip_serializing_if = "Option::is_none")]
    machine_set_patch: Option<Patch>,
    /// What the extension can change of the infrastructure provider's template.
    #[serde(default, deserialize_with = "Patch::deserialize_defined", skip_serializing_if = "Option::is_none")]
    infrastructure_machine_template_patch: Option<Patch>,
    /// What the extension can change of the bootstrap provider's template.
    #[serde(default, deserialize_with = "Patch::deserialize_defined", skip_serializing_if = "Option::is_none")]
    bootstrap_config_template_patch: Option<Patch>,
}

/// The claims on a MachineSet and the templates it refers to. None: no claim.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MachineSetPatches {
    pub machine_set: Option<Patch>,
    pub infrastructure_machine_template: Option<Patch>,
    pub bootstrap_config_template: Option<Patch>,
}

impl CanUpdateMachineSetResponse {
    /// The extension can make these changes, and no others.
    pub fn success(patches: MachineSetPatches) -> Self {
        Self {
            status: ResponseStatus::Success,
            machine_set_patch: patches.machine_set,
            infrastructure_machine_template_patch: patches.infrastructure_machine_template,
            bootstrap_config_template_patch: patches.bootstrap_config_template,
            ..Self::default()
        }
    }

    /// The claims, if the extension answered with success.
    pub fn into_patches(self) -> Result<MachineSetPatches, StatusError> {
        self.check_status()?;
        Ok(MachineSetPatches {
            machine_set: self.machine_set_patch,
            infrastructure_machine_template: self.infrastructure_machine_template_patch,
            bootstrap_config_template: self.bootstrap_config_template_patch,
        })
    }
}

impl HookResponse for CanUpdateMachineSetResponse {
    fn failed(message: impl Into<String>) -> Self {
        Self { status: ResponseStatus::Failure, message: message.into(), ..Self::default() }
    }

    fn status(&self) -> &ResponseStatus {
        &self.status
    }

    fn message(&self) -> &str {
        &self.message
    }

    fn set_message(&mut self, message: String) {
        self.message = message;
    }
}
