//! Who serves which hook, for which namespaces. A plain value: no client, no clock, no lock.

mod registration;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use refit_api::hooks::{CanonicalName, Hook};
use refit_api::runtime::ExtensionConfig;

pub use registration::{Namespace, Registration, RegistrationError};

/// The handlers of all extensions.
///
/// It is cold until all ExtensionConfigs have been looked at once. A cold registry answers nothing: that an extension is
/// not there would be read as "cannot be updated in place", and machines would be replaced for it.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    is_ready: bool,
    handlers: BTreeMap<CanonicalName, Arc<Registration>>,
}

/// Why the registry has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    #[error(
        "failed to list extension handlers for GroupHook {:?}: invalid operation: List cannot be called on a registry \
         which has not been warmed up", .0.qualified_name()
    )]
    NotReady(Hook),
    #[error("failed to get extension handler {0:?} from registry: handler with name {0:?} has not been registered")]
    NotRegistered(String),
    #[error("handler does not match GroupHook {:?}", .0.qualified_name())]
    OtherHook(Hook),
    /// An extension selects namespaces by their labels, and those cannot be read.
    #[error("failed to match namespace: failed to get namespace {0}")]
    Namespace(String),
}

impl Registry {
    /// Whether all ExtensionConfigs have been looked at once.
    pub fn is_ready(&self) -> bool {
        self.is_ready
    }

    /// Says that all ExtensionConfigs have been looked at: those that are not registered by now have no handlers.
    pub fn set_ready(&mut self) {
        self.is_ready = true;
    }

    /// Puts the handlers of an ExtensionConfig in the place of those that it had: all of them, or an error and the old
    /// ones stay.
    pub fn register(&mut self, config: &ExtensionConfig) -> Result<(), RegistrationError> {
        let registrations = Registration::all_of(config)?;
        self.unregister(config.metadata.name.as_deref().unwrap_or_default());
        self.handlers.extend(registrations.into_iter().map(|it| (it.name.clone(), Arc::new(it))));
        Ok(())
    }

    /// Forgets the handlers of an ExtensionConfig.
    pub fn unregister(&mut self, extension_config: &str) {
        self.handlers.retain(|name, _| name.extension_config() != extension_config);
    }

    /// The handlers of a hook that are for this namespace, in the order in which they are asked and run.
    pub fn matching(&self, hook: Hook, namespace: &Namespace) -> Result<Vec<Arc<Registration>>, RegistryError> {
        if !self.is_ready {
            return Err(RegistryError::NotReady(hook));
        }
        let mut matching = Vec::new();
        for registration in self.handlers.values().filter(|it| it.hook == hook) {
            if registration.selects(namespace)? {
                matching.push(Arc::clone(registration));
            }
        }
        matching.sort_by(|a, b| (a.order, &a.name).cmp(&(b.order, &b.name)));
        Ok(matching)
    }

    /// Whether the labels of a namespace must be known to say who serves this hook there.
    pub fn needs_labels(&self, hook: Hook) -> bool {
        self.handlers.values().any(|it| it.hook == hook && it.needs_labels())
    }

    /// The handler of this name, if it serves this hook.
    pub fn get(&self, name: &CanonicalName, hook: Hook) -> Result<Arc<Registration>, RegistryError> {
        if !self.is_ready {
            return Err(RegistryError::NotReady(hook));
        }
        let found = self.handlers.get(name).ok_or_else(|| RegistryError::NotRegistered(name.to_string()))?;
        if found.hook == hook { Ok(Arc::clone(found)) } else { Err(RegistryError::OtherHook(hook)) }
    }

    /// The handlers of a hook in the same ExtensionConfig as the handler of another one.
    ///
    /// The extension that said that it can make a change is the one to make it.
    pub fn beside(&self, name: &CanonicalName, hook: Hook) -> Vec<Arc<Registration>> {
        let is_beside =
            |it: &&Arc<Registration>| it.hook == hook && it.name.extension_config() == name.extension_config();
        self.handlers.values().filter(is_beside).cloned().collect()
    }
}
