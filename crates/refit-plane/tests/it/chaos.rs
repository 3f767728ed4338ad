//! Users who change their minds at random in the middle of rollouts, several at a time, while everybody who works is
//! killed again and again. What happens when is up to the machine; what is done follows from the seed.

mod user;

use std::ops::Range;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::{LocalBoxFuture, join_all};
use refit_plane::Backend;
use refit_plane::sample::{Host, Workers as Sample};
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::dice::Dice;
use crate::life::Life;
use crate::story::Plot;
use user::User;

/// Seeds to be played and nothing else, as `7` or `100..120`.
const VARIABLE: &str = "REFIT_STORY_SEEDS";
/// What the gate plays, at the same time.
pub const SEEDS: Range<u64> = 1..3;
/// MachineDeployments of each seed.
const USERS: usize = 3;

/// The seeds that somebody asks for.
pub fn wanted_seeds() -> Option<Range<u64>> {
    std::env::var(VARIABLE).ok().map(|text| parse_seeds(VARIABLE, &text))
}

/// Seeds as `7` or `100..120`.
pub fn parse_seeds(variable: &str, text: &str) -> Range<u64> {
    let number = |number: &str| {
        number.parse::<u64>().unwrap_or_else(|_| panic!("{variable} must be as 7 or as 100..120, and is {text}"))
    };
    match text.split_once("..") {
        Some((first, end)) => number(first)..number(end),
        None => number(text)..number(text) + 1,
    }
}

/// Plays each seed by itself.
pub async fn tell(backend: &Arc<Backend>, seeds: Range<u64>) {
    for seed in seeds {
        let began = Instant::now();
        play(backend, seed..seed + 1).await;
        println!("seed {seed} took {:.1}s", began.elapsed().as_secs_f64());
    }
}

/// Plays the seeds at the same time. The first one says who is killed when.
pub async fn play(backend: &Arc<Backend>, seeds: Range<u64>) {
    let mut fate = Dice::new(seeds.start).split();
    let life = Life::begin(backend);
    let mut users = join_all(seeds.flat_map(|seed| users(backend, seed))).await;
    let (life, _) = tokio::join!(
        kill_at_random(backend, life, &mut fate),
        join_all(users.iter_mut().map(|user| user.change_his_mind().boxed_local())),
    );
    join_all(users.iter().map(|user| user.see_the_end().boxed_local())).await;
    life.kill().await;
}

/// The users of a seed, who begin.
fn users(backend: &Arc<Backend>, seed: u64) -> Vec<LocalBoxFuture<'_, User>> {
    let mut dice = Dice::new(seed);
    let mut begin = |user: usize| {
        let (plot, name) = (plot(&mut dice), format!("seed-{seed}-{user}"));
        User::begin(backend, name, plot, dice.split()).boxed_local()
    };
    (0..USERS).map(&mut begin).collect()
}

fn plot(dice: &mut Dice) -> Plot {
    let (policy, keep_originals) =
        dice.pick(&[("Require", true), ("Require", true), ("Prefer", true), ("Prefer", false)]);
    let (surge, unavailable) = dice.pick(&[(0, 1), (0, 2), (0, 3), (1, 0), (1, 1), (1, 2)]);
    let host = Host { update_seconds: dice.pick(&[0, 0, 1]), ..Host::default() };
    let failures = if dice.one_in(3) { json!({ "update": 1, "provisioning": 1 }) } else { json!(null) };
    let sample = Sample {
        replicas: 4 + i32::try_from(dice.below(5)).expect("it must be small"),
        policy: Some(policy),
        max_surge: json!(surge),
        max_unavailable: json!(unavailable),
        host,
        ..Sample::default()
    };
    Plot { keep_originals, host: json!({ "failures": failures }), ..sample.into() }
}

/// Kills everybody who works a few times. Gives those who live on.
async fn kill_at_random(backend: &Arc<Backend>, mut life: Life, dice: &mut Dice) -> Life {
    for _ in 0..2 + dice.below(4) {
        sleep(dice.up_to_millis(2_000)).await;
        life.kill().await;
        sleep(dice.up_to_millis(200)).await;
        life = Life::begin(backend);
    }
    life
}
