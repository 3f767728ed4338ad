//! The controllers, the provider and the extensions are killed in the middle, again and again, and begin anew on a server
//! that does not answer everything.

use std::sync::Arc;
use std::time::Duration;

use refit_plane::Backend;
use refit_plane::demo::Picture;
use refit_plane::sample::Workers as Sample;
use tokio::time::sleep;

use crate::deaf::Deaf;
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

fn require(replicas: i32) -> Sample {
    Sample { policy: Some("Require"), replicas, ..Sample::default() }
}

pub async fn tell(backend: &Arc<Backend>) {
    let life = Life::begin(backend);
    let updated = Story::begin(backend, "kills", require(4)).await;
    let before = updated.look().await.facts();
    life.kill().await;
    updated.wish_memory("16Gi").await;
    let created = Story::set_up(backend, "killed-creation", require(16)).await;
    created.create().await;
    for time in LIVES {
        let life = Life::begin(backend);
        sleep(time).await;
        life.kill().await;
    }
    let life = Life::begin(backend);
    let after = updated.until_memory("16Gi").await;
    updated.assert_same(&before, &after);
    updated.assert_deleted(0);
    created_machines_have_all_their_parts(&created).await;
    updated.end().await;
    life.kill().await;
    nothing_follows_from_a_list_that_failed(backend, &[updated, created]).await;
}

/// 13 of the design's list: no host is left without a Machine, and none too many was made.
async fn created_machines_have_all_their_parts(story: &Story) {
    story.until("the machines are there", Picture::is_settled).await;
    story.assert_deleted(0);
    story.end().await;
}

/// 3 of the design's list: who cannot list machines does not take it that there are none.
async fn nothing_follows_from_a_list_that_failed(backend: &Arc<Backend>, stories: &[Story]) {
    let deaf = Deaf::begin(backend).await;
    deaf.until_it_hears().await;
    for story in stories {
        let before = story.look().await.facts();
        story.end().await;
        assert_eq!(story.look().await.facts(), before, "{}: nothing may come of it", story.name);
        story.assert_deleted(0);
    }
    deaf.end().await;
}
