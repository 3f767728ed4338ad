//! A fleet's life: many changes in a row on the same machines, by users who pause, amend, undo and scale, with extensions
//! that are reinstalled and a process that is killed. In the end they are the same hosts with the same disks.

mod change;
mod fleet;

use std::ops::Range;
use std::sync::Arc;

use refit_plane::Backend;
use tokio::time::Instant;

use crate::backends::{embedded, real};
use crate::chaos::parse_seeds;
use crate::dice::Dice;
use change::{Change, TWENTY_CHANGES};
use fleet::Fleet;

/// Random lives to be played instead, as `7` or `100..120`.
const SEEDS: &str = "REFIT_LIFE_SEEDS";
/// How many changes there are in a random life.
const LENGTH: &str = "REFIT_LIFE_CHANGES";
const USUAL_LENGTH: usize = 40;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fleets_life_on_the_embedded_server() {
    live(embedded().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fleets_life_on_a_real_server() {
    let Some((_plane, backend)) = real().await else { return };
    live(backend).await;
}

async fn live(backend: Arc<Backend>) {
    let seeds: Option<Range<u64>> = std::env::var(SEEDS).ok().map(|text| parse_seeds(SEEDS, &text));
    match seeds {
        None => Fleet::begin(&backend, "fleet", (0, 2)).await.live(TWENTY_CHANGES).await,
        Some(seeds) => {
            for seed in seeds {
                live_at_random(&backend, seed).await;
            }
        }
    }
}

async fn live_at_random(backend: &Arc<Backend>, seed: u64) {
    let (mut dice, began) = (Dice::new(seed), Instant::now());
    let length = std::env::var(LENGTH).ok().map(|text| text.parse().expect("REFIT_LIFE_CHANGES must be a number"));
    let bounds = dice.pick(&[(0, 1), (0, 2), (1, 0), (1, 1)]);
    let changes: Vec<Change> = (0..length.unwrap_or(USUAL_LENGTH)).map(|_| Change::random(&mut dice)).collect();
    Fleet::begin(backend, &format!("life-{seed}"), bounds).await.live(&changes).await;
    println!("the life of seed {seed} took {:.1}s", began.elapsed().as_secs_f64());
}
