//! Who serves which hook, for which namespaces. A plain value: no client, no clock, no lock.

mod known;
mod registration;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use refit_api::hooks::{CanonicalName, Hook};
use refit_api::runtime::ExtensionConfig;
use refit_plan::coverage::{ContentHash, Undiscovered};
use serde_json::json;

use known::Known;
pub use registration::{Namespace, Registration, RegistrationError};

/// The handlers of all extensions.
///
/// It is cold until all ExtensionConfigs have been looked at once. A cold registry answers nothing: that an extension is
/// not there would be read as "cannot be updated in place", and machines would be replaced for it.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    is_ready: bool,
    handlers: BTreeMap<CanonicalName, Arc<Registration>>,
    /// All ExtensionConfigs that there are, by name: also those whose handlers nobody knows yet.
    configs: BTreeMap<String, Known>,
    /// Grows with every change of what is registered.
    version: u64,
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
        self.version += u64::from(!self.is_ready);
        self.is_ready = true;
    }

    /// Grows with every change of what is registered, and of what is known of ExtensionConfigs that cannot be reached.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Notes that an ExtensionConfig is there. Until its handlers are discovered, for the spec that it has now, it may serve
    /// any hook.
    pub fn announce(&mut self, config: &ExtensionConfig) {
        let name = name_of(config);
        if self.configs.get(name).is_some_and(|known| known.is_of(config)) {
            return;
        }
        if self.configs.get(name).is_some_and(|known| known.uid != config.metadata.uid) {
            self.handlers.retain(|handler, _| handler.extension_config() != name);
        }
        self.configs.insert(name.to_owned(), Known::announced(config));
        self.version += 1;
    }

    /// Puts the handlers of an ExtensionConfig in the place of those that it had: all of them, or an error and the old
    /// ones stay.
    pub fn register(&mut self, config: &ExtensionConfig) -> Result<(), RegistrationError> {
        self.put(config, None)
    }

    /// The same for an ExtensionConfig that could not be discovered, with the words that say why: the handlers that its
    /// status lists are used, and what else it may serve is not known.
    pub fn register_undiscovered(&mut self, config: &ExtensionConfig, why: String) -> Result<(), RegistrationError> {
        self.put(config, Some(why))
    }

    fn put(&mut self, config: &ExtensionConfig, problem: Option<String>) -> Result<(), RegistrationError> {
        let name = name_of(config);
        let registrations = Registration::all_of(config);
        let problem = problem.or_else(|| registrations.as_ref().err().map(ToString::to_string));
        let known = Known::new(config, problem);
        let mut is_other = self.configs.get(name) != Some(&known);
        self.configs.insert(name.to_owned(), known);
        let result = registrations.map(|registrations| {
            is_other |= !self.has_exactly(name, &registrations);
            self.handlers.retain(|handler, _| handler.extension_config() != name);
            self.handlers.extend(registrations.into_iter().map(|it| (it.name.clone(), Arc::new(it))));
        });
        self.version += u64::from(is_other);
        result
    }

    /// Whether these are the handlers of the ExtensionConfig, as it is.
    fn has_exactly(&self, extension_config: &str, registrations: &[Registration]) -> bool {
        let known = self.handlers.values().filter(|it| it.name.extension_config() == extension_config);
        let is_known = |it: &Registration| self.handlers.get(&it.name).is_some_and(|is| is.identity == it.identity);
        known.count() == registrations.len() && registrations.iter().all(is_known)
    }

    /// Forgets an ExtensionConfig and its handlers.
    pub fn unregister(&mut self, extension_config: &str) {
        let before = self.handlers.len();
        self.handlers.retain(|name, _| name.extension_config() != extension_config);
        let is_known = self.configs.remove(extension_config).is_some();
        self.version += u64::from(is_known || self.handlers.len() != before);
    }

    /// The ExtensionConfigs of which nobody knows what they serve, and which may be for this namespace.
    pub fn undiscovered(&self, namespace: &Namespace) -> Vec<Undiscovered> {
        let of = |(name, known): (&String, &Known)| {
            let words = known.problem.clone().filter(|_| known.may_select(namespace))?;
            Some(Undiscovered { extension_config: name.clone(), words })
        };
        self.configs.iter().filter_map(of).collect()
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

    /// Who serves a hook in this namespace, and in which state of their ExtensionConfigs: another value when that changes.
    pub fn fingerprint(&self, hook: Hook, namespace: &Namespace) -> Result<ContentHash, RegistryError> {
        let matching = self.matching(hook, namespace)?;
        let each: Vec<_> = matching.iter().map(|it| (it.name.to_string(), it.identity.to_string())).collect();
        Ok(ContentHash::of(&json!(each)))
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

fn name_of(config: &ExtensionConfig) -> &str {
    config.metadata.name.as_deref().unwrap_or_default()
}
