//! CanUpdateMachine: which changes of a Machine can be made in place?

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::stripped::Stripped;
use super::{
    ApiVersion, Hook, HookRequest, HookResponse, Patch, RawObject, ResponseStatus, Settings, StatusError, null,
};
use crate::cluster::{Machine, MachineSpec};

/// Asks an extension which of the differences between "current" and "desired" it can make on a Machine in place.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub struct CanUpdateMachineRequest {
    #[serde(flatten)]
    #[schemars(skip)]
    pub api_version: ApiVersion,
    /// The settings of the ExtensionConfig.
    #[serde(default, deserialize_with = "null::in_map", skip_serializing_if = "Settings::is_empty")]
    pub settings: Settings,
    /// What is.
    #[serde(default, deserialize_with = "null::as_object")]
    #[schemars(!default)]
    pub current: CanUpdateMachineRequestObjects,
    /// What should be.
    #[serde(default, deserialize_with = "null::as_object")]
    #[schemars(!default)]
    pub desired: CanUpdateMachineRequestObjects,
}

/// A Machine and its provider objects.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CanUpdateMachineRequestObjects {
    /// The Machine.
    #[serde(default, deserialize_with = "null::as_default")]
    #[schemars(!default, with = "Stripped<Machine, MachineSpec>")]
    pub machine: RawObject,
    /// The infrastructure provider's object for the host.
    #[serde(default, deserialize_with = "null::as_default")]
    #[schemars(!default)]
    pub infrastructure_machine: RawObject,
    /// The bootstrap provider's object, if the Machine has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bootstrap_config: Option<RawObject>,
}

impl CanUpdateMachineRequest {
    pub fn new(current: CanUpdateMachineRequestObjects, desired: CanUpdateMachineRequestObjects) -> Self {
        Self { current, desired, ..Self::default() }
    }
}

impl HookRequest for CanUpdateMachineRequest {
    const HOOK: Hook = Hook::CanUpdateMachine;
    type Response = CanUpdateMachineResponse;

    fn settings_mut(&mut self) -> Option<&mut Settings> {
        Some(&mut self.settings)
    }
}

/// Which changes of a Machine the extension can make in place. Only changes in `spec` count.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub struct CanUpdateMachineResponse {
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
    /// What the extension can change of the Machine.
    #[serde(default, deserialize_with = "Patch::deserialize_defined", skip_serializing_if = "Option::is_none")]
    machine_patch: Option<Patch>,
    /// What the extension can change of the infrastructure provider's object.
    #[serde(default, deserialize_with = "Patch::deserialize_defined", skip_serializing_if = "Option::is_none")]
    infrastructure_machine_patch: Option<Patch>,
    /// What the extension can change of the bootstrap provider's object.
    #[serde(default, deserialize_with = "Patch::deserialize_defined", skip_serializing_if = "Option::is_none")]
    bootstrap_config_patch: Option<Patch>,
}

/// The claims on a Machine and its provider objects. None: no claim.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MachinePatches {
    pub machine: Option<Patch>,
    pub infrastructure_machine: Option<Patch>,
    pub bootstrap_config: Option<Patch>,
}

impl CanUpdateMachineResponse {
    /// The extension can make these changes, and no others.
    pub fn success(patches: MachinePatches) -> Self {
        Self {
            status: ResponseStatus::Success,
            machine_patch: patches.machine,
            infrastructure_machine_patch: patches.infrastructure_machine,
            bootstrap_config_patch: patches.bootstrap_config,
            ..Self::default()
        }
    }

    /// The claims, if the extension answered with success.
    pub fn into_patches(self) -> Result<MachinePatches, StatusError> {
        self.check_status()?;
        Ok(MachinePatches {
            machine: self.machine_patch,
            infrastructure_machine: self.infrastructure_machine_patch,
            bootstrap_config: self.bootstrap_config_patch,
        })
    }
}

impl HookResponse for CanUpdateMachineResponse {
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
