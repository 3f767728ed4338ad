//! Asking an extension which handlers it has.

use refit_api::hooks;
use refit_api::hooks::{DiscoveredHandler, DiscoveryError, DiscoveryRequest, discovered_handlers};
use refit_api::runtime::{ExtensionConfig, ExtensionHandler, FailurePolicy, GroupVersionHook};

use crate::client::{CallTimeout, Client, Endpoint, EndpointError, ExchangeError, Target};

/// How many handlers an extension may have: as many as the status of an ExtensionConfig has room for.
pub const MAX_HANDLERS: usize = 512;

/// Why the handlers of an extension are not known. With its causes appended, it begins as upstream's does.
#[derive(Debug, thiserror::Error)]
pub enum DiscoverError {
    #[error("failed to discover extension {extension:?}: failed to get http client")]
    Endpoint { extension: String, source: EndpointError },
    #[error("failed to discover extension {extension:?}")]
    Call { extension: String, source: ExchangeError },
    #[error(
        "failed to discover extension {extension:?}: it has {found} handlers, more than the {MAX_HANDLERS} there is room for"
    )]
    TooMany { extension: String, found: usize },
    #[error(transparent)]
    Response(#[from] DiscoveryError),
}

/// Asks the extension. The handlers come by name, so that two answers in another order are the same.
///
/// All of its handlers are good, or none is taken.
pub async fn discover(client: &Client, config: &ExtensionConfig) -> Result<Vec<DiscoveredHandler>, DiscoverError> {
    let extension = config.metadata.name.clone().unwrap_or_default();
    let endpoint = Endpoint::new(&config.spec.client_config)
        .map_err(|source| DiscoverError::Endpoint { extension: extension.clone(), source })?;
    let target = Target { endpoint: &endpoint, handler: None, timeout: CallTimeout::DEFAULT };
    let response = client.call(target, &DiscoveryRequest::default()).await;
    let response = response.map_err(|source| DiscoverError::Call { extension: extension.clone(), source })?;
    let found = response.handlers().len();
    if found > MAX_HANDLERS {
        return Err(DiscoverError::TooMany { extension, found });
    }
    let mut handlers = discovered_handlers(&response, &extension)?;
    handlers.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(handlers)
}

/// A handler as the status of its ExtensionConfig lists it.
pub fn to_status(handler: &DiscoveredHandler) -> ExtensionHandler {
    let request_hook: hooks::GroupVersionHook = handler.hook.into();
    ExtensionHandler {
        name: handler.name.to_string(),
        request_hook: GroupVersionHook { api_version: request_hook.api_version, hook: request_hook.hook },
        timeout_seconds: handler.timeout_seconds,
        failure_policy: failure_policy(&handler.failure_policy),
    }
}

fn failure_policy(policy: &hooks::FailurePolicy) -> Option<FailurePolicy> {
    match policy {
        hooks::FailurePolicy::Ignore => Some(FailurePolicy::Ignore),
        hooks::FailurePolicy::Fail => Some(FailurePolicy::Fail),
        hooks::FailurePolicy::Unknown(_) => None,
    }
}
