//! Waiting until the cache has seen what was written.
//!
//! A decision that is made from before a write makes it again; a second Machine under another random name is not
//! refused by any precondition. So nothing is decided about an object while the cache lags behind what was written for
//! it.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use kube::Resource;
use refit_plan::effect::Target;
use tokio::time::Instant;

use super::{Informer, ObjectKey};
use crate::queue;

/// How long to wait for the cache in one go: a watch that works takes milliseconds. One that does not keeps no worker.
pub const SEEN_LIMIT: Duration = Duration::from_secs(2);

/// What a write came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Written {
    /// The object has this version, which the server answered with at this time.
    Version { target: Target, version: u64, at: Instant },
    /// The object is gone.
    Gone { target: Target },
}

/// Knows what the cache of a kind has seen.
pub trait Sight: Send + Sync {
    fn has_seen<'a>(&'a self, written: &'a Written, limit: Duration) -> BoxFuture<'a, bool>;
}

impl Written {
    pub fn target(&self) -> &Target {
        match self {
            Self::Version { target, .. } | Self::Gone { target } => target,
        }
    }
}

impl<K: Resource + Clone + Debug + Send + Sync + 'static> Sight for Informer<K> {
    fn has_seen<'a>(&'a self, written: &'a Written, limit: Duration) -> BoxFuture<'a, bool> {
        match written {
            // What nobody watches need not be waited for.
            _ if !self.is_watching() => std::future::ready(true).boxed(),
            Written::Version { version, at, .. } => self.wait_written(*version, *at, limit).boxed(),
            Written::Gone { target } => {
                let key = ObjectKey::new(target.namespace.clone().unwrap_or_default(), target.name.clone());
                async move { self.wait_gone(&key, target.uid.as_deref().unwrap_or_default(), limit).await }.boxed()
            }
        }
    }
}

/// What was written for the keys of a queue and was not seen in time.
#[derive(Debug)]
pub struct Unseen<K>(Mutex<BTreeMap<K, Vec<Written>>>);

impl<K> Default for Unseen<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: queue::Key> Unseen<K> {
    /// What is still to be seen before the key is decided about. The caller puts back what it has not seen.
    pub fn take(&self, key: &K) -> Vec<Written> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(key).unwrap_or_default()
    }

    /// Remembers what was not seen.
    pub fn put(&self, key: K, written: Vec<Written>) {
        if !written.is_empty() {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key, written);
        }
    }
}
