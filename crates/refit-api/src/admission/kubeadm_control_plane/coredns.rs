//! Which version of CoreDNS may follow which.
//!
//! When CoreDNS is upgraded, its configuration is migrated by a library that knows the way through a list of versions,
//! always upwards. A version that is not in the list cannot be migrated from or to.

use std::cmp::Ordering;

use super::{FieldError, FieldPath};
use crate::controlplane::KubeadmControlPlane;
use crate::version::KubernetesVersion;
use crate::vocabulary::annotations::SKIP_COREDNS;

/// The versions 1.x that corefile-migration v1.0.35 knows: minor numbers, and the patch numbers of each.
const KNOWN_VERSIONS: &[(u64, &[u64])] = &[
    (1, &[3, 4]),
    (2, &[0, 1, 2, 3, 4, 5, 6]),
    (3, &[0, 1]),
    (4, &[0]),
    (5, &[0, 1, 2]),
    (6, &[0, 1, 2, 3, 4, 5, 6, 7, 9]),
    (7, &[0, 1]),
    (8, &[0, 3, 4, 5, 6, 7]),
    (9, &[0, 1, 2, 3, 4]),
    (10, &[0, 1]),
    (11, &[0, 1, 3, 4]),
    (12, &[0, 1, 2, 3, 4]),
    (13, &[0, 1, 2]),
    (14, &[0, 1, 2, 3, 4, 6, 7]),
];

/// The configuration of CoreDNS can be migrated, unless the version stays or the user sees to CoreDNS.
pub(super) fn validate_change(new: &KubeadmControlPlane, old: &KubeadmControlPlane) -> Vec<FieldError> {
    let (Some(new_tag), Some(old_tag)) = (image_tag(new), image_tag(old)) else { return Vec::new() };
    let path = FieldPath::new("spec.kubeadmConfigSpec.clusterConfiguration.dns.imageTag");
    // A new tag that cannot be read is an error of the new object by itself.
    let Ok(new_version) = KubernetesVersion::parse_image_tag(new_tag) else { return Vec::new() };
    let Ok(old_version) = KubernetesVersion::parse_image_tag(old_tag) else {
        return vec![path.invalid(new_tag, format!("the tag it replaces, {old_tag:?}, is not a semantic version"))];
    };
    let stays = new_version.cmp_release(&old_version) == Ordering::Equal;
    if stays || skips_coredns(new) || can_migrate(&old_version, &new_version) {
        return Vec::new();
    }
    vec![path.forbidden(format!("the configuration of CoreDNS cannot be migrated from {old_version} to {new_version}"))]
}

fn image_tag(kcp: &KubeadmControlPlane) -> Option<&str> {
    kcp.spec.kubeadm_config_spec.cluster_configuration.dns.image_tag.as_deref()
}

fn skips_coredns(kcp: &KubeadmControlPlane) -> bool {
    kcp.metadata.annotations.as_ref().is_some_and(|annotations| annotations.contains_key(SKIP_COREDNS))
}

/// Whether upstream's library knows the way of a configuration from one version to a later one.
pub fn can_migrate(from: &KubernetesVersion, to: &KubernetesVersion) -> bool {
    is_known(from) && is_known(to) && from.cmp_release(to) == Ordering::Less
}

fn is_known(version: &KubernetesVersion) -> bool {
    let has = |(minor, patches): &(u64, &[u64])| *minor == version.minor() && patches.contains(&version.patch());
    version.major() == 1 && KNOWN_VERSIONS.iter().any(has)
}
