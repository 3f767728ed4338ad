//! The objects of a kind and what changed of them: a plain value, fed with the events of a watch.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kube::Resource;
use tokio::time::Instant;

use super::event::{Event, Item, Undecodable, item_version};
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
    /// Objects whose present state cannot be decoded. What was known of them before stays among `objects`.
    undecodable: BTreeMap<ObjectKey, Box<Undecodable>>,
    /// The list that is under way.
    listing: Option<Listing>,
    /// The version of the list, or the highest of what came after it.
    version: u64,
    /// When the last list was asked for that is complete.
    asked: Option<Instant>,
    /// Whether what happens is heard.
    is_live: bool,
}

/// A list that is under way.
struct Listing {
    asked: Instant,
    /// What it has brought so far.
    keys: BTreeSet<ObjectKey>,
}

/// What a store has seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Progress {
    /// Everything up to this version.
    pub version: u64,
    /// Everything that was written before this.
    pub asked: Instant,
    /// Whether what happens is heard. If not, versions may be those of a server that was restored since.
    pub is_live: bool,
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
        let (objects, entries, undecodable) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { objects, indexes, entries, undecodable, listing: None, version: 0, asked: None, is_live: false }
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

    /// What has been seen; nothing before the first list is complete.
    pub fn progress(&self) -> Option<Progress> {
        self.asked.map(|asked| Progress { version: self.version, asked, is_live: self.is_live })
    }

    /// The objects whose present state cannot be decoded, each with what was known of it before.
    pub fn undecodable(&self) -> impl Iterator<Item = (&Undecodable, Option<&Arc<K>>)> {
        self.undecodable.iter().map(|(key, undecodable)| (&**undecodable, self.objects.get(key)))
    }

    /// The object of this name, if its present state cannot be decoded.
    pub fn undecodable_of(&self, key: &ObjectKey) -> Option<&Undecodable> {
        self.undecodable.get(key).map(|undecodable| &**undecodable)
    }

    /// Forgets everything, as before the first list. Gives what is gone by it.
    pub fn clear(&mut self) -> Vec<Change<K>> {
        self.entries.clear();
        self.undecodable.clear();
        (self.listing, self.version, self.asked, self.is_live) = (None, 0, None, false);
        let objects = std::mem::take(&mut self.objects).into_values();
        objects.map(|old| Change { old: Some(old), new: None }).collect()
    }

    /// Takes an event in. Gives what it changed, in order.
    pub fn take(&mut self, event: Event<K>) -> Vec<Change<K>> {
        match event {
            Event::Init { asked } => {
                self.listing = Some(Listing { asked, keys: BTreeSet::new() });
                self.version = 0;
                Vec::new()
            }
            Event::InitApply(item) => {
                if let Some(listing) = &mut self.listing {
                    listing.keys.insert(key_of(&item));
                }
                self.put_item(item, Origin::List)
            }
            Event::InitDone { version } => {
                self.pass(&version);
                self.is_live = true;
                self.drop_unlisted()
            }
            // A watch goes forward; what is older was told before, and may be about an object that is gone.
            Event::Apply(item) if number(item_version(&item)) < self.version => Vec::new(),
            Event::Apply(item) => self.put_item(item, Origin::Watch),
            Event::Delete(item) => self.delete(&item),
            Event::Bookmark { version } => {
                self.pass(&version);
                Vec::new()
            }
            Event::Lost | Event::Resumed => {
                self.is_live = matches!(event, Event::Resumed);
                Vec::new()
            }
        }
    }

    fn put_item(&mut self, item: Item<K>, origin: Origin) -> Vec<Change<K>> {
        self.pass(item_version(&item));
        match item {
            Ok(object) => self.put(object, origin),
            Err(undecodable) => self.doubt(undecodable),
        }
    }

    fn put(&mut self, object: K, origin: Origin) -> Vec<Change<K>> {
        let key = ObjectKey::of(&object);
        self.undecodable.remove(&key);
        let old = self.objects.get(&key);
        let is_known = old.is_some_and(|old| is_same(&**old, &object) && origin.is_known(&**old, &object));
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

    /// Notes that nobody knows what the object says now. Another object of the same name is gone by it.
    fn doubt(&mut self, undecodable: Box<Undecodable>) -> Vec<Change<K>> {
        let (key, uid) = (undecodable.key.clone(), undecodable.uid.clone());
        let is_another = self.objects.get(&key).is_some_and(|known| known.meta().uid != uid);
        self.undecodable.insert(key.clone(), undecodable);
        let gone = is_another.then(|| self.remove(&key)).flatten();
        gone.map(|old| Change { old: Some(old), new: None }).into_iter().collect()
    }

    fn delete(&mut self, item: &Item<K>) -> Vec<Change<K>> {
        self.pass(item_version(item));
        let key = key_of(item);
        let uid = match item {
            Ok(object) => &object.meta().uid,
            Err(undecodable) => &undecodable.uid,
        };
        if self.undecodable.get(&key).is_some_and(|known| known.uid == *uid) {
            self.undecodable.remove(&key);
        }
        if self.objects.get(&key).is_none_or(|known| known.meta().uid != *uid) {
            return Vec::new();
        }
        self.remove(&key).map(|old| Change { old: Some(old), new: None }).into_iter().collect()
    }

    fn drop_unlisted(&mut self) -> Vec<Change<K>> {
        let Some(Listing { asked, keys }) = self.listing.take() else { return Vec::new() };
        self.asked = Some(asked);
        self.undecodable.retain(|key, _| keys.contains(key));
        let gone: Vec<ObjectKey> = self.objects.keys().filter(|key| !keys.contains(*key)).cloned().collect();
        gone.iter().filter_map(|key| self.remove(key)).map(|old| Change { old: Some(old), new: None }).collect()
    }

    fn pass(&mut self, version: &str) {
        self.version = self.version.max(number(version));
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

/// Where an object was told.
#[derive(Clone, Copy)]
enum Origin {
    /// A list says what there is. Versions that are lower than before are those of a server that was restored.
    List,
    /// A watch may repeat what was told before.
    Watch,
}

impl Origin {
    /// Whether the object says nothing new.
    fn is_known<K: Resource>(self, known: &K, object: &K) -> bool {
        match self {
            // One that was restored gives out the same versions once more.
            Self::List => known.meta() == object.meta(),
            Self::Watch => is_as_new(known, object),
        }
    }
}

fn key_of<K: Resource>(item: &Item<K>) -> ObjectKey {
    match item {
        Ok(object) => ObjectKey::of(object),
        Err(undecodable) => undecodable.key.clone(),
    }
}

fn number(version: &str) -> u64 {
    version.parse().unwrap_or(0)
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
