//! A small store that takes effects as the API server does: apply with owners, merge patches, deletion, preconditions.

use std::collections::{BTreeMap, BTreeSet};

use refit_api::resource::CustomKind;
use serde_json::{Value, json};

use super::fields::{self, Path};
use crate::effect::{Apply, Delete, Effect, Event, Part, Patch, Target};

type Key = (String, String);
/// Manager and operation.
type Owner = (String, String);

#[derive(Debug, Clone, Default)]
pub struct Store {
    objects: BTreeMap<Key, Stored>,
    version: u64,
    pub events: Vec<Event>,
}

#[derive(Debug, Clone, PartialEq)]
struct Stored {
    value: Value,
    owners: BTreeMap<Owner, BTreeSet<Path>>,
}

impl Store {
    /// Puts an object in as it is, owned by nobody in particular.
    pub fn insert(&mut self, object: Value) {
        let owner = ("test".to_owned(), "Update".to_owned());
        let owners = BTreeMap::from([(owner, fields::paths(&owned_part(&object)))]);
        let key = key(&Target::of_value(&object));
        self.save(key, Stored { value: object, owners });
    }

    pub fn insert_typed<K: CustomKind>(&mut self, object: &K) {
        self.insert(serde_json::to_value(object).expect("an object must encode"));
    }

    /// Carries out effects in order. Panics on the first that is refused.
    pub fn carry_out(&mut self, effects: &[Effect]) {
        for effect in effects {
            self.try_carry_out(effect).unwrap_or_else(|problem| panic!("{effect:?} is refused: {problem}"));
        }
    }

    pub fn try_carry_out(&mut self, effect: &Effect) -> Result<(), String> {
        match effect {
            Effect::Apply(apply) => self.apply(apply),
            Effect::Patch(patch) => self.patch(patch),
            Effect::Delete(delete) => self.delete(delete),
            Effect::Emit(event) => {
                self.events.push(event.clone());
                Ok(())
            }
        }
    }

    /// The object as a client reads it.
    pub fn get(&self, kind: &str, name: &str) -> Option<Value> {
        self.objects.get(&(kind.to_owned(), name.to_owned())).map(Stored::read)
    }

    pub fn typed<K: CustomKind>(&self, name: &str) -> Option<K> {
        self.get(K::DEFINITION.kind, name).map(|value| serde_json::from_value(value).expect("an object must decode"))
    }

    /// All objects of a kind.
    pub fn list(&self, kind: &str) -> Vec<Value> {
        self.objects.iter().filter(|((of, _), _)| of == kind).map(|(_, stored)| stored.read()).collect()
    }

    pub fn list_typed<K: CustomKind>(&self) -> Vec<K> {
        let decode = |value| serde_json::from_value(value).expect("an object must decode");
        self.list(K::DEFINITION.kind).into_iter().map(decode).collect()
    }

    /// Everything, without what differs between two ways to the same end.
    pub fn contents(&self) -> BTreeMap<Key, Value> {
        let strip = |stored: &Stored| {
            let mut value = stored.read();
            if let Some(metadata) = value["metadata"].as_object_mut() {
                metadata.retain(|name, _| name != "resourceVersion" && name != "uid");
            }
            value
        };
        self.objects.iter().map(|(key, stored)| (key.clone(), strip(stored))).collect()
    }

    fn apply(&mut self, apply: &Apply) -> Result<(), String> {
        let key = key(&apply.target);
        let existing = self.objects.get(&key).cloned();
        let mut stored = match (existing, &apply.target.uid) {
            (Some(stored), uid) => stored.if_uid(uid.as_ref())?,
            (None, Some(uid)) => return Err(format!("{key:?} with uid {uid} does not exist")),
            (None, None) => self.created(apply),
        };
        stored.apply(apply.manager, &owned_part(&apply.intent));
        stored.validate()?;
        self.save(key, stored);
        Ok(())
    }

    fn created(&mut self, apply: &Apply) -> Stored {
        let mut value = json!({ "apiVersion": apply.target.api_version, "kind": apply.target.kind });
        let uid = format!("uid-{}", apply.target.name);
        value["metadata"] = json!({
            "name": apply.target.name, "namespace": apply.target.namespace, "uid": uid,
            "creationTimestamp": "1970-01-01T00:16:40Z",
        });
        Stored { value, owners: BTreeMap::new() }
    }

    fn patch(&mut self, patch: &Patch) -> Result<(), String> {
        let key = key(&patch.target);
        let stored = self.objects.get(&key).cloned().ok_or_else(|| format!("{key:?} does not exist"))?;
        let stored = stored.if_uid(patch.target.uid.as_ref())?;
        let mut stored = stored.if_version(patch.resource_version.as_ref())?;
        stored.patch(patch);
        stored.validate()?;
        self.save(key, stored);
        Ok(())
    }

    fn delete(&mut self, delete: &Delete) -> Result<(), String> {
        let key = key(&delete.target);
        let Some(stored) = self.objects.get(&key).cloned() else { return Ok(()) };
        let stored = stored.if_uid(delete.target.uid.as_ref())?;
        let mut stored = stored.if_version(delete.resource_version.as_ref())?;
        stored.value["metadata"]["deletionTimestamp"] = json!("1970-01-01T00:20:00Z");
        self.save(key, stored);
        Ok(())
    }

    /// Stores a changed object under a new version, and forgets one that is going and that nothing holds.
    fn save(&mut self, key: Key, mut stored: Stored) {
        if self.objects.get(&key) == Some(&stored) {
            return;
        }
        let metadata = &stored.value["metadata"];
        let is_held = metadata["finalizers"].as_array().is_some_and(|finalizers| !finalizers.is_empty());
        if !metadata["deletionTimestamp"].is_null() && !is_held {
            self.objects.remove(&key);
            return;
        }
        self.version += 1;
        stored.value["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.objects.insert(key, stored);
    }
}

impl Stored {
    fn if_uid(self, uid: Option<&String>) -> Result<Self, String> {
        let found = &self.value["metadata"]["uid"];
        if uid.is_none_or(|uid| found == uid) { Ok(self) } else { Err(format!("uid {uid:?} is not {found}")) }
    }

    fn if_version(self, version: Option<&String>) -> Result<Self, String> {
        let found = &self.value["metadata"]["resourceVersion"];
        let is_so = version.is_none_or(|version| found == version);
        if is_so { Ok(self) } else { Err(format!("conflict: {version:?} was read, {found} is there")) }
    }

    fn validate(&self) -> Result<(), String> {
        let owners = self.value["metadata"]["ownerReferences"].as_array().into_iter().flatten();
        match owners.filter(|owner| owner["controller"] == true).count() {
            0 | 1 => Ok(()),
            _ => Err("metadata.ownerReferences: Only one reference can have Controller set to true".to_owned()),
        }
    }

    fn read(&self) -> Value {
        let mut value = self.value.clone();
        let entry = |(owner, paths): (&Owner, &BTreeSet<Path>)| {
            json!({ "manager": owner.0, "operation": owner.1, "fieldsType": "FieldsV1",
                    "fieldsV1": fields::to_fields_v1(paths) })
        };
        value["metadata"]["managedFields"] = self.owners.iter().map(entry).collect();
        value
    }

    fn apply(&mut self, manager: &str, intent: &Value) {
        let owner: Owner = (manager.to_owned(), "Apply".to_owned());
        let wanted = fields::paths(intent);
        let before = self.owners.insert(owner.clone(), wanted.clone()).unwrap_or_default();
        for path in before.difference(&wanted) {
            let is_name = path.last().is_some_and(|segment| segment == "f:name") && path.len() == 2;
            if !is_name && !self.owners.values().any(|paths| paths.contains(path)) {
                fields::remove(&mut self.value, path);
            }
        }
        for path in &wanted {
            let new = fields::get(intent, path).expect("a path of the intent must lead somewhere");
            if fields::get(&self.value, path) != Some(new) {
                self.take_from_others(&owner, path);
                fields::put(&mut self.value, path, new);
            }
        }
    }

    fn take_from_others(&mut self, owner: &Owner, path: &Path) {
        self.owners.iter_mut().filter(|(other, _)| *other != owner).for_each(|(_, paths)| {
            paths.remove(path);
        });
    }

    fn patch(&mut self, patch: &Patch) {
        if let Some(entries) = patch.merge.pointer("/metadata/managedFields") {
            let owner = |entry: &Value| {
                let text = |name: &str| entry[name].as_str().unwrap_or_default().to_owned();
                ((text("manager"), text("operation")), fields::from_fields_v1(&entry["fieldsV1"]))
            };
            self.owners = entries.as_array().into_iter().flatten().map(owner).collect();
            return;
        }
        let before = owned_part(&self.value);
        json_patch::merge(&mut self.value, &patch.merge);
        if patch.part == Part::Status {
            return;
        }
        let after = owned_part(&self.value);
        let owner: Owner = (Patch::MANAGER.to_owned(), "Update".to_owned());
        for path in fields::paths(&before).union(&fields::paths(&after)) {
            let (old, new) = (fields::get(&before, path), fields::get(&after, path));
            if old != new {
                self.take_from_others(&(String::new(), String::new()), path);
            }
            if old != new && new.is_some() {
                self.owners.entry(owner.clone()).or_default().insert(path.clone());
            }
        }
    }
}

fn key(target: &Target) -> Key {
    (target.kind.clone(), target.name.clone())
}

/// What has owners: some of the metadata, and the spec.
fn owned_part(object: &Value) -> Value {
    const METADATA: [&str; 4] = ["labels", "annotations", "finalizers", "ownerReferences"];
    let mut part = json!({});
    for name in METADATA {
        match object["metadata"].get(name) {
            Some(value) if !value.is_null() => part["metadata"][name] = value.clone(),
            _ => {}
        }
    }
    if let Some(spec) = object.get("spec") {
        part["spec"] = spec.clone();
    }
    part
}
