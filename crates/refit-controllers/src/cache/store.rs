//! The objects of a kind and what changed of them: a plain value, fed with the events of a watch.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kube::Resource;
use kube::runtime::watcher::Event;

use super::index::Index;
use super::{ObjectKey, version_of};

/// One object before and after. Without `old` it is new; without `new` it is gone.
pub struct Change<K> {
    pub old: Option<Arc<K>>,
    pub new: Option<Arc<K>>,
}

/// The objects of a kind, with their indexes.
pub(super) struct Store<K> {
    objects: BTreeMap<ObjectKey, Arc<K>>,
    indexes: Vec<Index<K>>,
    /// By index and value.
    entries: BTreeMap<(&'static str, String), BTreeSet<ObjectKey>>,
    /// What the list that is under way has brought so far.
    listed: Option<BTreeSet<ObjectKey>>,
    /// The highest version of the list and of what came after it.
    version: u64,
    is_listed: bool,
}

impl<K> Clone for Change<K> {
    fn clone(&self) -> Self {
        Self { old: self.old.clone(), new: self.new.clone() }
    }
}

impl<K> Change<K> {
    /// The object as it is, or as it was last.
    pub fn either(&self) -> Option<&Arc<K>> {
        self.new.as_ref().or(self.old.as_ref())
    }

    /// The object before and after, as far as there is one.
    pub fn both(&self) -> impl Iterator<Item = &Arc<K>> {
        self.old.iter().chain(&self.new)
    }

    /// Whether the object is gone.
    pub fn is_deletion(&self) -> bool {
        self.new.is_none()
    }
}

impl<K: Resource> Store<K> {
    pub fn new(indexes: Vec<Index<K>>) -> Self {
        let (objects, entries) = (BTreeMap::new(), BTreeMap::new());
        Self { objects, indexes, entries, listed: None, version: 0, is_listed: false }
    }

    pub fn get(&self, key: &ObjectKey) -> Option<&Arc<K>> {
        self.objects.get(key)
    }

    pub fn all(&self) -> impl Iterator<Item = &Arc<K>> {
        self.objects.values()
    }

    /// The objects that have the value, in the order of their names.
    pub fn by(&self, index: &'static str, value: &str) -> Vec<Arc<K>> {
        let keys = self.entries.get(&(index, value.to_owned()));
        keys.into_iter().flatten().filter_map(|key| self.objects.get(key)).cloned().collect()
    }

    /// The highest version that was seen since the last list; nothing before the first.
    pub fn version(&self) -> Option<u64> {
        self.is_listed.then_some(self.version)
    }

    /// Forgets everything, as before the first list. Gives what is gone by it.
    pub fn clear(&mut self) -> Vec<Change<K>> {
        self.entries.clear();
        (self.listed, self.version, self.is_listed) = (None, 0, false);
        let objects = std::mem::take(&mut self.objects).into_values();
        objects.map(|old| Change { old: Some(old), new: None }).collect()
    }

    /// Takes an event in. Gives what it changed, in order.
    pub fn take(&mut self, event: Event<K>) -> Vec<Change<K>> {
        match event {
            Event::Init => {
                self.listed = Some(BTreeSet::new());
                self.version = 0;
                Vec::new()
            }
            Event::InitApply(object) => {
                if let Some(listed) = &mut self.listed {
                    listed.insert(ObjectKey::of(&object));
                }
                self.put(object)
            }
            Event::InitDone => {
                self.is_listed = true;
                self.drop_unlisted()
            }
            // A watch goes forward; what is older was told before, and may be about an object that is gone.
            Event::Apply(object) if version_of(object.meta()) < self.version => Vec::new(),
            Event::Apply(object) => self.put(object),
            Event::Delete(object) => self.delete(&object),
        }
    }

    fn put(&mut self, object: K) -> Vec<Change<K>> {
        self.pass(&object);
        let key = ObjectKey::of(&object);
        let old = self.objects.get(&key);
        let is_known = old.is_some_and(|old| is_same(&**old, &object) && is_as_new(&**old, &object));
        if is_known {
            return Vec::new();
        }
        let is_another = old.is_some_and(|old| !is_same(&**old, &object));
        let gone = is_another.then(|| self.remove(&key)).flatten();
        let old = self.remove(&key);
        let new = Arc::new(object);
        self.insert(key, &new);
        let gone = gone.map(|old| Change { old: Some(old), new: None });
        gone.into_iter().chain([Change { old, new: Some(new) }]).collect()
    }

    fn delete(&mut self, object: &K) -> Vec<Change<K>> {
        self.pass(object);
        let key = ObjectKey::of(object);
        if !self.objects.get(&key).is_some_and(|known| is_same(&**known, object)) {
            return Vec::new();
        }
        self.remove(&key).map(|old| Change { old: Some(old), new: None }).into_iter().collect()
    }

    fn drop_unlisted(&mut self) -> Vec<Change<K>> {
        let Some(listed) = self.listed.take() else { return Vec::new() };
        let gone: Vec<ObjectKey> = self.objects.keys().filter(|key| !listed.contains(*key)).cloned().collect();
        gone.iter().filter_map(|key| self.remove(key)).map(|old| Change { old: Some(old), new: None }).collect()
    }

    fn pass(&mut self, object: &K) {
        self.version = self.version.max(version_of(object.meta()));
    }

    fn insert(&mut self, key: ObjectKey, object: &Arc<K>) {
        for entry in values(&self.indexes, object) {
            self.entries.entry(entry).or_default().insert(key.clone());
        }
        self.objects.insert(key, Arc::clone(object));
    }

    fn remove(&mut self, key: &ObjectKey) -> Option<Arc<K>> {
        let object = self.objects.remove(key)?;
        for entry in values(&self.indexes, &object) {
            if let Some(keys) = self.entries.get_mut(&entry) {
                keys.remove(key);
                if keys.is_empty() {
                    self.entries.remove(&entry);
                }
            }
        }
        Some(object)
    }
}

fn values<K>(indexes: &[Index<K>], object: &K) -> Vec<(&'static str, String)> {
    let of = |index: &Index<K>| (index.values)(object).into_iter().map(|value| (index.name, value)).collect::<Vec<_>>();
    indexes.iter().flat_map(of).collect()
}

/// Whether both are the same object, not only of the same name.
fn is_same<K: Resource>(one: &K, other: &K) -> bool {
    one.meta().uid == other.meta().uid
}

/// Whether `known` is at least as new. Versions that cannot be compared are as new when they are equal.
fn is_as_new<K: Resource>(known: &K, object: &K) -> bool {
    let (known, object) = (known.meta(), object.meta());
    match (version_of(known), version_of(object)) {
        (0, _) | (_, 0) => known.resource_version == object.resource_version,
        (known, object) => known >= object,
    }
}
