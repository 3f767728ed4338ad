//! Discovery: which handlers does the extension have?

mod validation;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

pub use validation::*;

use super::open_enum::open_enum;
use super::{API_VERSION, ApiVersion, HandlerName, Hook, HookRequest, HookResponse, ResponseStatus, Settings, null};

/// Asks an extension for its handlers. It has no settings: they belong to handlers, which are not known yet.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub struct DiscoveryRequest {
    #[serde(flatten)]
    #[schemars(skip)]
    pub api_version: ApiVersion,
}

impl HookRequest for DiscoveryRequest {
    const HOOK: Hook = Hook::Discovery;
    type Response = DiscoveryResponse;

    fn settings_mut(&mut self) -> Option<&mut Settings> {
        None
    }
}

/// The handlers of an extension.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub struct DiscoveryResponse {
    #[serde(flatten)]
    #[schemars(skip)]
    api_version: ApiVersion,
    /// Whether the extension could answer.
    #[serde(default, deserialize_with = "null::as_default")]
    #[schemars(!default)]
    status: ResponseStatus,
    /// What went wrong, for people.
    #[serde(default, deserialize_with = "null::as_default", skip_serializing_if = "String::is_empty")]
    message: String,
    /// The handlers. Their names are unique, whatever hook they serve.
    #[serde(default, deserialize_with = "null::as_objects", skip_serializing_if = "Vec::is_empty")]
    handlers: Vec<ExtensionHandler>,
}

impl DiscoveryResponse {
    /// The extension has these handlers. They are listed by name: a list that changes its order from one answer to
    /// the next would be written to the ExtensionConfig each time.
    pub fn success(mut handlers: Vec<ExtensionHandler>) -> Self {
        handlers.sort_by(|a, b| a.name.cmp(&b.name));
        Self { status: ResponseStatus::Success, handlers, ..Self::default() }
    }

    /// The handlers as they were sent. See [`discovered_handlers`] for what may be used.
    pub fn handlers(&self) -> &[ExtensionHandler] {
        &self.handlers
    }
}

impl HookResponse for DiscoveryResponse {
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

/// A handler, as its extension describes it.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExtensionHandler {
    /// The name of the handler: a DNS-1123 label.
    #[serde(default, deserialize_with = "null::as_default")]
    #[schemars(!default, length(min = 1, max = 63), regex(pattern = crate::schema::DNS_LABEL))]
    pub name: String,
    /// The hook that it serves.
    #[serde(default, deserialize_with = "null::as_object")]
    #[schemars(!default)]
    pub request_hook: GroupVersionHook,
    /// How long a call may take; 10 when unset or 0.
    #[schemars(range(min = 0, max = 30))]
    pub timeout_seconds: Option<i32>,
    /// What a failed call means; `Fail` when unset.
    pub failure_policy: Option<FailurePolicy>,
}

impl ExtensionHandler {
    /// A handler with the timeout and failure policy that controllers choose.
    pub fn new(name: HandlerName, hook: Hook) -> Self {
        Self { name: name.to_string(), request_hook: hook.into(), timeout_seconds: None, failure_policy: None }
    }
}

/// A hook in a version.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GroupVersionHook {
    /// The group and version of the hook.
    #[serde(default, deserialize_with = "null::as_default")]
    #[schemars(!default)]
    pub api_version: String,
    /// The name of the hook. Case counts.
    #[serde(default, deserialize_with = "null::as_default")]
    #[schemars(!default)]
    pub hook: String,
}

impl From<Hook> for GroupVersionHook {
    fn from(hook: Hook) -> Self {
        Self { api_version: API_VERSION.to_owned(), hook: hook.name().to_owned() }
    }
}

open_enum! {
    /// What a call that got no answer means. It says nothing about answers: a failure that the extension reports
    /// itself always counts.
    FailurePolicy {
        /// The call counts as a success. On UpdateMachine that would read as "done".
        Ignore = "Ignore",
        /// The call counts as failed.
        Fail = "Fail",
    }
}
