//! Rules for the Machines of a control plane.

use super::{FieldError, FieldPath};
use crate::admission::machine_template::{validate_metadata, validate_taints};
use crate::cluster::ContractVersionedObjectReference;
use crate::controlplane::KubeadmControlPlaneMachineTemplate;

pub(super) fn validate(template: &KubeadmControlPlaneMachineTemplate, path: &FieldPath) -> Vec<FieldError> {
    [
        validate_reference(&template.spec.infrastructure_ref, &path.child("spec.infrastructureRef")),
        validate_taints(&template.spec.taints, &path.child("spec.taints")),
        validate_metadata(&template.metadata, &path.child("metadata")),
    ]
    .concat()
}

fn validate_reference(reference: &ContractVersionedObjectReference, path: &FieldPath) -> Vec<FieldError> {
    let parts = [("apiGroup", &reference.api_group), ("kind", &reference.kind), ("name", &reference.name)];
    parts
        .into_iter()
        .filter(|(_, part)| part.is_empty())
        .map(|(field, part)| path.child(field).invalid(part, "must not be empty"))
        .collect()
}
