//! KubeadmControlPlane: how many, which version, and what of it may change.

mod certificates;
mod cluster_configuration;
pub mod coredns;
mod immutable;
mod machine_template;
mod rollout;
#[cfg(test)]
mod tests;

use kube::ResourceExt;

use super::kubeadm_config::validate_spec;
use super::machine_template::{validate_naming, validate_version};
use super::{Admission, FieldError, FieldPath, Verdict};
use crate::bootstrap::KubeadmConfigSpec;
use crate::controlplane::{KubeadmControlPlane, KubeadmControlPlaneRolloutStrategy, KubeadmControlPlaneSpec};
use crate::naming::NameOwner;
use crate::policy::validate_rollout_annotations;
use crate::version::{KubernetesVersion, with_v_prefix};

impl Admission for KubeadmControlPlane {
    fn set_defaults(&mut self, _old: Option<&Self>) {
        self.spec.replicas.get_or_insert(1);
        self.spec.version = with_v_prefix(&self.spec.version);
        rollout::set_defaults(&mut self.spec.rollout);
    }

    fn validate(&self, old: Option<&Self>) -> Verdict {
        let mut errors = self.validate_state();
        let in_place =
            self.spec.rollout.strategy.as_ref().and_then(KubeadmControlPlaneRolloutStrategy::in_place_policy);
        errors.extend(validate_rollout_annotations(self.annotations(), in_place, old.map(ResourceExt::annotations)));
        errors.extend(old.into_iter().flat_map(|old| self.validate_change(old)));
        errors.into()
    }
}

/// Judges a new number of replicas that comes in through the scale subresource, where nothing else can change.
pub fn validate_scale(old: &KubeadmControlPlane, replicas: i32) -> Verdict {
    let has_local_etcd = old.spec.kubeadm_config_spec.cluster_configuration.etcd.external.is_none();
    validate_replica_count(replicas, has_local_etcd).into_iter().collect::<Vec<_>>().into()
}

impl KubeadmControlPlane {
    /// What must be so of the object by itself.
    fn validate_state(&self) -> Vec<FieldError> {
        let (spec, path) = (&self.spec, FieldPath::new("spec"));
        let config = &spec.kubeadm_config_spec;
        let config_path = path.child("kubeadmConfigSpec");
        [
            validate_replicas(spec, &path),
            machine_template::validate(&spec.machine_template, &path.child("machineTemplate")),
            validate_version(Some(&spec.version), &path.child("version")),
            rollout::validate(self, &path.child("rollout")),
            certificates::validate(spec, &path),
            validate_naming(
                spec.machine_naming.template.as_deref(),
                NameOwner::KubeadmControlPlane,
                &path.child("machineNaming"),
            ),
            cluster_configuration::validate(&config.cluster_configuration, &config_path.child("clusterConfiguration")),
            validate_spec(config, &config_path),
            validate_timeouts(config, &config_path),
        ]
        .concat()
    }

    /// What must be so of the step from the stored object to this one.
    fn validate_change(&self, old: &Self) -> Vec<FieldError> {
        [
            immutable::validate(&self.spec, &old.spec),
            validate_upgrade(&self.spec.version, &old.spec.version),
            cluster_configuration::validate_change(self, old),
            coredns::validate_change(self, old),
        ]
        .concat()
    }
}

fn validate_replicas(spec: &KubeadmControlPlaneSpec, path: &FieldPath) -> Vec<FieldError> {
    let has_local_etcd = spec.kubeadm_config_spec.cluster_configuration.etcd.external.is_none();
    let error = match spec.replicas {
        None => Some(path.child("replicas").required("must be set")),
        Some(replicas) => validate_replica_count(replicas, has_local_etcd),
    };
    error.into_iter().collect()
}

/// An even number of etcd members survives no more failures than one member less.
fn validate_replica_count(replicas: i32, has_local_etcd: bool) -> Option<FieldError> {
    let path = FieldPath::new("spec.replicas");
    if replicas <= 0 {
        return Some(path.forbidden("must be above 0"));
    }
    (has_local_etcd && replicas % 2 == 0).then(|| path.forbidden("must be odd unless etcd is external"))
}

/// No minor version is left out on the way up. Going down is not refused here, as it is not by upstream.
fn validate_upgrade(version: &str, old: &str) -> Vec<FieldError> {
    let path = FieldPath::new("spec.version");
    // A new version that cannot be read is an error of the new object by itself.
    let Ok(new_version) = KubernetesVersion::parse_tolerant(version) else { return Vec::new() };
    let Ok(old_version) = KubernetesVersion::parse_tolerant(old) else {
        return vec![path.invalid(version, format!("the version it replaces, {old:?}, is not a semantic version"))];
    };
    let skips = old_version.skips_minor_to(&new_version);
    let detail = || format!("going from {old} to {version} leaves out a minor version");
    skips.then(|| path.forbidden(detail())).into_iter().collect()
}

/// A Machine of the control plane waits equally long whether it was the first or joined later.
fn validate_timeouts(config: &KubeadmConfigSpec, path: &FieldPath) -> Vec<FieldError> {
    const FIELD: &str = "timeouts.controlPlaneComponentHealthCheckSeconds";
    let init = config.init_configuration.timeouts.control_plane_component_health_check_seconds;
    let join = config.join_configuration.timeouts.control_plane_component_health_check_seconds;
    if init == join {
        return Vec::new();
    }
    const WRONG: &str = "must be the same in initConfiguration and joinConfiguration";
    vec![
        path.child("initConfiguration").child(FIELD).invalid(init, WRONG),
        path.child("joinConfiguration").child(FIELD).invalid(join, WRONG),
    ]
}
