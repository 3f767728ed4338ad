//! What must be so before a MachineSet creates machines, be it to scale up or to replace an unhealthy one.

mod moving;

use std::collections::BTreeSet;

use refit_api::cluster::{Cluster, ContractVersionedObjectReference, MachineSet};
use refit_api::contract::{ContractField, ContractVersion, FieldTypeError, get_list, get_str};
use refit_api::version::{KUBELET_MINOR_SKEW, KubeletSkew, KubernetesVersion, VersionError};
use refit_api::vocabulary::annotations::{SKIP_PREFLIGHT_CHECKS, TOPOLOGY_UPGRADE_STEP};
use serde_json::Value;

use crate::reading::{NotFound, Read};

pub use moving::preflight_move;

/// How a MachineSet stands to its control plane.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "machines are created only after these checks"]
pub enum Preflight {
    /// Nothing is in the way.
    Passed,
    /// These checks failed, in upstream's words.
    Failed(Vec<String>),
    /// The checks could not be made, and why. Nothing is created meanwhile.
    Unknown(String),
}

/// What the checks look at.
#[derive(Debug, Clone, Copy)]
pub struct Checks<'a> {
    pub set: &'a MachineSet,
    pub cluster: &'a Cluster,
    /// Nothing if the Cluster refers to none: then there is nothing to check.
    pub control_plane: Option<&'a Read<Value>>,
    /// Whose annotation counts where the MachineSet has none.
    pub bootstrap_template: Option<&'a Value>,
}

/// Why the checks cannot be made.
#[derive(Debug, thiserror::Error)]
enum Problem {
    #[error(transparent)]
    NotFound(#[from] NotFound),
    #[error(transparent)]
    Field(#[from] FieldTypeError),
    #[error(transparent)]
    Version(#[from] VersionError),
}

const STABLE: &str = "ControlPlaneIsStable";
const KUBERNETES_SKEW: &str = "KubernetesVersionSkew";
const KUBEADM_SKEW: &str = "KubeadmVersionSkew";
const CONTROL_PLANE_SKEW: &str = "ControlPlaneVersionSkew";
const ALL: &str = "All";
/// The kind and group of what kubeadm's provider makes its configurations from.
const KUBEADM_TEMPLATE: (&str, &str) = ("KubeadmConfigTemplate", refit_api::bootstrap::GROUP);

/// Makes the checks that nobody skips.
pub fn preflight(checks: Checks<'_>) -> Preflight {
    verdict(checks.problems())
}

fn verdict(problems: Result<Vec<String>, Problem>) -> Preflight {
    match problems {
        Ok(problems) if problems.is_empty() => Preflight::Passed,
        Ok(problems) => Preflight::Failed(problems),
        Err(problem) => Preflight::Unknown(format!("preflight checks could not be made: {problem}")),
    }
}

impl Preflight {
    /// The words for conditions. Empty when all is well.
    pub fn problems(&self) -> Vec<&str> {
        match self {
            Self::Passed => Vec::new(),
            Self::Failed(problems) => problems.iter().map(String::as_str).collect(),
            Self::Unknown(why) => vec![why],
        }
    }
}

impl<'a> Checks<'a> {
    fn problems(&self) -> Result<Vec<String>, Problem> {
        let skipped = self.skipped();
        let (Some(control_plane), false) = (self.control_plane, skipped.contains(ALL)) else { return Ok(Vec::new()) };
        let control_plane = control_plane.found(|| self.control_plane_name())?;
        // Without a version there is nothing to compare with: not every control plane has one.
        let Some(version) = text(control_plane, ContractField::ControlPlaneVersion)? else { return Ok(Vec::new()) };
        let wanted = KubernetesVersion::parse_tolerant(version)?;
        let mut problems = vec![(STABLE, self.instability(control_plane, version, &wanted)?)];
        if let Some(ours) = self.set.spec.template.spec.version.as_deref().filter(|version| !version.is_empty()) {
            let parsed = KubernetesVersion::parse_tolerant(ours)?;
            problems.push((KUBERNETES_SKEW, kubernetes_skew(&parsed, &wanted)));
            problems.push((KUBEADM_SKEW, self.kubeadm_skew(&parsed, &wanted)));
            problems.push((CONTROL_PLANE_SKEW, self.control_plane_skew(ours, version)));
        }
        let told = |(check, problem): (&str, Option<String>)| {
            problem
                .filter(|_| !skipped.contains(check))
                .map(|words| format!("{words} ({check:?} preflight check failed)"))
        };
        Ok(problems.into_iter().filter_map(told).collect())
    }

    /// The checks that the user leaves out.
    fn skipped(&self) -> BTreeSet<&'a str> {
        let of_set = self.set.metadata.annotations.as_ref().and_then(|map| map.get(SKIP_PREFLIGHT_CHECKS));
        let of_set = of_set.map(String::as_str).filter(|list| !list.is_empty());
        let of_template = || {
            self.bootstrap_template
                .and_then(|template| template["metadata"]["annotations"][SKIP_PREFLIGHT_CHECKS].as_str())
        };
        of_set.or_else(of_template).unwrap_or_default().split(',').map(str::trim).collect()
    }

    fn instability(
        &self,
        control_plane: &Value,
        version: &str,
        wanted: &KubernetesVersion,
    ) -> Result<Option<String>, Problem> {
        let name = self.control_plane_name();
        if let Some(pending) = self.pending_upgrade(version) {
            return Ok(Some(format!("{name} has a pending version upgrade to {pending}")));
        }
        let reported = reported_versions(control_plane)?;
        if reported.is_empty() {
            return Ok(Some(format!("{name} is provisioning")));
        }
        for version in reported {
            if KubernetesVersion::parse_tolerant(version)?.is_behind(wanted) {
                return Ok(Some(format!("{name} is upgrading")));
            }
        }
        Ok(None)
    }

    /// The version that the topology is about to bring to the control plane.
    fn pending_upgrade(&self, version: &str) -> Option<&'a str> {
        let topology = self.cluster.spec.topology.as_ref()?;
        let step = self.cluster.metadata.annotations.as_ref().and_then(|map| map.get(TOPOLOGY_UPGRADE_STEP));
        let step = step.map(String::as_str).filter(|step| !step.is_empty());
        (topology.version != version && step != Some(version)).then(|| step.unwrap_or(&topology.version))
    }

    fn kubeadm_skew(&self, ours: &KubernetesVersion, wanted: &KubernetesVersion) -> Option<String> {
        let is_kubeadm = |reference: &ContractVersionedObjectReference| {
            (reference.kind.as_str(), reference.api_group.as_str()) == KUBEADM_TEMPLATE
        };
        let applies = self.set.spec.template.spec.bootstrap.config_ref.as_ref().is_some_and(is_kubeadm);
        (applies && !ours.has_minor_of(wanted)).then(|| {
            format!(
                "MachineSet version ({ours}) and ControlPlane version ({wanted}) do not conform to kubeadm version skew \
                 policy as kubeadm only supports joining with the same major+minor version as the control plane"
            )
        })
    }

    fn control_plane_skew(&self, ours: &str, wanted: &str) -> Option<String> {
        (self.cluster.spec.topology.is_some() && ours != wanted).then(|| {
            format!(
                "MachineSet version ({ours}) is not yet the same as the ControlPlane version ({wanted}), waiting for \
                 version to be propagated to the MachineSet"
            )
        })
    }

    fn control_plane_name(&self) -> String {
        let namespace = self.cluster.metadata.namespace.as_deref().unwrap_or_default();
        let reference = self.cluster.spec.control_plane_ref.as_ref();
        let (kind, name) = reference.map_or(("ControlPlane", ""), |found| (found.kind.as_str(), found.name.as_str()));
        format!("{kind} {namespace}/{name}")
    }
}

fn kubernetes_skew(ours: &KubernetesVersion, wanted: &KubernetesVersion) -> Option<String> {
    let how = match ours.kubelet_skew(wanted) {
        KubeletSkew::Supported => return None,
        KubeletSkew::TooNew => "higher than ControlPlane version".to_owned(),
        KubeletSkew::TooOld => {
            format!("more than {KUBELET_MINOR_SKEW} minor versions older than the ControlPlane version")
        }
    };
    Some(format!(
        "MachineSet version ({ours}) and ControlPlane version ({wanted}) do not conform to the kubernetes version skew \
         policy as MachineSet version is {how}"
    ))
}

/// The versions that the control plane's machines run. None: it is being made for the first time.
fn reported_versions(control_plane: &Value) -> Result<Vec<&str>, FieldTypeError> {
    let listed = get_list(control_plane, ContractField::ControlPlaneStatusVersions.path(ContractVersion::V1Beta2))?;
    let each = listed.unwrap_or_default().iter().filter_map(|entry| entry["version"].as_str());
    let versions: Vec<&str> = each.filter(|version| !version.is_empty()).collect();
    if !versions.is_empty() {
        return Ok(versions);
    }
    Ok(text(control_plane, ContractField::ControlPlaneStatusVersion)?.into_iter().collect())
}

/// A string of the contract that is not empty.
fn text(object: &Value, field: ContractField) -> Result<Option<&str>, FieldTypeError> {
    Ok(get_str(object, field.path(ContractVersion::V1Beta2))?.filter(|text| !text.is_empty()))
}

#[cfg(test)]
mod tests;
