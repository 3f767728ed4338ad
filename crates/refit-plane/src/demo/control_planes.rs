//! What the demonstrations of control planes show.

use serde_json::json;

use super::picture::{MachineView, Picture};
use super::stage::Stage;
use super::{DemoError, Say};
use crate::examples::Example;
use crate::sample::{CONTROL_PLANE_VERSION, ControlPlane};

/// The version that machines get.
const NEXT_VERSION: &str = "v1.31.0";

/// Three machines get another version in place, one after another. The first extension has nothing to say about it.
pub(super) async fn control_plane(say: Say<'_>) -> Result<(), DemoError> {
    upgrade(ControlPlane::default(), say).await
}

/// The only machine of a cluster gets another version, and there is never a second one.
pub(super) async fn single_node(say: Say<'_>) -> Result<(), DemoError> {
    upgrade(ControlPlane::single_node(), say).await
}

async fn upgrade(sample: ControlPlane, say: Say<'_>) -> Result<(), DemoError> {
    let mut stage = Stage::set(sample, &Example::ALL, say).await?;
    let before = stage.create().await?.facts();
    stage.tell(&format!("the user wants Kubernetes {NEXT_VERSION} instead of {CONTROL_PLANE_VERSION}"));
    stage.patch(json!({ "spec": { "version": NEXT_VERSION } })).await?;
    let is_done = |picture: &Picture| picture.is_settled() && picture.machines.values().all(has_next_version);
    let after = stage.follow("the machines have the version", is_done).await?;
    stage.check_same(&before, &after);
    stage.check_etcd(&before, &after);
    stage.check_all("every kubelet and every API server has v1.31.0", &after, has_next_version);
    stage.check("no machine was added, none was deleted", after.machines.keys().eq(before.keys()));
    stage.check_one_at_a_time();
    stage.end().await
}

fn has_next_version(machine: &MachineView) -> bool {
    let is_next = |version: &Option<String>| version.as_deref() == Some(NEXT_VERSION);
    is_next(&machine.kubelet_version) && is_next(&machine.api_server_version)
}
