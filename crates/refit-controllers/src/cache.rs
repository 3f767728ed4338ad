//! What the process knows of the API: one informer per kind, shared by all controllers.
//!
//! An informer lists, then watches. What vanished while nobody watched is delivered as deleted, what was deleted and
//! made again under the same name as both. Subscribers are told on the way, with the object before and after; they only
//! note what is to be looked at. Memory is that of the objects and their index entries.
//!
//! One object that cannot be decoded stops nobody else: it is named in the log and in the metrics, and who may depend on
//! it [is told](Informer::doubt) to wait.
//!
//! A cache lags behind. Whoever has written waits until the cache [has seen it](Cache::has_seen), and what a decision
//! writes carries its preconditions.

mod definitions;
mod event;
mod feed;
mod index;
mod informer;
mod kinds;
mod provided;
mod providers;
mod sight;
mod store;
#[cfg(test)]
mod tests;
mod watch;
mod watched;

use kube::Resource;
use kube::core::ObjectMeta;

pub use definitions::{ProviderKind, api_resource};
pub use event::{Event, Item, Undecodable};
pub use feed::Feed;
pub use index::{
    BY_CLUSTER, BY_CONTROL_PLANE, BY_DEPLOYMENT, BY_ORPHANED, BY_OWNER, BY_PROVIDER_ID, BY_REFERENCE, BY_TARGET, Index,
    namespaced, reference,
};
pub use informer::{Informer, Subscriber};
pub use kinds::Cache;
pub use provided::Provided;
pub use sight::{SEEN_LIMIT, Sight, Unseen, Written};
pub use store::Change;
pub use watch::{Start, WatchError};
pub use watched::Watched;

/// Names an object of a kind. The namespace of one without is empty.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectKey {
    pub namespace: String,
    pub name: String,
}

impl ObjectKey {
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }

    /// Names this object.
    pub fn of<K: Resource>(object: &K) -> Self {
        let metadata = object.meta();
        Self::new(metadata.namespace.clone().unwrap_or_default(), metadata.name.clone().unwrap_or_default())
    }
}

impl std::fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.namespace.as_str() {
            "" => write!(f, "{}", self.name),
            namespace => write!(f, "{namespace}/{}", self.name),
        }
    }
}

/// A version that can be compared. API servers promise that: a later write of a kind has a higher one. One that is no
/// number is the lowest, which every cache has seen.
pub(crate) fn version_of(metadata: &ObjectMeta) -> u64 {
    metadata.resource_version.as_deref().and_then(|version| version.parse().ok()).unwrap_or(0)
}
