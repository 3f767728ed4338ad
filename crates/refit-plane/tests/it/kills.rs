//! The controllers, the provider and the extensions are killed in the middle, again and again.

use std::sync::Arc;
use std::time::Duration;

use refit_plane::Backend;
use refit_plane::sample::Workers as Sample;
use tokio::time::sleep;

use crate::life::Life;
use crate::story::Story;

/// How long each of them lives: from before the caches are filled to after an update.
const LIVES: [Duration; 6] = [
    Duration::from_millis(150),
    Duration::from_millis(400),
    Duration::from_millis(700),
    Duration::from_millis(1000),
    Duration::from_millis(300),
    Duration::from_millis(600),
];

pub async fn tell(backend: &Arc<Backend>) {
    let life = Life::begin(backend);
    let sample = Sample { policy: Some("Require"), replicas: 4, ..Sample::default() };
    let story = Story::begin(backend, "kills", sample).await;
    let before = story.look().await.facts();
    life.kill();
    story.wish_memory("16Gi").await;
    for time in LIVES {
        let life = Life::begin(backend);
        sleep(time).await;
        life.kill();
    }
    let life = Life::begin(backend);
    let after = story.until_memory("16Gi").await;
    story.assert_same(&before, &after);
    story.assert_deleted(0);
    story.end().await;
    life.kill();
}
