//! Conditions of KubeadmConfigs.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::replicas::READY;
use super::{NewCondition, Part, Status, Summary, SummaryError};
use crate::vocabulary::{condition_types as types, reasons};

pub use super::{not_paused, paused};

/// From the other conditions: the bootstrap data is complete.
pub fn ready(conditions: &[Condition]) -> Result<NewCondition, SummaryError> {
    Summary::new(types::READY, READY)
        .with(Part::positive(types::DATA_SECRET_AVAILABLE))
        .with(Part::positive(types::CERTIFICATES_AVAILABLE))
        .of(conditions)
}

/// The bootstrap data is in its Secret.
pub fn data_secret_available() -> NewCondition {
    NewCondition::new(types::DATA_SECRET_AVAILABLE, Status::True, reasons::AVAILABLE)
}

/// The bootstrap data cannot be made, and why.
pub fn data_secret_not_available(message: impl Into<Cow<'static, str>>) -> NewCondition {
    NewCondition::new(types::DATA_SECRET_AVAILABLE, Status::False, reasons::NOT_AVAILABLE).with_message(message)
}

/// The bootstrap data waits for the cluster's infrastructure.
pub fn waiting_for_infrastructure() -> NewCondition {
    data_secret_not_available("Waiting for Cluster status.infrastructureReady to be true")
}

/// The bootstrap data waits for the first control-plane Machine.
pub fn waiting_for_control_plane() -> NewCondition {
    data_secret_not_available("Waiting for Cluster control plane to be initialized")
}

/// The cluster's certificates are there.
pub fn certificates_available() -> NewCondition {
    NewCondition::new(types::CERTIFICATES_AVAILABLE, Status::True, reasons::AVAILABLE)
}

/// The cluster's certificates could not be looked up.
pub fn certificates_unknown() -> NewCondition {
    super::internal_error(types::CERTIFICATES_AVAILABLE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conditions::testing::check;

    #[test]
    fn conditions_of_kubeadm_configs_read_as_upstreams() {
        let on_object = |condition: NewCondition| condition.into_condition(None, jiff::Timestamp::UNIX_EPOCH);
        let ready = |conditions: &[Condition]| ready(conditions).expect("the parts are not the whole");
        check(&[
            (data_secret_available(), "DataSecretAvailable=True Available"),
            (data_secret_not_available("no disk"), "DataSecretAvailable=False NotAvailable: no disk"),
            (
                waiting_for_infrastructure(),
                "DataSecretAvailable=False NotAvailable: Waiting for Cluster status.infrastructureReady to be true",
            ),
            (
                waiting_for_control_plane(),
                "DataSecretAvailable=False NotAvailable: Waiting for Cluster control plane to be initialized",
            ),
            (certificates_available(), "CertificatesAvailable=True Available"),
            (
                certificates_unknown(),
                "CertificatesAvailable=Unknown InternalError: Please check controller logs for errors",
            ),
            (ready(&[on_object(data_secret_available()), on_object(certificates_available())]), "Ready=True Ready"),
            (
                ready(&[on_object(data_secret_not_available("no disk"))]),
                "Ready=False NotReady: * DataSecretAvailable: no disk\n\
                 * CertificatesAvailable: Condition not yet reported",
            ),
        ]);
    }
}
