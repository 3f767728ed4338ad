//! How long certificates are valid, and when Machines are replaced before they expire.

use super::{FieldError, FieldPath};
use crate::controlplane::KubeadmControlPlaneSpec;

/// For how long a certificate authority is valid when nothing else is said: ten years.
const CA_VALIDITY_DEFAULT_DAYS: i32 = 10 * 365;

/// A certificate is valid for no longer than what signs it, and Machines live for a while before they are replaced.
pub(super) fn validate(spec: &KubeadmControlPlaneSpec, path: &FieldPath) -> Vec<FieldError> {
    let cluster = &spec.kubeadm_config_spec.cluster_configuration;
    let Some(validity) = cluster.certificate_validity_period_days else { return Vec::new() };
    let ca_validity = cluster.ca_certificate_validity_period_days.unwrap_or(CA_VALIDITY_DEFAULT_DAYS);
    let too_long = (validity > ca_validity).then(|| {
        path.child("kubeadmConfigSpec.clusterConfiguration.certificateValidityPeriodDays")
            .invalid(validity, format!("must be at most caCertificateValidityPeriodDays ({ca_validity})"))
    });
    let before = spec.rollout.before.certificates_expiry_days.filter(|days| *days >= validity);
    let too_early = before.map(|days| {
        path.child("rollout.before.certificatesExpiryDays")
            .invalid(days, format!("must be below certificateValidityPeriodDays ({validity})"))
    });
    too_long.into_iter().chain(too_early).collect()
}
