//! Rules of a Cluster's topology that can be judged without its ClusterClass.
//!
//! Refit does not reconcile a topology. It is judged all the same, so that what is stored is what upstream would have
//! stored, and a management cluster can go to refit and back. What upstream can only say with the ClusterClass or the
//! machines at hand is left out.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use kube::ResourceExt;

use super::super::machine_health_check::{validate_checks, validate_trigger};
use super::super::machine_template::{validate_metadata, validate_taints, validate_version};
use super::super::rollout::{validate_int_or_percent, validate_rolling_update};
use super::super::{FieldError, FieldPath};
use crate::cluster::{Cluster, ControlPlaneTopology, MachineDeploymentTopology, MachinePoolTopology, Topology};
use crate::version::KubernetesVersion;
use crate::vocabulary::annotations::{
    AUTOSCALER_MAX_SIZE, AUTOSCALER_MIN_SIZE, TOPOLOGY_UPGRADE_CONCURRENCY, UNSAFE_UPDATE_CLASS_NAME,
    UNSAFE_UPDATE_VERSION,
};

/// Errors of the topology of a Cluster, if it has one. `old` is the stored Cluster on an update.
pub fn validate(cluster: &Cluster, old: Option<&Cluster>) -> Vec<FieldError> {
    let Some(topology) = &cluster.spec.topology else { return Vec::new() };
    let path = FieldPath::new("spec.topology");
    [
        validate_version(Some(&topology.version), &path.child("version")),
        validate_control_plane(&topology.control_plane, &path.child("controlPlane")),
        validate_machine_deployments(&topology.workers.machine_deployments, &path.child("workers.machineDeployments")),
        validate_machine_pools(&topology.workers.machine_pools, &path.child("workers.machinePools")),
        validate_upgrade_concurrency(cluster),
        old.map(|old| validate_change(cluster, topology, old)).unwrap_or_default(),
    ]
    .concat()
}

fn validate_control_plane(topology: &ControlPlaneTopology, path: &FieldPath) -> Vec<FieldError> {
    let (health_check, health_path) = (&topology.health_check, path.child("healthCheck"));
    [
        validate_metadata(&topology.metadata, &path.child("metadata")),
        validate_taints(&topology.taints, &path.child("taints")),
        validate_checks(&health_check.checks, &health_path.child("checks")),
        validate_trigger(&health_check.remediation.trigger_if, &health_path.child("remediation.triggerIf")),
    ]
    .concat()
}

fn validate_machine_deployments(topologies: &[MachineDeploymentTopology], path: &FieldPath) -> Vec<FieldError> {
    let each = topologies.iter().flat_map(|md| validate_machine_deployment(md, &path.key(&md.name)));
    validate_unique(topologies.iter().map(|md| md.name.as_str()), path).into_iter().chain(each).collect()
}

fn validate_machine_deployment(topology: &MachineDeploymentTopology, path: &FieldPath) -> Vec<FieldError> {
    let (health_check, health_path) = (&topology.health_check, path.child("healthCheck"));
    let strategy = topology.rollout.strategy.iter();
    let remediation = &health_check.remediation;
    [
        validate_metadata(&topology.metadata, &path.child("metadata")),
        validate_taints(&topology.taints, &path.child("taints")),
        strategy
            .flat_map(|s| validate_rolling_update(&s.rolling_update, &path.child("rollout.strategy.rollingUpdate")))
            .collect(),
        validate_checks(&health_check.checks, &health_path.child("checks")),
        validate_trigger(&remediation.trigger_if, &health_path.child("remediation.triggerIf")),
        validate_int_or_percent(remediation.max_in_flight.as_ref(), &health_path.child("remediation.maxInFlight")),
        validate_one_keeper_of_replicas(topology, &path.child("replicas")),
    ]
    .concat()
}

fn validate_machine_pools(topologies: &[MachinePoolTopology], path: &FieldPath) -> Vec<FieldError> {
    let each = topologies.iter().flat_map(|pool| {
        let path = path.key(&pool.name);
        let metadata = validate_metadata(&pool.metadata, &path.child("metadata"));
        [metadata, validate_taints(&pool.taints, &path.child("taints"))].concat()
    });
    validate_unique(topologies.iter().map(|pool| pool.name.as_str()), path).into_iter().chain(each).collect()
}

/// No name stands twice in a list. That it fits into a label, the schema sees to.
fn validate_unique<'a>(names: impl Iterator<Item = &'a str>, path: &FieldPath) -> Vec<FieldError> {
    let mut seen = BTreeSet::new();
    let repeated = names.enumerate().filter(|(_, name)| !seen.insert(*name));
    repeated.map(|(index, name)| path.index(index).child("name").duplicate(name)).collect()
}

/// The user sets the replicas, or the autoscaler does.
fn validate_one_keeper_of_replicas(topology: &MachineDeploymentTopology, path: &FieldPath) -> Vec<FieldError> {
    let annotations = &topology.metadata.annotations;
    let is_autoscaled = [AUTOSCALER_MIN_SIZE, AUTOSCALER_MAX_SIZE].iter().any(|key| annotations.contains_key(*key));
    let replicas = topology.replicas.filter(|_| is_autoscaled);
    replicas.map(|n| path.invalid(n, "must not be set beside the annotations of the autoscaler")).into_iter().collect()
}

/// At least one MachineDeployment is upgraded at a time.
fn validate_upgrade_concurrency(cluster: &Cluster) -> Vec<FieldError> {
    let path = FieldPath::new("metadata.annotations").key(TOPOLOGY_UPGRADE_CONCURRENCY);
    let text = cluster.annotations().get(TOPOLOGY_UPGRADE_CONCURRENCY);
    let wrong = text.filter(|text| !text.parse::<i64>().is_ok_and(|number| number >= 1));
    wrong.map(|text| path.invalid(text, "must be an integer, at least 1")).into_iter().collect()
}

/// A topology is there from the start, and its version does not go down.
fn validate_change(cluster: &Cluster, new: &Topology, old: &Cluster) -> Vec<FieldError> {
    let is_waived = |key: &str| cluster.annotations().contains_key(key);
    let path = FieldPath::new("spec.topology");
    match &old.spec.topology {
        None if is_waived(UNSAFE_UPDATE_CLASS_NAME) => Vec::new(),
        None => vec![path.forbidden("must not be given to a Cluster that exists already")],
        Some(old) if is_older(&new.version, &old.version) && !is_waived(UNSAFE_UPDATE_VERSION) => {
            vec![path.child("version").invalid(&new.version, format!("must not be below {}", old.version))]
        }
        Some(_) => Vec::new(),
    }
}

/// Whether the release `new` is before `old`. A version that cannot be read has its own error.
fn is_older(new: &str, old: &str) -> bool {
    match (KubernetesVersion::parse_tolerant(new), KubernetesVersion::parse_tolerant(old)) {
        (Ok(new), Ok(old)) => new.cmp_release(&old).is_lt(),
        _ => false,
    }
}
