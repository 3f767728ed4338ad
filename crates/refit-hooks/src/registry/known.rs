//! What is known of an ExtensionConfig, whether its handlers are known or not.

use refit_api::runtime::ExtensionConfig;
use refit_api::selector::Selector;

use super::Namespace;

/// Why nobody knows what a new ExtensionConfig serves.
const NOT_YET: &str = "it has not been discovered yet";

/// What is known of an ExtensionConfig.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Known {
    pub uid: Option<String>,
    generation: Option<i64>,
    /// Nothing: it cannot be read, and may select any namespace.
    selector: Option<Selector>,
    /// Why it is not known what it serves. Nothing: it is known.
    pub problem: Option<String>,
}

impl Known {
    pub fn new(config: &ExtensionConfig, problem: Option<String>) -> Self {
        Self {
            uid: config.metadata.uid.clone(),
            generation: config.metadata.generation,
            selector: Selector::from_field(config.spec.namespace_selector.as_ref()).ok(),
            problem,
        }
    }

    /// Nobody has asked it yet what it serves.
    pub fn announced(config: &ExtensionConfig) -> Self {
        Self::new(config, Some(NOT_YET.to_owned()))
    }

    /// Whether this is about the same object with the same spec.
    pub fn is_of(&self, config: &ExtensionConfig) -> bool {
        self.uid == config.metadata.uid && self.generation == config.metadata.generation
    }

    /// Whether it may be for objects of this namespace.
    pub fn may_select(&self, namespace: &Namespace) -> bool {
        match (&self.selector, &namespace.labels) {
            (Some(selector), Some(labels)) => selector.is_everything() || selector.matches(labels),
            (Some(selector), None) => *selector != Selector::Nothing,
            (None, _) => true,
        }
    }
}
