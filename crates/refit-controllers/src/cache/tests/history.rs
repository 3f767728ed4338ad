//! A world that changes, a watch of it that is interrupted, repeated and begun anew, and a judge who compares.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::core::ObjectMeta;
use proptest::prelude::*;
use tokio::time::Instant;

use crate::cache::store::Store;
use crate::cache::{Change, Event, Index, ObjectKey};

const NAMES: u8 = 4;

/// What happens in the world or to the watch.
#[derive(Debug, Clone)]
enum Step {
    /// The object is made, or changed if it is there.
    Write {
        name: u8,
        owner: u8,
    },
    Delete {
        name: u8,
    },
    /// Nothing arrives until a new list.
    Lose,
    /// The server is restored from a backup of this many versions ago: what there was then is, and versions go on from
    /// there. Nothing arrives until a new list.
    Restore {
        versions: usize,
    },
    /// A list is made. `cut`: it breaks off half way, and is made again.
    List {
        cut: bool,
    },
    /// The last few events come once more.
    Repeat {
        count: usize,
    },
}

#[derive(Default)]
struct World {
    objects: BTreeMap<u8, ConfigMap>,
    version: u64,
    uids: u64,
    /// What there was at each version.
    past: Vec<(u64, BTreeMap<u8, ConfigMap>)>,
}

impl World {
    fn restore(&mut self, versions: usize) {
        let back = self.past.len().saturating_sub(versions);
        if let Some((version, objects)) = self.past.get(back).cloned() {
            self.past.truncate(back);
            (self.version, self.objects) = (version, objects);
        }
    }

    fn write(&mut self, name: u8, owner: u8) -> Event<ConfigMap> {
        self.past.push((self.version, self.objects.clone()));
        self.version += 1;
        let uid = self.objects.get(&name).and_then(|known| known.metadata.uid.clone()).unwrap_or_else(|| {
            self.uids += 1;
            format!("uid-{}", self.uids)
        });
        let object = ConfigMap {
            metadata: ObjectMeta {
                name: Some(format!("name-{name}")),
                uid: Some(uid),
                resource_version: Some(self.version.to_string()),
                owner_references: Some(vec![owner_of(owner)]),
                ..ObjectMeta::default()
            },
            ..ConfigMap::default()
        };
        self.objects.insert(name, object.clone());
        Event::Apply(Ok(object))
    }

    fn delete(&mut self, name: u8) -> Option<Event<ConfigMap>> {
        self.past.push((self.version, self.objects.clone()));
        let mut object = self.objects.remove(&name)?;
        self.version += 1;
        object.metadata.resource_version = Some(self.version.to_string());
        Some(Event::Delete(Ok(object)))
    }

    fn list(&self) -> Vec<ConfigMap> {
        self.objects.values().cloned().collect()
    }
}

fn owner_of(owner: u8) -> k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference {
    k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference {
        uid: format!("owner-{owner}"),
        ..Default::default()
    }
}

/// A subscriber that believes only what it is told.
#[derive(Default)]
struct Believer(BTreeMap<ObjectKey, ConfigMap>);

impl Believer {
    fn hear(&mut self, change: &Change<ConfigMap>) {
        let key = ObjectKey::of(&**change.either().expect("a change must be about an object"));
        assert_eq!(self.0.get(&key), change.old.as_deref(), "the object before must be the one told last");
        match &change.new {
            Some(new) => {
                let is_replaced = change.old.as_ref().is_some_and(|old| old.metadata.uid != new.metadata.uid);
                assert!(!is_replaced, "another object of the same name must come as a deletion and a creation");
                self.0.insert(key, (**new).clone());
            }
            None => drop(self.0.remove(&key)),
        }
    }
}

struct Play {
    world: World,
    store: Store<ConfigMap>,
    believer: Believer,
    told: Vec<Event<ConfigMap>>,
    is_lost: bool,
}

impl Play {
    fn tell(&mut self, event: Event<ConfigMap>) {
        for change in self.store.take(event) {
            self.believer.hear(&change);
        }
    }

    fn happen(&mut self, event: Event<ConfigMap>) {
        if !self.is_lost {
            self.told.push(event.clone());
            self.tell(event);
        }
    }

    fn list(&mut self, cut: bool) {
        let objects = self.world.list();
        self.told.clear();
        self.is_lost = false;
        if cut {
            self.tell(Event::Init { asked: Instant::now() });
            objects.iter().take(objects.len() / 2).for_each(|object| self.tell(Event::InitApply(Ok(object.clone()))));
        }
        self.tell(Event::Init { asked: Instant::now() });
        objects.into_iter().for_each(|object| self.tell(Event::InitApply(Ok(object))));
        self.tell(Event::InitDone { version: self.world.version.to_string() });
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Write { name, owner } => {
                let event = self.world.write(*name, *owner);
                self.happen(event);
            }
            Step::Delete { name } => {
                if let Some(event) = self.world.delete(*name) {
                    self.happen(event);
                }
            }
            Step::Lose => self.is_lost = true,
            Step::Restore { versions } => {
                self.world.restore(*versions);
                self.is_lost = true;
            }
            Step::List { cut } => self.list(*cut),
            Step::Repeat { count } if !self.is_lost => {
                let again = self.told.len().saturating_sub(*count);
                let events = self.told.split_off(again);
                self.told.extend(events.clone());
                events.into_iter().for_each(|event| self.tell(event));
            }
            Step::Repeat { .. } => {}
        }
    }

    /// What the cache holds, what was told and what is, are the same.
    fn judge(&self) {
        let truth: BTreeMap<ObjectKey, ConfigMap> =
            self.world.list().into_iter().map(|object| (ObjectKey::of(&object), object)).collect();
        assert_eq!(self.believer.0, truth);
        let held: BTreeMap<ObjectKey, ConfigMap> =
            self.store.all().map(|object| (ObjectKey::of(&**object), (**object).clone())).collect();
        assert_eq!(held, truth);
        for owner in 0..3 {
            let uid = format!("owner-{owner}");
            let found: BTreeSet<ObjectKey> =
                self.store.by("owner", &uid).iter().map(|object| ObjectKey::of(&**object)).collect();
            let is_owned =
                |object: &&ConfigMap| object.metadata.owner_references.iter().flatten().any(|it| it.uid == uid);
            let expected: BTreeSet<ObjectKey> = truth.values().filter(is_owned).map(ObjectKey::of).collect();
            assert_eq!(found, expected);
        }
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0..NAMES, 0_u8..3).prop_map(|(name, owner)| Step::Write { name, owner }),
        3 => (0..NAMES).prop_map(|name| Step::Delete { name }),
        1 => Just(Step::Lose),
        1 => (1_usize..6).prop_map(|versions| Step::Restore { versions }),
        1 => any::<bool>().prop_map(|cut| Step::List { cut }),
        2 => (1_usize..5).prop_map(|count| Step::Repeat { count }),
    ];
    proptest::collection::vec(step, 0..60)
}

proptest! {
    #[test]
    fn subscribers_know_what_is_whatever_the_watch_went_through(steps in steps()) {
        let store = Store::new(vec![Index::OWNER]);
        let (world, believer) = (World::default(), Believer::default());
        let mut play = Play { world, store, believer, told: Vec::new(), is_lost: true };
        play.list(false);
        for step in &steps {
            play.step(step);
            if !play.is_lost {
                play.judge();
            }
        }
        play.list(false);
        play.judge();
    }
}
