//! An extension: an updater under the names and limits that controllers find it by.

mod answer;
mod duration;
mod registration;
mod request;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use refit_api::hooks::{DiscoveryResponse, Hook};
use tokio::sync::Semaphore;

pub use registration::{ExtensionBuilder, RegistrationError};
pub use request::MAX_REQUEST_BYTES;
pub(crate) use request::respond;

use crate::Updater;
use crate::claims::CheckedClaims;
use crate::progress::Ledger;
use crate::updater::AnyUpdater;

/// An update extension that can be served. A clone is the same extension.
///
/// ```
/// # use refit_sdk::{Claims, Extension, MachineUpdate, Paths, Progress, UpdateFailure, Updater};
/// # struct Memory;
/// # impl Updater for Memory {
/// #     fn claims(&self) -> Claims { Paths::none().infrastructure("spec.memory").into() }
/// #     async fn update(&self, _: MachineUpdate) -> Result<Progress, UpdateFailure> { Ok(Progress::Done) }
/// # }
/// let extension = Extension::builder(Memory).timeout_seconds(5).build()?;
/// # Ok::<(), refit_sdk::RegistrationError>(())
/// ```
#[derive(Clone)]
pub struct Extension {
    inner: Arc<Inner>,
}

struct Inner {
    updater: Arc<dyn AnyUpdater>,
    claims: CheckedClaims,
    /// What is served where.
    routes: BTreeMap<String, Hook>,
    discovery: DiscoveryResponse,
    ledger: Ledger,
    /// Bounds the memory that large requests take together.
    large_bodies: Semaphore,
}

impl Extension {
    /// Begins an extension that serves the three hooks of in-place updates.
    pub fn builder(updater: impl Updater) -> ExtensionBuilder {
        ExtensionBuilder::new(updater)
    }

    /// How many machines are being updated.
    pub fn running_updates(&self) -> usize {
        self.inner.ledger.running_updates()
    }
}

impl std::fmt::Debug for Extension {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Extension").field("routes", &self.inner.routes).finish_non_exhaustive()
    }
}
