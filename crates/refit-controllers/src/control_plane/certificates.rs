//! The certificates and the kubeconfig of a cluster: made before the first machine, and only looked at from then on.

use std::time::Duration;

use refit_api::conditions::kubeadm_control_plane as words;
use refit_api::conditions::{NewCondition, Status};
use refit_api::vocabulary::{condition_types as types, reasons};
use refit_api::{cluster, owners};
use refit_hooks::chain;
use refit_plan::certificates::{Purpose, needed_by_control_plane};
use refit_plan::control_plane::Observed;
use refit_plan::coverage::ContentHash;
use refit_workload::etcd::EtcdAuthority;
use serde_json::json;
use tokio::time::Instant;

use super::ControlPlanes;
use super::memory::Certificates;
use crate::cache::{BY_CLUSTER, ObjectKey, namespaced};
use crate::certificates::{CertificateError, ClusterCertificates, KeySettings, Pairs};
use crate::controller::Pass;

/// How long a look counts if none of the Secrets that are watched changes: a user's own need not have the label.
const LOOK_AGAIN: Duration = Duration::from_secs(10 * 60);

impl ControlPlanes {
    /// Notes whether they are there. Gives the authority of etcd, if it runs on the machines of the control plane.
    pub(super) async fn certificates(
        &self,
        key: &ObjectKey,
        observed: &mut Observed,
        pass: &mut Pass,
    ) -> Option<EtcdAuthority> {
        if observed.cluster.status.initialization.infrastructure_provisioned != Some(true) {
            return None;
        }
        let of = self.seen(observed);
        let certificates = match self.memories.certificates(key, &of) {
            Some(known) => known,
            None => match self.look_at_certificates(observed, of).await {
                Ok(certificates) => {
                    self.memories.note_certificates(key, certificates.clone());
                    certificates
                }
                Err(error) => {
                    pass.problem(key, &error);
                    let unknown =
                        NewCondition::new(types::CERTIFICATES_AVAILABLE, Status::Unknown, reasons::INTERNAL_ERROR);
                    observed.certificates = Some(unknown.with_message(chain(&error)));
                    return None;
                }
            },
        };
        observed.certificates = Some(certificates.condition);
        certificates.etcd
    }

    /// What the outcome of a look depends on.
    fn seen(&self, observed: &Observed) -> ContentHash {
        let cluster = ObjectKey::of(&observed.cluster);
        let secrets = self.context.cache.secrets.by(BY_CLUSTER, &namespaced(&cluster.namespace, &cluster.name));
        let versions = secrets.iter().map(|secret| (&secret.metadata.name, &secret.metadata.resource_version));
        ContentHash::of(&json!([
            versions.collect::<Vec<_>>(),
            is_initialized(observed),
            observed.cluster.spec.control_plane_endpoint,
            observed.control_plane.metadata.uid,
            observed.control_plane.spec.kubeadm_config_spec.cluster_configuration,
        ]))
    }

    async fn look_at_certificates(
        &self,
        observed: &Observed,
        of: ContentHash,
    ) -> Result<Certificates, CertificateError> {
        let cluster = ObjectKey::of(&observed.cluster);
        let configuration = &observed.control_plane.spec.kubeadm_config_spec.cluster_configuration;
        let (needed, settings) = (needed_by_control_plane(configuration), KeySettings::of(configuration));
        let certificates = ClusterCertificates::new(self.context.client.clone(), self.context.clock);
        let owner = owners::controller_ref(&observed.control_plane).unwrap_or_default();
        let pairs = if is_initialized(observed) {
            certificates.find(&cluster, &needed).await?
        } else {
            certificates.find_or_make(&cluster, &needed, settings, &owner).await?
        };
        let mut lifetime = LOOK_AGAIN;
        if let (Some(endpoint), true) = (endpoint(&observed.cluster), pairs.get(Purpose::ClusterAuthority).is_some()) {
            let kubeconfig = certificates.kubeconfig(&cluster, &endpoint, settings, &owner).await?;
            lifetime = kubeconfig.look_again_after.map_or(lifetime, |after| after.min(lifetime));
        }
        let is_managed = configuration.etcd.external.is_none();
        let etcd = pairs.get(Purpose::EtcdAuthority).filter(|_| is_managed);
        Ok(Certificates {
            of,
            until: Instant::now() + lifetime,
            condition: condition(&pairs),
            etcd: etcd.map(|pair| EtcdAuthority::new(pair.certificate(), pair.key())),
        })
    }
}

fn condition(pairs: &Pairs) -> NewCondition {
    match pairs.missing.as_slice() {
        [] => words::certificates_available(),
        missing => {
            words::certificates_not_available(&missing.iter().map(|purpose| purpose.suffix()).collect::<Vec<_>>())
        }
    }
}

fn is_initialized(observed: &Observed) -> bool {
    observed.control_plane.status.initialization.control_plane_initialized == Some(true)
}

/// Host and port of the API, once they are known.
fn endpoint(cluster: &cluster::Cluster) -> Option<String> {
    let endpoint = &cluster.spec.control_plane_endpoint;
    let host = endpoint.host.as_deref().filter(|host| !host.is_empty())?;
    // An IPv6 address has to be told from the port.
    let host = if host.contains(':') && !host.starts_with('[') { format!("[{host}]") } else { host.to_owned() };
    Some(format!("{host}:{}", endpoint.port?))
}
