//! What one writer was told, and what it does not know.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};

use super::{widget_api, widget_resource};

/// Each writer goes round its own objects, so that it knows what it was told about each.
const OBJECTS: u64 = 4;
/// Every so many writes of an object is its deletion.
const DELETE_EVERY: u64 = 7;

/// The writes of one writer.
pub struct Ledger {
    writer: usize,
    number: u64,
    acknowledged: u64,
    objects: BTreeMap<String, Entry>,
}

/// What is known about one object, and what was on its way when the server went.
#[derive(Debug, Default)]
struct Entry {
    known: Option<Known>,
    trying: Option<Trying>,
}

/// An object as it was acknowledged.
#[derive(Clone, Debug, PartialEq)]
struct Known {
    version: u64,
    uid: String,
    number: u64,
}

#[derive(Clone, Copy, Debug)]
enum Trying {
    Put(u64),
    Delete,
}

impl Ledger {
    pub fn new(writer: usize) -> Self {
        Self { writer, number: 0, acknowledged: 0, objects: BTreeMap::new() }
    }

    pub fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    /// The highest version that the writer was told.
    pub fn highest(&self) -> u64 {
        self.objects.values().filter_map(|entry| Some(entry.known.as_ref()?.version)).max().unwrap_or_default()
    }

    /// Creates, patches and deletes until there is no answer. Counts what is acknowledged where others see it, too.
    pub async fn write_until_gone(mut self, api: Api<DynamicObject>, told: Arc<AtomicU64>) -> Self {
        loop {
            self.number += 1;
            let name = format!("w{}-{}", self.writer, self.number % OBJECTS);
            let entry = self.objects.entry(name.clone()).or_default();
            match write(&api, &name, self.number, entry).await {
                Ok(()) => {
                    self.acknowledged += 1;
                    told.fetch_add(1, Ordering::SeqCst);
                }
                Err(kube::Error::Api(status)) => panic!("{name} was refused: {status:?}"),
                Err(_) => return self,
            }
        }
    }
}

async fn write(api: &Api<DynamicObject>, name: &str, number: u64, entry: &mut Entry) -> Result<(), kube::Error> {
    let spec = json!({"number": number, "text": filling(number)});
    let is_delete = entry.known.is_some() && number.is_multiple_of(DELETE_EVERY);
    entry.trying = Some(if is_delete { Trying::Delete } else { Trying::Put(number) });
    entry.known = if is_delete {
        api.delete(name, &DeleteParams::default()).await?;
        None
    } else if entry.known.is_some() {
        let patch = Patch::Merge(json!({"spec": spec}));
        Some(Known::of(&api.patch(name, &PatchParams::default(), &patch).await?))
    } else {
        let object = DynamicObject::new(name, &widget_resource()).data(json!({"spec": spec}));
        Some(Known::of(&api.create(&PostParams::default(), &object).await?))
    };
    entry.trying = None;
    Ok(())
}

impl Known {
    /// Panics when the object is not whole.
    fn of(object: &DynamicObject) -> Self {
        let number = object.data["spec"]["number"].as_u64().expect("a widget must have its number");
        assert_eq!(object.data["spec"]["text"], Value::from(filling(number)), "{} must be whole", object.name_any());
        let uid = object.uid().expect("an object must have a uid");
        Self { version: version(object), uid, number }
    }
}

impl Entry {
    /// Either nothing happened since the last acknowledgement, or exactly what was on its way.
    fn allows(&self, found: Option<&Known>) -> bool {
        let happened = match (self.trying, &self.known, found) {
            (Some(Trying::Delete), _, None) => true,
            (Some(Trying::Put(number)), None, Some(found)) => found.number == number,
            (Some(Trying::Put(number)), Some(known), Some(found)) => {
                found.number == number && found.uid == known.uid && found.version > known.version
            }
            _ => false,
        };
        happened || found == self.known.as_ref()
    }
}

/// Compares what is there with what was told. What is there is known from here on.
pub async fn check(client: &Client, ledgers: &mut [Ledger]) {
    let list = widget_api(client).list(&Default::default()).await.expect("widgets must be served");
    let reached: u64 = list.metadata.resource_version.and_then(|it| it.parse().ok()).expect("a list has a version");
    let mut found: BTreeMap<String, Known> = list.items.iter().map(|it| (it.name_any(), Known::of(it))).collect();
    for ledger in ledgers {
        assert!(reached >= ledger.highest(), "version {reached} after {} was told", ledger.highest());
        for (name, entry) in &mut ledger.objects {
            let known = found.remove(name);
            assert!(entry.allows(known.as_ref()), "{name} is {known:?}, but {entry:?}");
            *entry = Entry { known, trying: None };
        }
    }
    found.retain(|name, _| !name.starts_with(super::watching::MARK));
    assert!(found.is_empty(), "{found:?} was never written");
}

pub fn version(object: &DynamicObject) -> u64 {
    object.resource_version().and_then(|version| version.parse().ok()).expect("an object must have a version")
}

/// Long enough to span pages, and different for every write.
pub fn filling(number: u64) -> String {
    format!("{number} ").repeat(100 + usize::try_from(number * 31 % 1500).unwrap_or_default())
}
