//! Defaults and rules of MachineSets.

#[cfg(test)]
mod tests;

use kube::ResourceExt;

use super::cluster_name::label_with_cluster;
use super::machine_template::default_version;
use super::replicated::{Replicated, default_replicas, is_empty, select_by};
use super::{Admission, Verdict};
use crate::cluster::MachineSet;
use crate::naming::label_value_of;
use crate::vocabulary::labels;

impl Admission for MachineSet {
    fn set_defaults(&mut self, old: Option<&Self>) {
        label_with_cluster(&mut self.metadata, &self.spec.cluster_name);
        if self.spec.replicas.is_none() {
            self.spec.replicas = default_replicas(self.annotations(), old.and_then(|old| old.spec.replicas));
        }
        if is_empty(&self.spec.selector) {
            let name = label_value_of(&self.name_any());
            select_by(labels::SET_NAME, &name, &mut self.spec.selector, &mut self.spec.template);
        }
        default_version(&mut self.spec.template.spec.version);
    }

    fn validate(&self, old: Option<&Self>) -> Verdict {
        let spec = &self.spec;
        let shared = Replicated {
            annotations: self.annotations(),
            cluster_name: &spec.cluster_name,
            replicas: spec.replicas,
            selector: &spec.selector,
            template: &spec.template,
            machine_naming: &spec.machine_naming,
        };
        shared.validate(old.map(|old| old.spec.cluster_name.as_str())).into()
    }
}
