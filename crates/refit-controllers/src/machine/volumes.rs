//! Looks which volumes a Node still has.

use k8s_openapi::api::core::v1::PersistentVolume;
use k8s_openapi::api::storage::v1::VolumeAttachment;
use kube::api::{Api, ListParams};
use refit_plan::machine::volumes::{self, VolumesView};
use refit_plan::machine::{Observed, VolumesState};

use super::drain::{StepError, look};
use crate::shell::Shell;
use crate::workload::Connected;

/// Looks once.
pub(super) async fn inspect(
    shell: &Shell,
    observed: &Observed,
    connected: &Connected,
    node: &str,
) -> Result<VolumesState, StepError> {
    let look = match look(shell, observed, connected, node).await {
        Err(StepError::NoNode(_)) => return Ok(VolumesState::Detached),
        look => look?,
    };
    let client = &connected.client;
    let attachments = Api::<VolumeAttachment>::all(client.clone()).list(&ListParams::default()).await;
    let attachments = attachments.map_err(|source| StepError::Read("the VolumeAttachments", source))?.items;
    let persistent = Api::<PersistentVolume>::all(client.clone()).list(&ListParams::default()).await;
    let persistent = persistent.map_err(|source| StepError::Read("the PersistentVolumes", source))?.items;
    Ok(volumes::inspect(&VolumesView {
        node: &look.node,
        attachments: &attachments,
        volumes: &persistent,
        pods: &look.pods,
        left_alone: &look.plan.left_alone,
    }))
}
