//! What was seen of the objects of one kind.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kube::ResourceExt;
use kube::runtime::watcher::Event;

use crate::name::{Name, version};

/// The objects of one kind, or what counts of them. Fed by one watch and by the answers to the provider's own writes.
#[derive(Debug)]
pub struct Cache<V> {
    entries: BTreeMap<Name, Entry<V>>,
    /// What a list in progress has brought so far.
    listed: Option<BTreeSet<Name>>,
    is_complete: bool,
}

#[derive(Debug)]
struct Entry<V> {
    version: u64,
    value: Arc<V>,
}

impl<V> Default for Cache<V> {
    fn default() -> Self {
        Self { entries: BTreeMap::new(), listed: None, is_complete: false }
    }
}

impl<V: PartialEq> Cache<V> {
    pub fn get(&self, name: &Name) -> Option<Arc<V>> {
        self.entries.get(name).map(|entry| entry.value.clone())
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Name, &V)> {
        self.entries.iter().map(|(name, entry)| (name, &*entry.value))
    }

    /// Whether everything that there is was seen once.
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Takes in an event of the watch. Gives the names of what is no longer as it was.
    pub fn see<K: ResourceExt>(&mut self, event: Event<K>, view: impl Fn(K) -> V) -> Vec<Name> {
        match event {
            Event::Apply(object) => self.put(object, view).into_iter().collect(),
            Event::InitApply(object) => {
                self.listed.get_or_insert_default().insert(Name::of(&object));
                self.put(object, view).into_iter().collect()
            }
            Event::Delete(object) => {
                let name = Name::of(&object);
                self.entries.remove(&name).map(|_| name).into_iter().collect()
            }
            Event::Init => {
                self.listed = Some(BTreeSet::new());
                Vec::new()
            }
            Event::InitDone => self.complete(),
        }
    }

    /// Takes in the answer to a write. What is no longer here was deleted meanwhile, and does not come back by this.
    pub fn learn<K: ResourceExt>(&mut self, object: K, view: impl Fn(K) -> V) {
        if self.entries.contains_key(&Name::of(&object)) {
            self.put(object, view);
        }
    }

    pub fn forget(&mut self, name: &Name) {
        self.entries.remove(name);
    }

    fn put<K: ResourceExt>(&mut self, object: K, view: impl Fn(K) -> V) -> Option<Name> {
        let (name, version) = (Name::of(&object), version(&object));
        let known = self.entries.get(&name);
        if known.is_some_and(|known| version < known.version) {
            return None;
        }
        let value = view(object);
        let is_new = known.is_none_or(|known| *known.value != value);
        if is_new {
            self.entries.insert(name.clone(), Entry { version, value: Arc::new(value) });
        }
        is_new.then_some(name)
    }

    /// What a whole list did not bring is gone.
    fn complete(&mut self) -> Vec<Name> {
        self.is_complete = true;
        let listed = self.listed.take().unwrap_or_default();
        let gone: Vec<Name> = self.entries.keys().filter(|name| !listed.contains(name)).cloned().collect();
        gone.iter().for_each(|name| self.forget(name));
        gone
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;

    fn object(name: &str, version: u64) -> ConfigMap {
        let mut object = ConfigMap::default();
        object.metadata.name = Some(name.to_owned());
        object.metadata.resource_version = Some(version.to_string());
        object
    }

    /// Feeds a cache, and gives what it calls changed.
    fn see(cache: &mut Cache<ConfigMap>, event: Event<ConfigMap>) -> Vec<String> {
        cache.see(event, |object| object).into_iter().map(|name| name.name).collect()
    }

    #[test]
    fn what_a_new_list_lacks_is_gone() {
        let mut cache = Cache::default();
        see(&mut cache, Event::Init);
        see(&mut cache, Event::InitApply(object("a", 1)));
        see(&mut cache, Event::InitApply(object("b", 2)));
        assert!(!cache.is_complete());
        see(&mut cache, Event::InitDone);
        see(&mut cache, Event::Init);
        assert_eq!(see(&mut cache, Event::InitApply(object("b", 2))), [""; 0]);
        assert_eq!(see(&mut cache, Event::InitDone), ["a"]);
        assert_eq!(see(&mut cache, Event::Delete(object("b", 3))), ["b"]);
    }

    #[test]
    fn older_news_and_answers_about_the_deleted_are_ignored() {
        let mut cache = Cache::default();
        see(&mut cache, Event::Apply(object("a", 5)));
        cache.learn(object("a", 7), |object| object);
        assert_eq!(see(&mut cache, Event::Apply(object("a", 6))), [""; 0]);
        assert_eq!(see(&mut cache, Event::Apply(object("a", 7))), [""; 0]);
        see(&mut cache, Event::Delete(object("a", 8)));
        cache.learn(object("a", 7), |object| object);
        assert_eq!(cache.iter().count(), 0);
    }
}
