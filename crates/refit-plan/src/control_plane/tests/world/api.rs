//! Just enough of an API server: merge patches with preconditions, apply with managed fields, deletion.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::effect::{Apply, Effect, Patch, Target};
use crate::merge;

/// The objects by kind and name.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Api {
    objects: BTreeMap<(String, String), Value>,
    version: u64,
}

/// A write that was refused.
#[derive(Debug)]
pub(super) struct Refused;

impl Api {
    pub fn insert(&mut self, object: Value) {
        let target = Target::of_value(&object);
        self.objects.insert((target.kind, target.name), object);
    }

    pub fn remove(&mut self, kind: &str, name: &str) {
        self.objects.remove(&key(kind, name));
        self.version += 1;
    }

    /// Moves with every change.
    pub fn version(&self) -> u64 {
        self.version
    }

    pub fn value(&self, kind: &str, name: &str) -> Option<&Value> {
        self.objects.get(&key(kind, name))
    }

    pub fn get<T: DeserializeOwned>(&self, kind: &str, name: &str) -> T {
        let value = self.value(kind, name).cloned().expect("the object must be there");
        serde_json::from_value(value).expect("the object must decode")
    }

    pub fn of_kind<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        self.objects.iter().filter(move |((own, _), _)| own == kind).map(|(_, object)| object)
    }

    pub fn names(&self, kind: &str) -> Vec<String> {
        self.of_kind(kind).map(|object| Target::of_value(object).name).collect()
    }

    pub fn touch(&mut self, kind: &str, name: &str) {
        self.version += 1;
        let version = (self.version + 100).to_string();
        self.objects.get_mut(&key(kind, name)).expect("the object must be there")["metadata"]["resourceVersion"] =
            json!(version);
    }

    /// Changes an object as some controller would. Its version moves only if it changed.
    pub fn edit(&mut self, kind: &str, name: &str, edit: impl FnOnce(&mut Value)) {
        let Some(object) = self.objects.get_mut(&key(kind, name)) else { return };
        let before = object.clone();
        edit(object);
        if *object != before {
            self.touch(kind, name);
        }
    }

    /// Takes an annotation away, from whoever holds it, too.
    pub fn unannotate(&mut self, kind: &str, name: &str, annotation: &str) {
        self.edit(kind, name, |object| release(object, annotation));
    }

    pub fn write(&mut self, effect: &Effect, now: Timestamp) -> Result<(), Refused> {
        match effect {
            Effect::Emit(_) => Ok(()),
            Effect::Delete(delete) => {
                let target = &delete.target;
                self.expect_uid(target)?;
                if target.kind == "Machine" {
                    self.edit(&target.kind, &target.name, |object| {
                        object["metadata"]["deletionTimestamp"] = json!(now)
                    });
                } else {
                    self.remove(&target.kind, &target.name);
                }
                Ok(())
            }
            Effect::Patch(patch) => self.patch(patch),
            Effect::Apply(apply) => self.apply(apply, now),
        }
    }

    fn expect_uid(&self, target: &Target) -> Result<(), Refused> {
        let object = self.value(&target.kind, &target.name).ok_or(Refused)?;
        if object["metadata"]["uid"].as_str() == target.uid.as_deref() { Ok(()) } else { Err(Refused) }
    }

    fn patch(&mut self, patch: &Patch) -> Result<(), Refused> {
        let Target { kind, name, .. } = &patch.target;
        self.expect_uid(&patch.target)?;
        let object = self.value(kind, name).ok_or(Refused)?;
        let found = object["metadata"]["resourceVersion"].as_str();
        if patch.resource_version.as_deref().is_some_and(|wanted| Some(wanted) != found) {
            return Err(Refused);
        }
        self.edit(kind, name, |object| {
            let gone = patch.merge.pointer("/metadata/annotations").and_then(Value::as_object).into_iter().flatten();
            gone.filter(|(_, value)| value.is_null()).for_each(|(annotation, _)| release(object, annotation));
            merge::apply(object, &patch.merge);
        });
        Ok(())
    }

    fn apply(&mut self, apply: &Apply, now: Timestamp) -> Result<(), Refused> {
        let Target { kind, name, uid, .. } = &apply.target;
        match (self.value(kind, name), uid) {
            (None, Some(_)) => return Err(Refused),
            (Some(_), Some(_)) => self.expect_uid(&apply.target)?,
            (Some(_), None) => {}
            (None, None) => {
                let metadata = json!({ "name": name, "uid": format!("{kind}-{name}-uid"), "creationTimestamp": now });
                let meta = json!({ "apiVersion": apply.target.api_version, "kind": kind, "metadata": metadata });
                self.insert(meta);
            }
        }
        self.edit(kind, name, |object| apply_to(object, apply));
        Ok(())
    }
}

/// Removes what the manager held and lets go, takes over the intent, and notes what the manager holds.
fn apply_to(object: &mut Value, apply: &Apply) {
    let mut entries = object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    let held = entries.iter().position(|entry| entry["manager"] == apply.manager).map(|index| entries.remove(index));
    let fields = fields_of(&apply.intent);
    for path in paths(&held.unwrap_or_default()["fieldsV1"]) {
        let is_held = |fields: &Value| paths(fields).contains(&path);
        if !is_held(&fields) && !entries.iter().any(|entry| is_held(&entry["fieldsV1"])) {
            remove_path(object, &path);
        }
    }
    merge::apply(object, &apply.intent);
    entries.push(json!({ "manager": apply.manager, "operation": "Apply", "fieldsV1": fields }));
    entries.sort_by_key(|entry| entry["manager"].as_str().map(str::to_owned));
    object["metadata"]["managedFields"] = json!(entries);
}

/// The fields of an intent that somebody can hold. Lists are held as a whole.
fn fields_of(intent: &Value) -> Value {
    let mut fields = Map::new();
    for part in ["labels", "annotations"] {
        if let Some(Value::Object(values)) = intent["metadata"].get(part) {
            let names: Map<String, Value> = values.keys().map(|name| (format!("f:{name}"), json!({}))).collect();
            fields.insert(format!("f:{part}"), Value::Object(names));
        }
    }
    json!({ "f:metadata": fields, "f:spec": nested(intent.get("spec").unwrap_or(&json!({}))) })
}

fn nested(value: &Value) -> Value {
    let fields = value.as_object().into_iter().flatten();
    Value::Object(fields.map(|(name, field)| (format!("f:{name}"), nested(field))).collect())
}

fn paths(fields: &Value) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    for (name, inner) in fields.as_object().into_iter().flatten() {
        let name = name.trim_start_matches("f:").to_owned();
        let below = paths(inner);
        if below.is_empty() {
            all.push(vec![name]);
        } else {
            all.extend(below.into_iter().map(|path| std::iter::once(name.clone()).chain(path).collect()));
        }
    }
    all
}

fn remove_path(object: &mut Value, path: &[String]) {
    let Some((last, parents)) = path.split_last() else { return };
    let parent = parents.iter().try_fold(object, |object, name| object.get_mut(name));
    if let Some(fields) = parent.and_then(Value::as_object_mut) {
        fields.remove(last);
    }
}

fn release(object: &mut Value, annotation: &str) {
    remove_path(object, &["metadata".to_owned(), "annotations".to_owned(), annotation.to_owned()]);
    for entry in object["metadata"]["managedFields"].as_array_mut().into_iter().flatten() {
        let path = ["fieldsV1", "f:metadata", "f:annotations"].map(str::to_owned);
        remove_path(entry, &[path.as_slice(), &[format!("f:{annotation}")]].concat());
        // Nobody holds an emptied map.
        for emptied in ["/fieldsV1/f:metadata/f:annotations", "/fieldsV1/f:metadata"] {
            if entry.pointer(emptied) == Some(&json!({})) {
                let path: Vec<String> = emptied.split('/').skip(1).map(str::to_owned).collect();
                remove_path(entry, &path);
            }
        }
    }
}

fn key(kind: &str, name: &str) -> (String, String) {
    (kind.to_owned(), name.to_owned())
}
