//! Which logical clusters need looking after. Those in which nothing is owned or deleted cost nothing.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::lifecycle::owner_refs;
use crate::metadata::is_being_deleted;
use crate::store::Record;

/// The logical clusters in which something happened from which more may follow. Holds a name of each at most.
#[derive(Default)]
pub(in crate::api) struct Attention {
    names: Mutex<Names>,
    pub(super) changed: Notify,
}

#[derive(Default)]
struct Names {
    /// Nobody looks after them yet.
    touched: BTreeSet<Arc<str>>,
    /// Somebody follows all their changes.
    followed: BTreeSet<Arc<str>>,
}

impl Attention {
    /// Takes in a write: only what is owned, is being deleted or is gone has consequences.
    pub(in crate::api) fn written(&self, record: &Record, is_gone: bool) {
        let has_consequences = || {
            let object = record.value();
            is_being_deleted(&object) || owner_refs(&object).next().is_some()
        };
        if is_gone || record.key().resource() == super::super::DEFINITIONS || has_consequences() {
            self.touch(record.key().cluster());
        }
    }

    pub(super) fn touch(&self, cluster: &str) {
        let mut names = self.lock();
        if !names.followed.contains(cluster) && names.touched.insert(cluster.into()) {
            self.changed.notify_one();
        }
    }

    /// The clusters to follow from now on.
    pub(super) fn take(&self) -> BTreeSet<Arc<str>> {
        let mut names = self.lock();
        let touched = std::mem::take(&mut names.touched);
        names.followed.extend(touched.iter().cloned());
        touched
    }

    /// Nobody follows a cluster any more.
    pub(super) fn release(&self, cluster: &str) {
        self.lock().followed.remove(cluster);
    }

    /// Nobody follows any cluster.
    pub(super) fn release_all(&self) {
        self.lock().followed.clear();
    }

    fn lock(&self) -> MutexGuard<'_, Names> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
