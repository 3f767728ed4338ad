//! What is to be done about an ExtensionConfig, and what its status then says. No client, no clock.

use std::time::Duration;

use jiff::Timestamp;
use refit_api::conditions::extension_config::{discovered, not_discovered, not_paused, paused};
use refit_api::conditions::{NewCondition, PausedBy, set};
use refit_api::hooks::DiscoveredHandler;
use refit_api::runtime::{ExtensionConfig, ExtensionConfigStatus};
use refit_api::vocabulary::annotations::PAUSED;

use crate::discovery::to_status;
use crate::words::shortened;

/// How soon to come back while the registry is cold.
pub const NOT_READY_INTERVAL: Duration = Duration::from_secs(10);
/// How often an extension is asked again for its handlers though nothing has changed: upstream's resync.
pub const REDISCOVERY_INTERVAL: Duration = Duration::from_mins(10);
/// How much of an error goes into a condition. The API takes 32 KiB of message; an extension can send 20 MiB.
const MAX_ERROR_BYTES: usize = 16 * 1024;

/// What is to be done about an ExtensionConfig.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The registry is cold. Come back later.
    Wait,
    /// It is gone or going, and so are its handlers. Also when it is paused.
    Unregister,
    /// It is left as it is, save for the condition that says so. Its handlers stay registered.
    ShowPaused,
    /// Its certificates, its handlers and its status are to be brought up to date.
    Discover,
}

/// Looks at an ExtensionConfig, or at its absence.
pub fn first_step(is_ready: bool, config: Option<&ExtensionConfig>) -> Step {
    let Some(config) = config.filter(|config| config.metadata.deletion_timestamp.is_none()) else {
        return if is_ready { Step::Unregister } else { Step::Wait };
    };
    match (is_ready, is_paused(config)) {
        (false, _) => Step::Wait,
        (true, true) => Step::ShowPaused,
        (true, false) => Step::Discover,
    }
}

pub(super) fn is_paused(config: &ExtensionConfig) -> bool {
    config.metadata.annotations.as_ref().is_some_and(|all| all.contains_key(PAUSED))
}

/// The status of an ExtensionConfig that is paused.
pub fn paused_status(config: &ExtensionConfig, now: Timestamp) -> ExtensionConfigStatus {
    with_conditions(config, [paused("ExtensionConfig", PausedBy::Annotation)], now)
}

/// The status after asking the extension. One that gave no good answer keeps the handlers it had.
pub fn discovered_status(
    config: &ExtensionConfig,
    answer: Result<&[DiscoveredHandler], &str>,
    now: Timestamp,
) -> ExtensionConfigStatus {
    match answer {
        Ok(handlers) => {
            let status = with_conditions(config, [not_paused(), discovered()], now);
            ExtensionConfigStatus { handlers: handlers.iter().map(to_status).collect(), ..status }
        }
        Err(error) => {
            let error = shortened(error, MAX_ERROR_BYTES);
            with_conditions(config, [not_paused(), not_discovered(&error)], now)
        }
    }
}

fn with_conditions<const N: usize>(
    config: &ExtensionConfig,
    conditions: [NewCondition; N],
    now: Timestamp,
) -> ExtensionConfigStatus {
    let mut status = config.status.clone();
    for condition in conditions {
        set(&mut status.conditions, condition, config.metadata.generation, now);
    }
    status
}
