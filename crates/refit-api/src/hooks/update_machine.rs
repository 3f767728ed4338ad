//! UpdateMachine: make the changes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use super::stripped::Stripped;
use super::{
    ApiVersion, Hook, HookRequest, HookResponse, RawObject, ResponseStatus, RetryAfterSeconds, Settings, StatusError,
    null,
};
use crate::cluster::{Machine, MachineSpec};

/// Asks an extension to bring a Machine to its desired state, or how far it has come.
///
/// The same request comes again and again, also after a restart, and even after the extension said that it is done.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub struct UpdateMachineRequest {
    #[serde(flatten)]
    #[schemars(skip)]
    pub api_version: ApiVersion,
    /// The settings of the ExtensionConfig.
    #[serde(default, deserialize_with = "null::in_map", skip_serializing_if = "Settings::is_empty")]
    pub settings: Settings,
    /// What the Machine and its provider objects should be.
    #[serde(default, deserialize_with = "null::as_object")]
    #[schemars(!default)]
    pub desired: UpdateMachineRequestObjects,
}

/// What a Machine and its provider objects should be.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpdateMachineRequestObjects {
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

impl UpdateMachineRequest {
    pub fn new(desired: UpdateMachineRequestObjects) -> Self {
        Self { desired, ..Self::default() }
    }
}

impl HookRequest for UpdateMachineRequest {
    const HOOK: Hook = Hook::UpdateMachine;
    type Response = UpdateMachineResponse;

    fn settings_mut(&mut self) -> Option<&mut Settings> {
        Some(&mut self.settings)
    }
}

/// How far the update of a Machine has come.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub struct UpdateMachineResponse {
    #[serde(flatten)]
    #[schemars(skip)]
    api_version: ApiVersion,
    /// Whether the extension could do its part.
    #[serde(default, deserialize_with = "null::as_default")]
    #[schemars(!default)]
    status: ResponseStatus,
    /// What is going on, for people. It reaches the Machine's conditions, so it should be stable and hold no secrets.
    #[serde(default, deserialize_with = "null::as_default", skip_serializing_if = "String::is_empty")]
    message: String,
    /// After how many seconds to ask again; 0: the update is done.
    #[serde(default, deserialize_with = "null::as_default", serialize_with = "refuse_negative")]
    #[schemars(!default, range(min = 0))]
    retry_after_seconds: i32,
}

/// What a response to UpdateMachine says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UpdateOutcome {
    /// The Machine is what it should be.
    Done,
    /// The extension is at work and wants to be asked again.
    InProgress { retry_after: RetryAfterSeconds },
    /// The extension failed, or its status is unknown. It is to be asked again later.
    Refused(StatusError),
    /// Success, but with a negative time to wait. Upstream reads this as done; there is no telling what was meant.
    NegativeRetry { retry_after_seconds: i32 },
}

impl UpdateMachineResponse {
    /// The Machine is what it should be.
    pub fn done() -> Self {
        Self { status: ResponseStatus::Success, ..Self::default() }
    }

    /// The update has begun; ask again after that time.
    pub fn in_progress(message: impl Into<String>, retry_after: RetryAfterSeconds) -> Self {
        Self { message: message.into(), retry_after_seconds: retry_after.get(), ..Self::done() }
    }

    /// What the response says, with every wrong one told apart.
    pub fn outcome(&self) -> UpdateOutcome {
        if let Err(error) = self.check_status() {
            return UpdateOutcome::Refused(error);
        }
        match (self.retry_after_seconds, RetryAfterSeconds::new(self.retry_after_seconds)) {
            (_, Some(retry_after)) => UpdateOutcome::InProgress { retry_after },
            (0, None) => UpdateOutcome::Done,
            (retry_after_seconds, None) => UpdateOutcome::NegativeRetry { retry_after_seconds },
        }
    }
}

impl HookResponse for UpdateMachineResponse {
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

/// No constructor makes a negative number; one that a peer sent is not passed on either, because Go reads it as done.
fn refuse_negative<S: Serializer>(seconds: &i32, serializer: S) -> Result<S::Ok, S::Error> {
    match *seconds {
        ..0 => Err(serde::ser::Error::custom("retryAfterSeconds must not be negative")),
        0.. => serializer.serialize_i32(*seconds),
    }
}
