//! What each demonstration shows.

use std::time::Duration;

use serde_json::json;

use super::picture::{MachineView, Picture};
use super::stage::Stage;
use super::{DemoError, Say};
use crate::examples::Example;
use crate::sample::{Host, Workers};

/// The memory that machines get.
const MORE_MEMORY: &str = "16Gi";
/// The version and the image that machines get.
const NEXT_VERSION: &str = "v1.35.0";
const NEXT_IMAGE: &str = "worker-1.35";
/// For how long a blocked rollout is watched: several times as long as an update takes.
const BLOCKED_FOR: Duration = Duration::from_secs(3);

pub(super) async fn worker_memory(say: Say<'_>) -> Result<(), DemoError> {
    let mut stage = Stage::set(Workers::default(), &[Example::Memory], say).await?;
    let before = stage.create().await?.facts();
    stage.tell("the user wants 16Gi of memory instead of 8Gi");
    stage.change(&more_memory(), None).await?;
    let after = stage.follow("the machines have more memory", is_updated).await?;
    stage.check_same(&before, &after);
    stage.check_all("every host has 16Gi", &after, has_more_memory);
    stage.check("no machine was added", after.machines.len() == before.len());
    stage.end().await
}

pub(super) async fn fallback(say: Say<'_>) -> Result<(), DemoError> {
    // No other extension is going to be installed, so nobody waits for one.
    let sample = Workers { replace_after: Some("0s"), ..Workers::default() };
    let mut stage = Stage::set(sample, &[Example::Memory], say).await?;
    let before = stage.create().await?.facts();
    stage.tell("the user wants 16Gi of memory and 4 processors; no extension can change processors");
    let host = Host { cpus: 4, ..more_memory() };
    stage.change(&host, None).await?;
    let is_replaced = |picture: &Picture| is_updated(picture) && picture.machines.values().all(|it| it.cpus == Some(4));
    let after = stage.follow("the machines are replaced", is_replaced).await?;
    let is_new = |(_, facts): (_, &super::Facts)| before.values().all(|old| old.uid != facts.uid);
    let all_new = after.facts().iter().all(is_new);
    stage.check("every machine is another one", all_new);
    stage.check_all("every host has 16Gi and 4 processors", &after, |machine| {
        has_more_memory(machine) && machine.cpus == Some(4)
    });
    stage.check("as many machines as before", after.machines.len() == before.len());
    stage.end().await
}

pub(super) async fn blocked(say: Say<'_>) -> Result<(), DemoError> {
    let sample = Workers { policy: Some("Require"), ..Workers::default() };
    let mut stage = Stage::set(sample, &[Example::Version], say).await?;
    let before = stage.create().await?.facts();
    stage.tell("the user wants 16Gi of memory, machines must stay (Require), and no extension can change memory");
    stage.change(&more_memory(), None).await?;
    let blocked = stage.follow("the rollout is blocked", |picture| picture.blocked().is_some()).await?;
    let reason = blocked.blocked().unwrap_or_default().to_owned();
    stage.check("the reason names the field", reason.contains("memory"));
    let waiting = stage.watch_for(BLOCKED_FOR).await?;
    stage.check("nothing is touched meanwhile", waiting.facts() == before);
    stage.check_all("every host still has 8Gi", &waiting, |machine| !has_more_memory(machine));
    stage.add(Example::Memory).await?;
    let after = stage.follow("the machines have more memory", is_updated).await?;
    stage.check_same(&before, &after);
    stage.check_all("every host has 16Gi", &after, has_more_memory);
    stage.check("no machine was added", after.machines.len() == before.len());
    stage.end().await
}

pub(super) async fn several_extensions(say: Say<'_>) -> Result<(), DemoError> {
    let mut stage = Stage::set(Workers::default(), &Example::ALL, say).await?;
    let before = stage.create().await?.facts();
    stage.tell("the user wants 16Gi of memory and Kubernetes v1.35.0; no extension alone covers both");
    let host = Host { image: NEXT_IMAGE.to_owned(), ..more_memory() };
    stage.change(&host, Some(NEXT_VERSION)).await?;
    let has_both = |machine: &MachineView| {
        has_more_memory(machine)
            && machine.kubelet_version.as_deref() == Some(NEXT_VERSION)
            && machine.image.as_deref() == Some(NEXT_IMAGE)
    };
    let is_done = |picture: &Picture| picture.is_settled() && picture.machines.values().all(has_both);
    let after = stage.follow("the machines have both", is_done).await?;
    stage.check_same(&before, &after);
    stage.check_all("every host has 16Gi, v1.35.0 and its image", &after, has_both);
    stage.check("no machine was added", after.machines.len() == before.len());
    stage.end().await
}

pub(super) async fn scale_during_rollout(say: Say<'_>) -> Result<(), DemoError> {
    let mut stage = Stage::set(Workers::default(), &[Example::Memory], say).await?;
    let before = stage.create().await?.facts();
    stage.tell("the user wants 16Gi of memory instead of 8Gi");
    stage.change(&more_memory(), None).await?;
    // Who is updated already was being updated while nobody looked.
    let is_begun = |machine: &MachineView| machine.updating.is_some() || has_more_memory(machine);
    stage.follow("a machine is being updated", |picture| picture.machines.values().any(is_begun)).await?;
    stage.tell("in the middle of it, the user wants 5 machines instead of 3");
    stage.patch(json!({ "spec": { "replicas": 5 } })).await?;
    let after = stage.follow("all five machines are as wished", is_updated).await?;
    stage.check_same(&before, &after);
    stage.check_all("every host has 16Gi", &after, has_more_memory);
    stage.check("two machines were added", after.machines.len() == before.len() + 2);
    stage.end().await
}

fn more_memory() -> Host {
    Host { memory: MORE_MEMORY.to_owned(), ..Host::default() }
}

fn is_updated(picture: &Picture) -> bool {
    picture.is_settled() && picture.machines.values().all(has_more_memory)
}

fn has_more_memory(machine: &MachineView) -> bool {
    machine.memory.as_deref() == Some(MORE_MEMORY)
}
