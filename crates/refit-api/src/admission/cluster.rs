//! Defaults and rules of Clusters.

#[cfg(test)]
mod tests;
mod topology;

use std::net::IpAddr;

use kube::ResourceExt;

use super::cluster_name::validate_as_label;
use super::{Admission, FieldError, FieldPath, Verdict};
use crate::cluster::{Cluster, ClusterNetwork, ClusterSpec, NetworkRanges};
use crate::policy::validate_rollout_annotations;
use crate::version::with_v_prefix;

/// What a user is told who gives a Cluster a topology.
pub const TOPOLOGY_WARNING: &str =
    "spec.topology is kept but not reconciled: refit makes no machines from it and changes none when it changes";

impl Admission for Cluster {
    fn set_defaults(&mut self, _old: Option<&Self>) {
        if let Some(topology) = &mut self.spec.topology {
            topology.version = with_v_prefix(&topology.version);
        }
    }

    fn validate(&self, old: Option<&Self>) -> Verdict {
        let errors = [
            validate_as_label(&self.metadata),
            validate_has_content(&self.spec),
            old.map(|old| validate_nothing_removed(&self.spec, &old.spec)).unwrap_or_default(),
            validate_network(&self.spec.cluster_network),
            topology::validate(self, old),
            validate_rollout_annotations(self.annotations(), None, old.map(ResourceExt::annotations)),
        ]
        .concat();
        let warning = has_new_topology(self, old).then(|| TOPOLOGY_WARNING.to_owned());
        Verdict { errors, warnings: warning.into_iter().collect() }
    }
}

/// Whether the user should hear about the topology. A controller that writes something else should not.
fn has_new_topology(cluster: &Cluster, old: Option<&Cluster>) -> bool {
    let topology = &cluster.spec.topology;
    topology.is_some() && old.is_none_or(|old| old.spec.topology != *topology)
}

/// A Cluster is made of something.
fn validate_has_content(spec: &ClusterSpec) -> Vec<FieldError> {
    if spec.control_plane_ref.is_some() || spec.infrastructure_ref.is_some() || spec.topology.is_some() {
        return Vec::new();
    }
    vec![FieldPath::new("spec").forbidden("one of controlPlaneRef, infrastructureRef and topology must be set")]
}

/// What a Cluster was made of stays: without the reference, nobody would find it again.
fn validate_nothing_removed(new: &ClusterSpec, old: &ClusterSpec) -> Vec<FieldError> {
    let spec = FieldPath::new("spec");
    [
        ("infrastructureRef", old.infrastructure_ref.is_some(), new.infrastructure_ref.is_some()),
        ("controlPlaneRef", old.control_plane_ref.is_some(), new.control_plane_ref.is_some()),
        ("topology", old.topology.is_some(), new.topology.is_some()),
    ]
    .into_iter()
    .filter(|(_, was_there, is_there)| *was_there && !is_there)
    .map(|(field, ..)| spec.child(field).forbidden("must not be removed"))
    .collect()
}

/// Ranges of addresses are in CIDR notation.
fn validate_network(network: &ClusterNetwork) -> Vec<FieldError> {
    let path = FieldPath::new("spec.clusterNetwork");
    [("pods", &network.pods), ("services", &network.services)]
        .into_iter()
        .flat_map(|(name, ranges)| Some((path.child(name).child("cidrBlocks"), ranges.as_ref()?)))
        .flat_map(|(path, ranges)| validate_ranges(ranges, &path))
        .collect()
}

fn validate_ranges(ranges: &NetworkRanges, path: &FieldPath) -> Vec<FieldError> {
    let wrong = ranges.cidr_blocks.iter().enumerate().filter(|(_, block)| !is_cidr(block));
    wrong
        .map(|(index, block)| path.index(index).invalid(block, "must be in CIDR notation, such as 10.0.0.0/16"))
        .collect()
}

fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let max_bits = match address.parse::<IpAddr>() {
        Ok(IpAddr::V4(_)) => 32,
        Ok(IpAddr::V6(_)) => 128,
        Err(_) => return false,
    };
    // Without the check for digits, the sign in `10.0.0.0/+8` would pass.
    bits.chars().all(|c| c.is_ascii_digit()) && bits.parse::<u32>().is_ok_and(|bits| bits <= max_bits)
}
