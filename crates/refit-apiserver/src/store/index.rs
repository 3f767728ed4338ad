//! The whole state in memory: what every read and every watch is served from.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use super::{
    Event, Key, Limits, Record, Revision, Scope,
    decoded::{Decoded, lock},
    shard::Shard,
};

type Resources = BTreeMap<Arc<str>, Arc<Shard>>;

/// All objects. One thread publishes at a time; any number reads.
///
/// Whoever holds the lock of a shard sees all its changes up to [`Index::revision`], and none after it.
pub(super) struct Index {
    clusters: RwLock<Clusters>,
    revision: AtomicU64,
    limits: Limits,
    timeline: Mutex<Timeline>,
    pub(super) decoded: Arc<Decoded>,
    /// Whether the disk did not take what was written last.
    is_failing: AtomicBool,
}

struct Clusters {
    shards: BTreeMap<Arc<str>, Resources>,
    /// Since when nothing can have happened in a resource that has no shard.
    quiet_since: Revision,
}

/// Every change that is still kept, of all resources, oldest first.
#[derive(Default)]
struct Timeline {
    entries: VecDeque<(Revision, Arc<Shard>)>,
    bytes: usize,
}

impl Index {
    /// The state with which a process begins.
    pub(super) fn new(revision: Revision, limits: Limits) -> Self {
        Self {
            clusters: RwLock::new(Clusters { shards: BTreeMap::new(), quiet_since: revision }),
            revision: AtomicU64::new(revision.0),
            limits,
            timeline: Mutex::default(),
            decoded: Arc::default(),
            is_failing: AtomicBool::new(false),
        }
    }

    pub(super) fn is_failing(&self) -> bool {
        self.is_failing.load(Ordering::Relaxed)
    }

    pub(super) fn set_failing(&self, is_failing: bool) {
        self.is_failing.store(is_failing, Ordering::Relaxed);
    }

    pub(super) fn revision(&self) -> Revision {
        Revision(self.revision.load(Ordering::Acquire))
    }

    pub(super) fn load(&self, record: Record) {
        self.shard(record.key().shard()).write().load(record);
    }

    pub(super) fn get(&self, key: &Key) -> Option<Record> {
        let shard = {
            let clusters = self.clusters.read().unwrap_or_else(PoisonError::into_inner);
            clusters.shards.get(key.cluster())?.get(key.resource())?.clone()
        };
        shard.read().get(key).cloned()
    }

    /// Reads one resource; a logical cluster that is dropped meanwhile is empty.
    pub(super) fn scope(&self, scope: &Scope) -> Arc<Shard> {
        self.shard((scope.cluster.clone(), scope.resource.clone()))
    }

    fn shard(&self, (cluster, resource): (Arc<str>, Arc<str>)) -> Arc<Shard> {
        {
            let clusters = self.clusters.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(shard) = clusters.shards.get(&cluster).and_then(|resources| resources.get(&resource)) {
                return shard.clone();
            }
        }
        let mut clusters = self.clusters.write().unwrap_or_else(PoisonError::into_inner);
        let quiet_since = clusters.quiet_since;
        let resources = clusters.shards.entry(cluster).or_default();
        resources.entry(resource).or_insert_with(|| Arc::new(Shard::new(quiet_since))).clone()
    }

    /// The logical clusters that hold at least one object.
    pub(super) fn clusters(&self) -> Vec<Arc<str>> {
        let clusters = self.clusters.read().unwrap_or_else(PoisonError::into_inner);
        let holds_any = |resources: &Resources| resources.values().any(|shard| !shard.read().is_empty());
        clusters.shards.iter().filter(|(_, resources)| holds_any(resources)).map(|(name, _)| name.clone()).collect()
    }

    /// The resources of a logical cluster of which there is at least one object.
    pub(super) fn resources(&self, cluster: &str) -> Vec<Arc<str>> {
        let clusters = self.clusters.read().unwrap_or_else(PoisonError::into_inner);
        let resources = clusters.shards.get(cluster).into_iter().flatten();
        resources.filter(|(_, shard)| !shard.read().is_empty()).map(|(name, _)| name.clone()).collect()
    }

    /// Makes changes visible, all at once, and wakes their watchers.
    pub(super) fn publish(&self, events: Vec<Event>) {
        let Some(revision) = events.last().map(Event::revision) else { return };
        let mut shards = BTreeMap::new();
        for place in events.iter().map(|event| event.record.key().shard()) {
            shards.entry(place).or_insert_with_key(|place| self.shard(place.clone()));
        }
        // Readers hold one of these locks at a time, so that taking several cannot end in a deadlock.
        let mut locked: BTreeMap<_, _> = shards.iter().map(|(place, shard)| (place, (shard, shard.write()))).collect();
        let mut timeline = lock(&self.timeline);
        for event in events {
            let at = event.revision();
            let place = event.record.key().shard();
            let (shard, state) = locked.get_mut(&place).expect("the shard of every event must be locked");
            timeline.push(at, shard, state.apply(event, &self.limits));
        }
        self.revision.store(revision.0, Ordering::Release);
        drop(locked);
        timeline.trim(&self.limits);
        drop(timeline);
        shards.values().for_each(|shard| shard.changed.notify_waiters());
    }

    /// Everything, in the order of the keys. Of one version only while nobody publishes.
    pub(super) fn all_records(&self) -> Vec<Record> {
        let clusters = self.clusters.read().unwrap_or_else(PoisonError::into_inner);
        let shards = clusters.shards.values().flat_map(BTreeMap::values);
        shards.flat_map(|shard| shard.read().records().cloned().collect::<Vec<_>>()).collect()
    }

    /// Everything that a logical cluster holds.
    pub(super) fn cluster_records(&self, cluster: &str) -> Vec<Record> {
        let clusters = self.clusters.read().unwrap_or_else(PoisonError::into_inner);
        let shards = clusters.shards.get(cluster).into_iter().flat_map(BTreeMap::values);
        shards.flat_map(|shard| shard.read().records().cloned().collect::<Vec<_>>()).collect()
    }

    /// Forgets a logical cluster; its watches end.
    pub(super) fn drop_cluster(&self, cluster: &str, revision: Revision) {
        let mut clusters = self.clusters.write().unwrap_or_else(PoisonError::into_inner);
        let resources = clusters.shards.remove(cluster).unwrap_or_default();
        let freed: usize = resources.values().map(|shard| shard.write().drop_all(revision)).sum();
        clusters.quiet_since = revision;
        self.revision.store(revision.0, Ordering::Release);
        drop(clusters);
        lock(&self.timeline).bytes -= freed;
        resources.values().for_each(|shard| shard.changed.notify_waiters());
    }
}

impl Timeline {
    fn push(&mut self, at: Revision, shard: &Arc<Shard>, (grown, freed): (usize, usize)) {
        self.bytes = self.bytes + grown - freed;
        self.entries.push_back((at, shard.clone()));
    }

    fn trim(&mut self, limits: &Limits) {
        while self.entries.len() > limits.total_events || self.bytes > limits.total_bytes {
            let Some((revision, shard)) = self.entries.pop_front() else { return };
            self.bytes -= shard.write().history.forget_until(revision);
        }
    }
}
