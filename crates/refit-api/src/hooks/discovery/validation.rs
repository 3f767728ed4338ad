//! What a controller makes of the answer to Discovery. All of an extension's handlers are taken, or none.

use std::collections::BTreeSet;
use std::fmt;

use super::{DiscoveryResponse, ExtensionHandler, FailurePolicy, GroupVersionHook};
use crate::admission::names::dns_label_problem;
use crate::hooks::{CanonicalName, HandlerName, Hook, HookResponse, NameError, StatusError};

/// How long a call may take when the handler does not say.
pub const DEFAULT_TIMEOUT_SECONDS: i32 = 10;
/// How long a call may take at most.
pub const MAX_TIMEOUT_SECONDS: i32 = 30;

/// A handler that was discovered and found good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiscoveredHandler {
    /// Its name in the cluster.
    pub name: CanonicalName,
    /// The hook that it serves.
    pub hook: Hook,
    /// How long a call may take. None: the handler asked for 0, and calls take [`DEFAULT_TIMEOUT_SECONDS`].
    pub timeout_seconds: Option<i32>,
    /// What a call without an answer means. Never unknown.
    pub failure_policy: FailurePolicy,
}

/// The handlers that a response to Discovery declares, in its order, or everything that is wrong with it.
pub fn discovered_handlers(
    response: &DiscoveryResponse,
    extension_config: &str,
) -> Result<Vec<DiscoveredHandler>, DiscoveryError> {
    let extension = || extension_config.to_owned();
    response.check_status().map_err(|source| DiscoveryError::Status { extension: extension(), source })?;
    let handlers = response.handlers();
    let problems = handler_problems(handlers);
    if !problems.is_empty() {
        return Err(DiscoveryError::Invalid { extension: extension(), source: InvalidHandlers(problems) });
    }
    let discovered = handlers.iter().map(|handler| discovered(handler, extension_config));
    discovered.collect::<Result<_, _>>().map_err(|source| DiscoveryError::Name { extension: extension(), source })
}

/// Everything that a controller would find wrong with these handlers. An extension can ask before it serves them.
pub fn handler_problems(handlers: &[ExtensionHandler]) -> Vec<HandlerProblem> {
    let mut seen = BTreeSet::new();
    handlers.iter().flat_map(|handler| problems_of(handler, seen.insert(&handler.name))).collect()
}

fn problems_of(handler: &ExtensionHandler, is_first: bool) -> impl Iterator<Item = HandlerProblem> + use<> {
    let name = || handler.name.clone();
    let (timeout_seconds, failure_policy) = defaulted(handler);
    let duplicate = (!is_first).then(|| HandlerProblem::DuplicateName { name: name() });
    let label = dns_label_problem(&handler.name).map(|problem| HandlerProblem::Name { name: name(), problem });
    let timeout = (!(0..=MAX_TIMEOUT_SECONDS).contains(&timeout_seconds))
        .then(|| HandlerProblem::Timeout { name: name(), timeout_seconds });
    let policy = matches!(failure_policy, FailurePolicy::Unknown(_))
        .then(|| HandlerProblem::FailurePolicy { name: name(), failure_policy });
    let hook = hook_problem(handler);
    [duplicate, label, timeout, policy, hook].into_iter().flatten()
}

fn defaulted(handler: &ExtensionHandler) -> (i32, FailurePolicy) {
    let timeout_seconds = handler.timeout_seconds.unwrap_or(DEFAULT_TIMEOUT_SECONDS);
    (timeout_seconds, handler.failure_policy.clone().unwrap_or(FailurePolicy::Fail))
}

fn hook_problem(handler: &ExtensionHandler) -> Option<HandlerProblem> {
    let (name, GroupVersionHook { api_version, hook }) = (handler.name.clone(), handler.request_hook.clone());
    if api_version.matches('/').count() > 1 {
        return Some(HandlerProblem::ApiVersion { name, api_version });
    }
    Hook::find(&api_version, &hook).is_none().then_some(HandlerProblem::Hook { name, api_version, hook })
}

fn discovered(handler: &ExtensionHandler, extension_config: &str) -> Result<DiscoveredHandler, NameError> {
    let name = CanonicalName::new(HandlerName::new(handler.name.as_str())?, extension_config)?;
    let (timeout_seconds, failure_policy) = defaulted(handler);
    let hook = Hook::parse(&handler.request_hook.hook).expect("the hook must have been found in the catalog before");
    Ok(DiscoveredHandler {
        name,
        hook,
        timeout_seconds: Some(timeout_seconds).filter(|seconds| *seconds != 0),
        failure_policy,
    })
}

/// Why an extension's answer to Discovery cannot be used.
///
/// With its causes appended, it reads as upstream's: it becomes the message of the `Discovered` condition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DiscoveryError {
    /// The extension did not answer with success.
    #[error("failed to discover extension {extension:?}")]
    Status { extension: String, source: StatusError },
    /// At least one handler is wrong.
    #[error("failed to discover extension {extension:?}")]
    Invalid { extension: String, source: InvalidHandlers },
    /// The ExtensionConfig's own name cannot be part of a canonical name.
    #[error("failed to discover extension {extension:?}")]
    Name { extension: String, source: NameError },
}

/// Everything that is wrong with the handlers of an extension. Never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidHandlers(Vec<HandlerProblem>);

impl InvalidHandlers {
    pub fn problems(&self) -> &[HandlerProblem] {
        &self.0
    }
}

impl std::error::Error for InvalidHandlers {}

/// Several problems stand in brackets, each one once, as Kubernetes prints aggregated errors.
impl fmt::Display for InvalidHandlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut texts: Vec<String> = Vec::new();
        for text in self.0.iter().map(HandlerProblem::to_string) {
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        match texts.as_slice() {
            [only] => write!(f, "failed to validate discovery response: {only}"),
            several => write!(f, "failed to validate discovery response: [{}]", several.join(", ")),
        }
    }
}

/// One thing that is wrong with one handler.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HandlerProblem {
    /// Names are unique in an extension, whatever hook the handlers serve.
    #[error("duplicate name for handler {name} found")]
    DuplicateName { name: String },
    /// No DNS-1123 label.
    #[error("handler name {name} is not valid: [{problem}]")]
    Name { name: String, problem: &'static str },
    /// Out of range.
    #[error("handler {name} timeoutSeconds {timeout_seconds} must be between 0 and {MAX_TIMEOUT_SECONDS}")]
    Timeout { name: String, timeout_seconds: i32 },
    /// Neither of the two.
    #[error("handler {name} failurePolicy {failure_policy} must equal \"Ignore\" or \"Fail\"")]
    FailurePolicy { name: String, failure_policy: FailurePolicy },
    /// More than one slash.
    #[error(
        "handler {name} requestHook APIVersion {api_version} is not valid: \
         unexpected GroupVersion string: {api_version}"
    )]
    ApiVersion { name: String, api_version: String },
    /// No such hook in that version. Case counts.
    #[error("handler {name} requestHook {api_version}/{hook} is not in the Runtime SDK catalog")]
    Hook { name: String, api_version: String, hook: String },
}

#[cfg(test)]
mod tests;
