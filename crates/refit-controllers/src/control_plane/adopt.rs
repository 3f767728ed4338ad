//! Takes on control-plane Machines that nobody controls, or says why that cannot be.

use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, ListParams};
use refit_api::controlplane::KubeadmControlPlane;
use refit_api::vocabulary::labels;
use refit_hooks::chain;
use refit_plan::control_plane::{Candidate, Claim, Observed, claim, is_controlled};
use tokio::time::timeout;

use super::ControlPlanes;
use crate::act::{REQUEST_LIMIT, carry_out};
use crate::cache::ObjectKey;
use crate::controller::Pass;

/// How many Secrets of a cluster are looked at in one request.
const MAX_SECRETS: u32 = 500;

/// What came of it.
pub(super) enum Adoption {
    /// The Machines that the control plane controls are all that there are.
    Complete,
    /// It is written, or could not be. Come back.
    Begun,
    /// Some Machines are somebody else's, or cannot be taken on.
    Refused { why: String },
}

/// Why it could not be decided.
#[derive(Debug, thiserror::Error)]
enum ReadError {
    #[error("KubeadmControlPlane or Secrets could not be read")]
    Request(#[source] kube::Error),
    #[error("the API server does not answer")]
    Late,
    #[error("the KubeadmControlPlane is another one by now")]
    Gone,
}

impl ControlPlanes {
    pub(super) async fn adopt(
        &self,
        key: &ObjectKey,
        observed: &Observed,
        candidates: &[Candidate],
        pass: &mut Pass,
    ) -> Adoption {
        let control_plane = &observed.control_plane;
        let is_strange = |candidate: &Candidate| !is_controlled(control_plane, &candidate.machine);
        if control_plane.metadata.deletion_timestamp.is_some() || !candidates.iter().any(is_strange) {
            return Adoption::Complete;
        }
        let (live, secrets) = match self.read(key, observed).await {
            Ok(read) => read,
            Err(error) => {
                pass.problem(key, &error);
                return Adoption::Begun;
            }
        };
        match claim(&live, &observed.cluster, candidates, &secrets) {
            Ok(Claim::Complete) => Adoption::Complete,
            Ok(Claim::Adopt(effects)) => {
                pass.carried(key, carry_out(&effects, &self.context.client, &self.events).await);
                Adoption::Begun
            }
            Ok(Claim::Refused { machines, effects }) => {
                pass.carried(key, carry_out(&effects, &self.context.client, &self.events).await);
                let machines = machines.join(", ");
                let version = &control_plane.spec.version;
                Adoption::Refused {
                    why: format!(
                        "{machines} cannot be adopted: their version is more than a minor version away from {version}"
                    ),
                }
            }
            Err(error) => Adoption::Refused { why: chain(&error) },
        }
    }

    /// The control plane as the API server has it, and the Secrets of the cluster. Of one that was deleted with its Machines
    /// left alone, a cache could say that it is still there.
    async fn read(
        &self,
        key: &ObjectKey,
        observed: &Observed,
    ) -> Result<(KubeadmControlPlane, Vec<Secret>), ReadError> {
        let client = &self.context.client;
        let control_planes = Api::<KubeadmControlPlane>::namespaced(client.clone(), &key.namespace);
        let secrets = Api::<Secret>::namespaced(client.clone(), &key.namespace);
        let cluster = observed.cluster.metadata.name.as_deref().unwrap_or_default();
        let of_cluster =
            ListParams::default().labels(&format!("{}={cluster}", labels::CLUSTER_NAME)).limit(MAX_SECRETS);
        let both = async { tokio::try_join!(control_planes.get_opt(&key.name), secrets.list(&of_cluster)) };
        let (live, secrets) =
            timeout(REQUEST_LIMIT, both).await.map_err(|_| ReadError::Late)?.map_err(ReadError::Request)?;
        let live = live.filter(|live| live.metadata.uid == observed.control_plane.metadata.uid);
        Ok((live.ok_or(ReadError::Gone)?, secrets.items))
    }
}
