//! KubeadmConfigTemplate: no defaults, and the rules of the KubeadmConfig that it is a template of.

#[cfg(test)]
mod tests;

use super::kubeadm_config::validate_spec;
use super::machine_template::validate_metadata;
use super::{Admission, FieldPath, Verdict};
use crate::bootstrap::KubeadmConfigTemplate;

impl Admission for KubeadmConfigTemplate {
    /// Upstream fills in the defaults of old versions when its topology controller asks what would change. Refit has
    /// no such controller.
    fn set_defaults(&mut self, _old: Option<&Self>) {}

    fn validate(&self, _old: Option<&Self>) -> Verdict {
        let path = FieldPath::new("spec.template");
        let template = &self.spec.template;
        [
            validate_spec(&template.spec, &path.child("spec")),
            validate_metadata(&template.metadata, &path.child("metadata")),
        ]
        .concat()
        .into()
    }
}
