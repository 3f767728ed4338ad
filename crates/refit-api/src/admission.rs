//! Defaulting and validation of each kind, as upstream's webhooks do it.
//!
//! Pure: an object, and the one it replaces, to a defaulted object or a [`Verdict`]. The embedded API server
//! calls these as built-in admission. What the CRD's schema checks already is not checked again here.
//!
//! Upstream keeps some fields behind feature gates. Refit has no gates: what it implements is on.

mod cluster;
mod cluster_name;
mod extension_config;
mod field;
mod kubeadm_config;
mod kubeadm_config_template;
pub mod kubeadm_control_plane;
mod machine;
mod machine_deployment;
mod machine_health_check;
mod machine_rollout;
mod machine_set;
mod machine_template;
pub mod names;
pub mod registry;
mod replicated;
mod rollout;
#[cfg(test)]
mod testing;

pub use field::{FieldError, FieldPath, Problem};

use crate::resource::CustomKind;

/// What admission does to the objects of a kind.
pub trait Admission: CustomKind {
    /// Fills in what the user left out. `old` is the stored object on an update, nothing on a create.
    ///
    /// Applying it twice equals applying it once.
    fn set_defaults(&mut self, old: Option<&Self>);

    /// Judges the defaulted object. `old` is the stored object on an update, nothing on a create.
    fn validate(&self, old: Option<&Self>) -> Verdict;
}

/// What validation found: an object with errors is refused, one with warnings is accepted and its user told.
#[derive(Debug, Clone, Default, PartialEq)]
#[must_use = "an unread verdict admits everything"]
pub struct Verdict {
    pub errors: Vec<FieldError>,
    pub warnings: Vec<String>,
}

impl Verdict {
    pub fn is_accepted(&self) -> bool {
        self.errors.is_empty()
    }
}

impl From<Vec<FieldError>> for Verdict {
    fn from(errors: Vec<FieldError>) -> Self {
        Self { errors, warnings: Vec::new() }
    }
}
