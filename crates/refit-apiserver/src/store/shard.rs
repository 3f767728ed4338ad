//! The objects of one resource of one logical cluster, and its latest changes.

use std::{
    collections::BTreeMap,
    ops::Bound::{Excluded, Included, Unbounded},
    sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

use tokio::sync::Notify;

use super::{
    Key, Record, Revision, Scope,
    history::{Event, Forgotten, History, Limits},
};

/// One resource. Readers and watchers of other resources never touch it.
pub(super) struct Shard {
    state: RwLock<State>,
    /// Wakes the watchers of this resource.
    pub(super) changed: Notify,
}

/// What the lock of a shard protects.
pub(super) struct State {
    objects: BTreeMap<Key, Record>,
    pub(super) history: History,
    /// The logical cluster was dropped: this is an empty shell that only old watchers still hold.
    pub(super) dropped: bool,
}

impl Shard {
    /// An empty resource, without changes since `base`.
    pub(super) fn new(base: Revision) -> Self {
        let state = State { objects: BTreeMap::new(), history: History::since(base), dropped: false };
        Self { state: RwLock::new(state), changed: Notify::new() }
    }

    pub(super) fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    pub(super) fn get(&self, key: &Key) -> Option<&Record> {
        self.objects.get(key)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    pub(super) fn records(&self) -> impl Iterator<Item = &Record> {
        self.objects.values()
    }

    /// Puts an object there that was there before this process began: no change that anybody could have watched.
    pub(super) fn load(&mut self, record: Record) {
        self.objects.insert(record.key().clone(), record);
    }

    /// Makes a change visible. Returns the memory by which the history grew and what it gave back.
    pub(super) fn apply(&mut self, event: Event, limits: &Limits) -> (usize, usize) {
        match event.outcome() {
            Some(record) => self.objects.insert(record.key().clone(), record.clone()),
            None => self.objects.remove(event.record.key()),
        };
        self.history.push(event, limits)
    }

    /// Empties the shard for good.
    pub(super) fn drop_all(&mut self, revision: Revision) -> usize {
        self.dropped = true;
        self.objects = BTreeMap::new();
        self.history.forget_until(revision)
    }

    /// The objects of a scope as they were at a version, in order, from behind `after` on.
    pub(super) fn list(&self, scope: &Scope, at: Revision, after: Option<&Key>) -> Result<Vec<Record>, Forgotten> {
        let undo = self.history.undo(at)?;
        let start = scope.start();
        let from = after.filter(|key| **key >= start).map_or(Included(&start), Excluded);
        let latest = self.objects.range((from, Unbounded)).take_while(|(key, _)| scope.covers(key));
        if undo.is_empty() {
            return Ok(latest.map(|(_, record)| record.clone()).collect());
        }
        let mut then: BTreeMap<&Key, &Record> = latest.collect();
        for (key, record) in undo.range::<&Key, _>((from, Unbounded)).take_while(|(key, _)| scope.covers(key)) {
            match record {
                Some(record) => then.insert(key, record),
                None => then.remove(key),
            };
        }
        Ok(then.into_values().cloned().collect())
    }
}
