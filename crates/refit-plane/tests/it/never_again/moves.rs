//! The user changes his mind at the very moment at which a machine has changed its owner.

use std::sync::Arc;

use kube::ResourceExt;
use refit_api::vocabulary::annotations::PENDING_ACKNOWLEDGE_MOVE;
use refit_plane::Backend;
use refit_plane::demo::Picture;
use refit_plane::sample::Workers as Sample;
use serde_json::{Value, json};

use super::require;
use crate::history::Object;
use crate::story::Story;

/// Two machines may be away, so that several are on their way at a time.
fn plot() -> Sample {
    Sample { max_unavailable: json!(2), ..require(4) }
}

/// A machine has a new owner, and nobody has counted it there.
fn is_moved(object: &Object) -> bool {
    matches!(object, Object::Machine(it) if it.annotations().contains_key(PENDING_ACKNOWLEDGE_MOVE))
}

async fn change_at_the_move(backend: &Arc<Backend>, name: &str, change: Value, back: Value) {
    let story = Story::begin(backend, name, plot()).await;
    let before = story.look().await.facts();
    story.wish_memory("16Gi").await;
    story.until_seen("a machine moves", is_moved).await;
    story.patch(change).await;
    let is_idle = |picture: &Picture| picture.machines.values().all(|it| it.updating.is_none() && it.is_ready);
    let idle = story.until("what has begun is done", is_idle).await;
    story.assert_same(&before, &idle);
    story.patch(back).await;
    let after = story.until_memory("16Gi").await;
    story.assert_same(&before, &after);
    story.assert_deleted(0);
    story.end().await;
}

/// 1.
pub async fn a_pause_in_the_middle_of_a_move_deletes_nothing(backend: &Arc<Backend>) {
    let (pause, resume) = (json!({ "spec": { "paused": true } }), json!({ "spec": { "paused": false } }));
    change_at_the_move(backend, "pause-at-the-move", pause, resume).await;
}

/// 1.
pub async fn on_delete_in_the_middle_of_a_move_deletes_nothing(backend: &Arc<Backend>) {
    let strategy = |strategy: Value| json!({ "spec": { "rollout": { "strategy": strategy } } });
    let on_delete = strategy(json!({ "type": "OnDelete", "rollingUpdate": null }));
    let rolling = json!({ "maxSurge": 0, "maxUnavailable": 2 });
    let back = strategy(json!({ "type": "RollingUpdate", "rollingUpdate": rolling }));
    change_at_the_move(backend, "on-delete-at-the-move", on_delete, back).await;
}

/// 2: the MachineSet that receives is not the new one any more, and machines have just arrived there.
pub async fn a_change_back_in_the_middle_of_a_move_loses_nothing(backend: &Arc<Backend>) {
    let story = Story::begin(backend, "back-at-the-move", plot()).await;
    let before = story.look().await.facts();
    story.wish_memory("16Gi").await;
    story.until_seen("a machine moves", is_moved).await;
    story.wish_memory("8Gi").await;
    let after = story.until_memory("8Gi").await;
    story.assert_same(&before, &after);
    story.assert_deleted(0);
    story.end().await;
}

/// 12.
pub async fn the_status_is_never_complete_too_early_and_never_wobbles(backend: &Arc<Backend>) {
    let story = Story::begin(backend, "status", require(4)).await;
    story.wish_memory("16Gi").await;
    story.until_memory("16Gi").await;
    story.end().await;
    let (mut hosts, mut wrong) = (std::collections::BTreeMap::new(), Vec::new());
    for entry in story.history.entries().into_iter().filter(|entry| entry.version > story.settled_at()) {
        match entry.object {
            Object::Host(it) => drop(hosts.insert(it.name_any(), it.spec.memory)),
            Object::Deployment(it) => {
                let updated = hosts.values().filter(|memory| memory.as_deref() == Some("16Gi")).count();
                let (status, is_new) = (&it.status, it.metadata.generation == it.status.observed_generation);
                let says = status.up_to_date_replicas.unwrap_or_default();
                let is_changed = it.spec.template.spec.infrastructure_ref.name.contains("16gi");
                if is_changed && is_new && usize::try_from(says).unwrap_or_default() > updated {
                    wrong.push(format!("{says} are up to date, and {updated} hosts are"));
                }
                if status.replicas != Some(4) {
                    wrong.push(format!("{:?} machines are counted, and there are 4", status.replicas));
                }
            }
            Object::Set(_) | Object::Machine(_) | Object::Bootstrap(_) | Object::Rollout(_) | Object::Extension(_) => {}
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
