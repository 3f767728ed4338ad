//! Carries out one reconciliation of an ExtensionConfig.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use refit_api::conditions::get;
use refit_api::runtime::{ExtensionConfig, ExtensionConfigStatus};
use refit_api::vocabulary::condition_types::DISCOVERED;
use serde_json::{Value, json};

use super::ca::{CaError, SecretName};
use super::decision::{NOT_READY_INTERVAL, REDISCOVERY_INTERVAL, Step, discovered_status, first_step, paused_status};
use crate::discovery::{DiscoverError, discover};
use crate::registry::RegistrationError;
use crate::{Extensions, chain};

/// Why an ExtensionConfig is not reconciled. To be tried again after a while, longer each time.
#[derive(Debug, thiserror::Error)]
pub enum ReconcileError {
    #[error("failed to read ExtensionConfig {name}")]
    Read { name: String, source: kube::Error },
    #[error("failed to patch ExtensionConfig {name}")]
    Write { name: String, source: kube::Error },
    #[error("failed to reconcile ExtensionConfig")]
    Ca(#[from] CaError),
    /// The condition says so, too; the handlers that were known before stay in use.
    #[error("failed to discover ExtensionConfig {name}")]
    Discover { name: String, source: DiscoverError },
    #[error("failed to register ExtensionConfig {name}")]
    Register { name: String, source: RegistrationError },
}

/// Reads the ExtensionConfig of this name, and [reconciles](reconcile_seen) it.
pub async fn reconcile(
    client: &Client,
    extensions: &Extensions,
    name: &str,
    now: Timestamp,
) -> Result<Option<Duration>, ReconcileError> {
    let api: Api<ExtensionConfig> = Api::all(client.clone());
    let read = |source| ReconcileError::Read { name: name.to_owned(), source };
    reconcile_seen(client, extensions, name, api.get_opt(name).await.map_err(read)?, now).await
}

/// Reconciles the ExtensionConfig of this name, as somebody has seen it, and says when to come back though nothing
/// changes.
///
/// # Guarantees
/// Doing it twice equals doing it once, and writes nothing the second time. Every write is refused by the API where the
/// object has changed since it was seen.
pub async fn reconcile_seen(
    client: &Client,
    extensions: &Extensions,
    name: &str,
    config: Option<ExtensionConfig>,
    now: Timestamp,
) -> Result<Option<Duration>, ReconcileError> {
    let api: Api<ExtensionConfig> = Api::all(client.clone());
    match (first_step(extensions.registry().is_ready(), config.as_ref()), config) {
        (Step::Wait, _) => Ok(Some(NOT_READY_INTERVAL)),
        (Step::Unregister, _) | (_, None) => {
            extensions.unregister(name);
            Ok(None)
        }
        (Step::ShowPaused, Some(config)) => {
            extensions.announce(&config);
            write_status(&api, &config, paused_status(&config, now)).await?;
            Ok(None)
        }
        (Step::Discover, Some(config)) => {
            refresh(client, extensions, config, now).await?;
            Ok(Some(REDISCOVERY_INTERVAL))
        }
    }
}

/// Brings certificates, handlers, the registry and the status up to date, in this order: whoever reads in the status that an
/// extension is discovered can call it. The status is written also when the extension gave no answer.
pub(super) async fn refresh(
    client: &Client,
    extensions: &Extensions,
    config: ExtensionConfig,
    now: Timestamp,
) -> Result<(), ReconcileError> {
    let api: Api<ExtensionConfig> = Api::all(client.clone());
    extensions.announce(&config);
    let config = match inject_ca(client, &api, config.clone()).await {
        Ok(config) => config,
        Err(error) => {
            note_failure(extensions, &config, chain(&error))?;
            return Err(error);
        }
    };
    let answer = discover(extensions.client(), &config).await;
    let words = answer.as_ref().err().map(|error| chain(error));
    let seen = answer.as_deref().map_err(|_| words.as_deref().unwrap_or_default());
    let status = discovered_status(&config, seen, now);
    let known = ExtensionConfig { status: status.clone(), ..config.clone() };
    match words {
        None => register(&known, extensions.register(&known))?,
        Some(_) => note_failure(extensions, &known, failure_of(&status))?,
    }
    write_status(&api, &config, status).await?;
    answer.map(|_| ()).map_err(|source| ReconcileError::Discover { name: name_of(&config), source })
}

/// What the status says about a discovery that failed.
fn failure_of(status: &ExtensionConfigStatus) -> String {
    get(&status.conditions, DISCOVERED).map(|condition| condition.message.clone()).unwrap_or_default()
}

/// The handlers that are known stay in use. What else the extension may serve is not known.
fn note_failure(extensions: &Extensions, config: &ExtensionConfig, words: String) -> Result<(), ReconcileError> {
    register(config, extensions.register_undiscovered(config, words))
}

fn register(config: &ExtensionConfig, registered: Result<(), RegistrationError>) -> Result<(), ReconcileError> {
    registered.map_err(|source| ReconcileError::Register { name: name_of(config), source })
}

/// The ExtensionConfig with the certificates of its Secret, and with the generation that it has with them.
async fn inject_ca(
    client: &Client,
    api: &Api<ExtensionConfig>,
    config: ExtensionConfig,
) -> Result<ExtensionConfig, ReconcileError> {
    let Some(name) = SecretName::of(&config)? else { return Ok(config) };
    let secrets: Api<Secret> = Api::namespaced(client.clone(), &name.namespace);
    let secret = secrets.get(&name.name).await.map_err(|source| CaError::Read { name: name.clone(), source })?;
    let Some(ByteString(bundle)) = name.bundle_to_write(&config, secret)? else { return Ok(config) };
    let patch = preconditioned(&config, "spec", json!({ "clientConfig": { "caBundle": ByteString(bundle) } }));
    let written = api.patch(&name_of(&config), &PatchParams::default(), &Patch::Merge(patch)).await;
    written.map_err(|source| ReconcileError::Write { name: name_of(&config), source })
}

/// Writes the status if it is another one, and gives the ExtensionConfig as it is then.
async fn write_status(
    api: &Api<ExtensionConfig>,
    config: &ExtensionConfig,
    status: ExtensionConfigStatus,
) -> Result<ExtensionConfig, ReconcileError> {
    if status == config.status {
        return Ok(config.clone());
    }
    let patch = json!({ "conditions": status.conditions, "handlers": status.handlers });
    let patch = Patch::Merge(preconditioned(config, "status", patch));
    let written = api.patch_status(&name_of(config), &PatchParams::default(), &patch).await;
    written.map_err(|source| ReconcileError::Write { name: name_of(config), source })
}

/// A merge patch of one part of the object, as it was read and of no later or other one of its name.
fn preconditioned(config: &ExtensionConfig, part: &str, patch: Value) -> Value {
    let metadata = json!({ "uid": config.metadata.uid, "resourceVersion": config.metadata.resource_version });
    json!({ "metadata": metadata, part: patch })
}

fn name_of(config: &ExtensionConfig) -> String {
    config.metadata.name.clone().unwrap_or_default()
}
