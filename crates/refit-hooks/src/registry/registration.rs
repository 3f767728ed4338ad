//! A handler of an extension, with all that a call of it needs.

use std::collections::BTreeMap;

use refit_api::hooks::{CanonicalName, Hook, NameError, Settings};
use refit_api::policy::read_extension_order;
use refit_api::runtime::{ExtensionConfig, ExtensionHandler, FailurePolicy};
use refit_api::selector::{Selector, SelectorError};
use refit_plan::coverage::ContentHash;
use serde_json::json;

use super::RegistryError;
use crate::client::{CallTimeout, Endpoint};

/// A handler of an extension, with all that a call of it needs.
#[derive(Debug, Clone)]
pub struct Registration {
    pub name: CanonicalName,
    pub hook: Hook,
    /// Where it is; or what is wrong with the ExtensionConfig. Then it is there, and every call of it fails: were it
    /// left out, it would seem that nobody can make a change.
    pub endpoint: Result<Endpoint, String>,
    pub timeout: CallTimeout,
    pub failure_policy: FailurePolicy,
    pub settings: Settings,
    /// Its place among others, from `refit.dev/order`; 0 without one.
    pub order: i32,
    /// Which state of which ExtensionConfig this is, and what was discovered through it.
    pub identity: ContentHash,
    selector: Selector,
}

/// Why the handlers of an ExtensionConfig cannot be registered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegistrationError {
    #[error("failed to add ExtensionConfig {extension:?} to registry: failed to create namespaceSelector")]
    Selector { extension: String, source: SelectorError },
    #[error("failed to add ExtensionConfig {extension:?} to registry")]
    Name { extension: String, source: NameError },
}

/// The namespace of the object that a hook is called for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Namespace {
    pub name: String,
    /// None: they could not be read. That matters only where an extension selects by them.
    pub labels: Option<BTreeMap<String, String>>,
}

impl Registration {
    /// The handlers that the status of an ExtensionConfig lists. A hook that refit does not know is passed over: the
    /// status may be a newer controller's.
    pub(super) fn all_of(config: &ExtensionConfig) -> Result<Vec<Self>, RegistrationError> {
        let extension = || config.metadata.name.clone().unwrap_or_default();
        let selector = Selector::from_field(config.spec.namespace_selector.as_ref())
            .map_err(|source| RegistrationError::Selector { extension: extension(), source })?;
        let known = config.status.handlers.iter().filter_map(|handler| {
            let hook = Hook::find(&handler.request_hook.api_version, &handler.request_hook.hook)?;
            Some((handler, hook))
        });
        let registrations = known.map(|(handler, hook)| Self::new(config, handler, hook, selector.clone()));
        registrations
            .collect::<Result<_, _>>()
            .map_err(|source| RegistrationError::Name { extension: extension(), source })
    }

    fn new(
        config: &ExtensionConfig,
        handler: &ExtensionHandler,
        hook: Hook,
        selector: Selector,
    ) -> Result<Self, NameError> {
        let annotations = config.metadata.annotations.clone().unwrap_or_default();
        let order = read_extension_order(&annotations)
            .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "));
        let endpoint = Endpoint::new(&config.spec.client_config).map_err(|error| error.to_string());
        Ok(Self {
            name: handler.name.parse()?,
            hook,
            endpoint: order.clone().and(endpoint),
            timeout: CallTimeout::of_handler(handler.timeout_seconds),
            failure_policy: handler.failure_policy.unwrap_or(FailurePolicy::Fail),
            settings: config.spec.settings.clone(),
            identity: identity(config, &order),
            order: order.ok().flatten().unwrap_or_default(),
            selector,
        })
    }

    /// Whether the handler is for objects of this namespace.
    pub fn selects(&self, namespace: &Namespace) -> Result<bool, RegistryError> {
        match (&namespace.labels, self.needs_labels()) {
            (_, false) => Ok(self.selector.is_everything()),
            (Some(labels), true) => Ok(self.selector.matches(labels)),
            (None, true) => Err(RegistryError::Namespace(namespace.name.clone())),
        }
    }

    pub(super) fn needs_labels(&self) -> bool {
        self.selector != Selector::Nothing && !self.selector.is_everything()
    }
}

/// Changes with everything that could make an extension answer otherwise: another object, another spec, other handlers,
/// another place among the others.
fn identity(config: &ExtensionConfig, order: &Result<Option<i32>, String>) -> ContentHash {
    let metadata = &config.metadata;
    ContentHash::of(&json!([metadata.uid, metadata.generation, config.spec, config.status.handlers, order]))
}
