//! What all requests, and all responses, have in common.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::open_enum::open_enum;
use super::{API_VERSION, Hook};

/// The settings of an ExtensionConfig, sent with every call but Discovery.
pub type Settings = BTreeMap<String, String>;

/// What a controller sends.
pub trait HookRequest: Serialize + DeserializeOwned + JsonSchema {
    /// The hook that it asks.
    const HOOK: Hook;
    /// What the extension answers.
    type Response: HookResponse;

    /// The settings that go with the call. None for Discovery, which has no such field.
    fn settings_mut(&mut self) -> Option<&mut Settings>;

    /// Adds the settings of the ExtensionConfig. What the request says itself wins.
    fn add_settings(&mut self, of_extension_config: &Settings) {
        let Some(settings) = self.settings_mut() else { return };
        for (key, value) in of_extension_config {
            settings.entry(key.clone()).or_insert_with(|| value.clone());
        }
    }
}

/// What an extension answers.
pub trait HookResponse: Serialize + DeserializeOwned + JsonSchema {
    /// The answer of an extension that could not do what was asked; `message` reaches conditions and logs.
    fn failed(message: impl Into<String>) -> Self;

    /// How the call went, in one word.
    fn status(&self) -> &ResponseStatus;

    /// How the call went, in words. Empty when the extension has nothing to say.
    fn message(&self) -> &str;

    /// Says it in other words.
    fn set_message(&mut self, message: String);

    /// Refuses every status but success. Nothing else in the response counts before this was asked.
    fn check_status(&self) -> Result<(), StatusError> {
        let message = self.message().to_owned();
        match self.status() {
            ResponseStatus::Success => Ok(()),
            ResponseStatus::Failure => Err(StatusError::Failure { message }),
            ResponseStatus::Unknown(status) => Err(StatusError::Unknown { status: status.clone(), message }),
        }
    }
}

open_enum! {
    /// How a call went.
    ResponseStatus {
        /// The extension did what was asked.
        Success = "Success",
        /// The extension could not do what was asked. It will be asked again.
        Failure = "Failure",
    }
}

/// The extension answered, but not with success.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StatusError {
    /// The extension says that it failed.
    #[error("got failure response with message: {message}")]
    Failure { message: String },
    /// The extension says neither. An extension that forgets to set a status sends an empty one.
    #[error("got unknown response status {status:?} with message: {message}")]
    Unknown { status: String, message: String },
}

/// The `apiVersion` of all payloads: written always, and not looked at when read.
///
/// Payloads flatten it. That is also what makes them objects: serde reads a struct from a list as well, Go does not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ApiVersion;

impl Serialize for ApiVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map([("apiVersion", API_VERSION)])
    }
}

impl<'de> Deserialize<'de> for ApiVersion {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Ok(Self)
    }
}
