//! Defaults and rules of Machines.

#[cfg(test)]
mod tests;

use kube::ResourceExt;

use super::cluster_name::{label_with_cluster, validate_unchanged};
use super::machine_template::{
    default_version, validate_bootstrap, validate_taints, validate_version, validate_worker_taints,
};
use super::{Admission, FieldError, FieldPath, Verdict};
use crate::cluster::Machine;
use crate::vocabulary::labels;

/// For how long deleting a Node object is tried when the user does not say.
pub const NODE_DELETION_TIMEOUT_SECONDS: i32 = 10;

impl Admission for Machine {
    fn set_defaults(&mut self, _old: Option<&Self>) {
        label_with_cluster(&mut self.metadata, &self.spec.cluster_name);
        default_version(&mut self.spec.version);
        self.spec.deletion.node_deletion_timeout_seconds.get_or_insert(NODE_DELETION_TIMEOUT_SECONDS);
    }

    fn validate(&self, old: Option<&Self>) -> Verdict {
        let spec = FieldPath::new("spec");
        let mut errors = Vec::new();
        if !is_of_pool(self) {
            errors.extend(validate_bootstrap(&self.spec.bootstrap, &spec.child("bootstrap")));
        }
        let old_name = old.map(|old| old.spec.cluster_name.as_str());
        errors.extend(validate_unchanged(old_name, &self.spec.cluster_name));
        errors.extend(validate_version(self.spec.version.as_deref(), &spec.child("version")));
        errors.extend(validate_machine_taints(self, &spec.child("taints")));
        errors.into()
    }
}

fn validate_machine_taints(machine: &Machine, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = validate_taints(&machine.spec.taints, path);
    if !machine.labels().contains_key(labels::CONTROL_PLANE) {
        errors.extend(validate_worker_taints(&machine.spec.taints, path));
    }
    errors
}

/// A pool makes the bootstrap data of its Machines itself.
fn is_of_pool(machine: &Machine) -> bool {
    machine.labels().contains_key(labels::POOL_NAME)
        || machine.owner_references().iter().any(|owner| owner.kind == "MachinePool")
}
