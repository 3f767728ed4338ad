//! Defaults and rules that MachineDeployments and MachineSets share: both keep a number of Machines of one template.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use super::cluster_name::validate_unchanged;
use super::machine_template::{
    validate_bootstrap, validate_metadata, validate_naming, validate_taints, validate_version, validate_worker_taints,
};
use super::{FieldError, FieldPath};
use crate::cluster::{MachineNamingSpec, MachineTemplateSpec};
use crate::naming::NameOwner;
use crate::selector::Selector;
use crate::vocabulary::annotations::{AUTOSCALER_MAX_SIZE, AUTOSCALER_MIN_SIZE, SKIP_PREFLIGHT_CHECKS};

/// The preflight checks that a user may leave out.
pub const PREFLIGHT_CHECKS: [&str; 5] =
    ["All", "ControlPlaneIsStable", "ControlPlaneVersionSkew", "KubeadmVersionSkew", "KubernetesVersionSkew"];

/// What a MachineDeployment and a MachineSet both have.
pub struct Replicated<'a> {
    pub annotations: &'a BTreeMap<String, String>,
    pub cluster_name: &'a str,
    pub replicas: Option<i32>,
    pub selector: &'a LabelSelector,
    pub template: &'a MachineTemplateSpec,
    pub machine_naming: &'a MachineNamingSpec,
}

impl Replicated<'_> {
    /// Errors of the shared parts. `old_cluster_name` is of the stored object on an update.
    pub fn validate(&self, old_cluster_name: Option<&str>) -> Vec<FieldError> {
        let template = FieldPath::new("spec.template");
        let (machine, path) = (&self.template.spec, template.child("spec"));
        [
            self.validate_replicas(),
            validate_bootstrap(&machine.bootstrap, &path.child("bootstrap")),
            self.validate_selector(),
            validate_skipped_preflight_checks(self.annotations),
            validate_unchanged(old_cluster_name, self.cluster_name),
            self.validate_template_cluster_name(),
            validate_version(machine.version.as_deref(), &path.child("version")),
            validate_naming(
                self.machine_naming.template.as_deref(),
                NameOwner::MachineSet,
                &FieldPath::new("spec.machineNaming"),
            ),
            validate_taints(&machine.taints, &path.child("taints")),
            validate_worker_taints(&machine.taints, &path.child("taints")),
            validate_metadata(&self.template.metadata, &template.child("metadata")),
        ]
        .concat()
    }

    /// Replicas that were not set could not be taken from the autoscaler's annotations.
    fn validate_replicas(&self) -> Vec<FieldError> {
        match (self.replicas, autoscaler_range(self.annotations)) {
            (None, Some(Err(errors))) => errors,
            _ => Vec::new(),
        }
    }

    fn validate_selector(&self) -> Vec<FieldError> {
        let path = FieldPath::new("spec.selector");
        let labels = &self.template.metadata.labels;
        match Selector::from_field(Some(self.selector)) {
            Err(error) => vec![path.invalid(self.selector, error.to_string())],
            Ok(selector) if selector.matches(labels) => Vec::new(),
            Ok(selector) => {
                let path = FieldPath::new("spec.template.metadata.labels");
                vec![path.invalid(labels, format!("must match spec.selector {:?}", selector.to_string()))]
            }
        }
    }

    fn validate_template_cluster_name(&self) -> Vec<FieldError> {
        if self.cluster_name == self.template.spec.cluster_name {
            return Vec::new();
        }
        let path = FieldPath::new("spec.clusterName");
        vec![path.invalid(self.cluster_name, "must be the same as spec.template.spec.clusterName")]
    }
}

/// The replicas of an object that names none: 1, or what puts it into the range of the autoscaler.
///
/// Nothing when that range cannot be read; validation says why. `old` are the replicas of the stored object: an object
/// that is handed over to the autoscaler keeps its machines as far as the range allows.
pub fn default_replicas(annotations: &BTreeMap<String, String>, old: Option<i32>) -> Option<i32> {
    match autoscaler_range(annotations) {
        None => Some(1),
        Some(Err(_)) => None,
        Some(Ok((min, max))) => Some(old.filter(|replicas| *replicas >= min).map_or(min, |replicas| replicas.min(max))),
    }
}

/// Puts a label into a selector and into the labels of the template that it must match.
pub fn select_by(key: &str, value: &str, selector: &mut LabelSelector, template: &mut MachineTemplateSpec) {
    selector.match_labels.get_or_insert_default().insert(key.to_owned(), value.to_owned());
    template.metadata.labels.insert(key.to_owned(), value.to_owned());
}

/// True for a selector that names nothing.
pub fn is_empty(selector: &LabelSelector) -> bool {
    selector.match_labels.as_ref().is_none_or(BTreeMap::is_empty)
        && selector.match_expressions.as_ref().is_none_or(Vec::is_empty)
}

/// The least and the most that the autoscaler may set, where the user gave both.
fn autoscaler_range(annotations: &BTreeMap<String, String>) -> Option<Result<(i32, i32), Vec<FieldError>>> {
    let parse = |key: &str, text: &str| {
        let path = FieldPath::new("metadata.annotations").key(key);
        text.parse::<i32>().map_err(|_| path.invalid(text, "must be an integer of 32 bits"))
    };
    let (min, max) = (annotations.get(AUTOSCALER_MIN_SIZE)?, annotations.get(AUTOSCALER_MAX_SIZE)?);
    Some(match (parse(AUTOSCALER_MIN_SIZE, min), parse(AUTOSCALER_MAX_SIZE, max)) {
        (Ok(min), Ok(max)) => Ok((min, max)),
        (min, max) => Err([min.err(), max.err()].into_iter().flatten().collect()),
    })
}

/// Only checks that there are can be left out.
fn validate_skipped_preflight_checks(annotations: &BTreeMap<String, String>) -> Vec<FieldError> {
    let path = FieldPath::new("metadata.annotations").key(SKIP_PREFLIGHT_CHECKS);
    let skipped = annotations.get(SKIP_PREFLIGHT_CHECKS).filter(|skipped| !skipped.is_empty());
    skipped
        .into_iter()
        .flat_map(|skipped| skipped.split(',').map(str::trim))
        .filter(|check| !PREFLIGHT_CHECKS.contains(check))
        .map(|check| path.not_supported(check, &PREFLIGHT_CHECKS))
        .collect()
}
