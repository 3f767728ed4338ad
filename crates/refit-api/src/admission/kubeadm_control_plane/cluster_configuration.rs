//! Rules for the images and the etcd of a control plane.

use super::{FieldError, FieldPath};
use crate::bootstrap::{ClusterConfiguration, Etcd};
use crate::controlplane::KubeadmControlPlane;
use crate::resource::is_default;
use crate::version::KubernetesVersion;

pub(super) fn validate(cluster: &ClusterConfiguration, path: &FieldPath) -> Vec<FieldError> {
    let dns_path = path.child("dns.imageTag");
    let dns_tag = cluster.dns.image_tag.as_deref();
    let etcd_tag = cluster.etcd.local.image_tag.as_deref();
    [
        validate_tag(dns_tag, &dns_path),
        validate_dns_version(dns_tag, &dns_path),
        validate_tag(etcd_tag, &path.child("etcd.local.imageTag")),
        validate_one_etcd(&cluster.etcd, &path.child("etcd.local")),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The data of a cluster does not move from one etcd to another.
pub(super) fn validate_change(new: &KubeadmControlPlane, old: &KubeadmControlPlane) -> Vec<FieldError> {
    let is_external =
        |kcp: &KubeadmControlPlane| kcp.spec.kubeadm_config_spec.cluster_configuration.etcd.external.is_some();
    let path = FieldPath::new("spec.kubeadmConfigSpec.clusterConfiguration.etcd.external");
    let switches = is_external(new) != is_external(old);
    switches.then(|| path.forbidden("must not change between local and external etcd")).into_iter().collect()
}

fn validate_tag(tag: Option<&str>, path: &FieldPath) -> Option<FieldError> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let tag = tag.filter(|tag| !tag.chars().all(is_allowed))?;
    Some(path.invalid(tag, "must be letters, digits, '-', '_' or '.'"))
}

/// The version of CoreDNS must be known, because its configuration is migrated from one version to the next.
fn validate_dns_version(tag: Option<&str>, path: &FieldPath) -> Option<FieldError> {
    let tag = tag.filter(|tag| KubernetesVersion::parse_image_tag(tag).is_err())?;
    Some(path.invalid(tag, "must be a semantic version"))
}

fn validate_one_etcd(etcd: &Etcd, path: &FieldPath) -> Option<FieldError> {
    let has_both = !is_default(&etcd.local) && etcd.external.is_some();
    has_both.then(|| path.forbidden("etcd is local or external, not both"))
}
