//! The first look at all ExtensionConfigs of a cluster.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kube::Client;
use kube::api::{Api, ListParams};
use refit_api::conditions::is_true;
use refit_api::runtime::ExtensionConfig;
use refit_api::vocabulary::condition_types::DISCOVERED;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use super::decision::is_paused;
use super::reconcile::refresh;
use crate::{Extensions, chain};

/// How many extensions are asked at one time, as many as upstream's controller asks.
pub const WARM_UP_CONCURRENCY: usize = 10;
/// How long the first look may take. Whoever has not answered by then is taken as it was known before.
pub const WARM_UP_LIMIT: Duration = Duration::from_secs(60);

/// An ExtensionConfig that could not be brought up to date. It does not keep the others from being used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WarmUpFailure {
    pub extension_config: String,
    pub words: String,
}

/// Looks at all ExtensionConfigs, registers what can be used, and makes the registry ready. Only a list that cannot be
/// read is an error: without it, it is not known who is there.
///
/// An extension that gives no answer, or is paused, is registered with the handlers that its status lists. Calls of it
/// then fail and are made again; were it left out, its machines would seem to have no way of being updated in place.
pub async fn warm_up(
    client: &Client,
    extensions: &Extensions,
    now: Timestamp,
) -> Result<Vec<WarmUpFailure>, kube::Error> {
    let deadline = Instant::now() + WARM_UP_LIMIT;
    let configs = Api::<ExtensionConfig>::all(client.clone()).list(&ListParams::default()).await?;
    let turns = Arc::new(Semaphore::new(WARM_UP_CONCURRENCY));
    let mut looks = JoinSet::new();
    for config in configs.items.into_iter().filter(|config| config.metadata.deletion_timestamp.is_none()) {
        let (client, extensions, turns) = (client.clone(), extensions.clone(), Arc::clone(&turns));
        looks.spawn(async move {
            let _turn = turns.acquire().await;
            look_at(&client, &extensions, config, now, deadline).await
        });
    }
    let mut failures: Vec<WarmUpFailure> = looks.join_all().await.into_iter().flatten().collect();
    failures.sort_by(|a, b| a.extension_config.cmp(&b.extension_config));
    extensions.set_ready();
    Ok(failures)
}

async fn look_at(
    client: &Client,
    extensions: &Extensions,
    config: ExtensionConfig,
    now: Timestamp,
    deadline: Instant,
) -> Option<WarmUpFailure> {
    let words = match is_paused(&config) {
        true => used_as_it_is(extensions, &config),
        false => match timeout_at(deadline, refresh(client, extensions, config.clone(), now)).await {
            Ok(refreshed) => refreshed.err().map(|error| chain(&error)),
            Err(_) => {
                let words = format!("no answer within {}s", WARM_UP_LIMIT.as_secs());
                let registered = extensions.register_undiscovered(&config, words.clone());
                Some(registered.err().map_or(words, |error| chain(&error)))
            }
        },
    }?;
    let extension_config = config.metadata.name.unwrap_or_default();
    tracing::warn!(extension_config, error = words, "an extension is used as it was known before");
    Some(WarmUpFailure { extension_config, words })
}

/// Registers what the status of a paused extension lists. One that was never discovered may serve anything.
fn used_as_it_is(extensions: &Extensions, config: &ExtensionConfig) -> Option<String> {
    let is_discovered = is_true(&config.status.conditions, DISCOVERED);
    let registered = match is_discovered {
        true => extensions.register(config),
        false => extensions.register_undiscovered(config, "it is paused, and was not discovered before".to_owned()),
    };
    registered.err().map(|error| chain(&error))
}
