//! Garbage collection, one object at a time.

use std::sync::Arc;

use serde_json::Value;

use super::follow::Follower;
use super::{Looked, Task};
use crate::lifecycle::{OwnerRef, Standing, Verdict, blocks, drop_owners, judge, owner_refs, unblock};
use crate::metadata::{FOREGROUND_FINALIZER, ORPHAN_FINALIZER, finalizers, is_being_deleted, metadata_mut, text};
use crate::resource::Resource;
use crate::status::Status;
use crate::store::{Key, Record};
use crate::write::delete::{DeleteOptions, Propagation};

/// The kind of an owner is not served, or cannot be an owner of the object.
pub(super) struct Unresolved;

impl Follower<'_> {
    pub(super) async fn look(&self, task: Task) -> Looked {
        let looked = match &task {
            Task::Object(key) => self.look_at_object(key).await,
            Task::Namespace(name) => self.look_at_namespace(name).await,
            Task::Definition(name) => self.look_at_definition(name).await,
        };
        looked.unwrap_or_else(|status| {
            tracing::debug!(?task, message = status.message, "will be looked at again");
            Looked { failed: Some(task), ..Looked::default() }
        })
    }

    async fn look_at_object(&self, key: &Key) -> Result<Looked, Status> {
        let Some(record) = self.api.shared.store.get(key) else { return Ok(Looked::default()) };
        let object = record.value();
        let has = |wanted: &str| finalizers(&object).any(|name| name == wanted);
        match is_being_deleted(&object) {
            true if has(FOREGROUND_FINALIZER) => self.await_dependents(key, &object).await,
            true if has(ORPHAN_FINALIZER) => self.orphan_dependents(key, &object).await,
            true => Ok(Looked::default()),
            false => self.look_at_owners(&record, &object).await,
        }
    }

    /// An object that goes after those it owns: goes when none of them keeps it.
    async fn await_dependents(&self, key: &Key, object: &Value) -> Result<Looked, Status> {
        let uid = text(object, "uid");
        if !self.dependents(key, uid).any(|(_, dependent)| blocks(&dependent.value(), uid)) {
            self.remove_finalizer(key, FOREGROUND_FINALIZER).await?;
        }
        Ok(Looked::default())
    }

    /// An object that leaves those it owns behind.
    async fn orphan_dependents(&self, key: &Key, object: &Value) -> Result<Looked, Status> {
        let uid = text(object, "uid");
        let gone = [uid.to_owned()];
        for (dependent, _) in self.dependents(key, uid) {
            self.api.amend(dependent, |object| drop_owners(object, &gone)).await?;
        }
        self.remove_finalizer(key, ORPHAN_FINALIZER).await?;
        Ok(Looked::default())
    }

    async fn look_at_owners(&self, record: &Record, object: &Value) -> Result<Looked, Status> {
        let key = record.key();
        let mut owners = Vec::new();
        for owner in owner_refs(object) {
            match self.standing(key, &owner) {
                Ok(standing) => owners.push((owner, standing)),
                Err(Unresolved) => return Ok(Looked { unresolved: Some(key.clone()), ..Looked::default() }),
            }
        }
        let own = finalizers(object).find_map(|name| match name {
            ORPHAN_FINALIZER => Some(Propagation::Orphan),
            FOREGROUND_FINALIZER => Some(Propagation::Foreground),
            _ => None,
        });
        let uid = text(object, "uid");
        let dependents: Vec<Record> = self.dependents(key, uid).map(|(_, record)| record).collect();
        match judge(&owners, own, !dependents.is_empty()) {
            Verdict::Keep => {}
            Verdict::Drop(uids) => self.api.amend(key, |object| drop_owners(object, &uids)).await?,
            Verdict::Delete(propagation) => {
                // In a circle, each would wait for the next.
                if propagation == Propagation::Foreground && dependents.iter().any(|record| waits(&record.value())) {
                    self.api.amend(key, unblock).await?;
                }
                return self.delete_dependent(record, uid, propagation).await;
            }
        }
        Ok(Looked::default())
    }

    async fn delete_dependent(&self, record: &Record, uid: &str, propagation: Propagation) -> Result<Looked, Status> {
        let key = record.key();
        let catalog = self.api.catalog(&self.cluster);
        let Some(resource) = catalog.stored(key.resource()) else { return Ok(Looked::default()) };
        let options =
            DeleteOptions { uid: Some(uid.to_owned()), propagation: Some(propagation), ..DeleteOptions::default() };
        match self.api.delete_object(resource, key, &options).await {
            // Another object of the name is there, or none: what it needs comes with its own change.
            Err(status) if matches!(status.code.as_u16(), 404 | 409) => Ok(Looked::default()),
            Err(status) => Err(status),
            Ok(_) => Ok(Looked::default()),
        }
    }

    /// The objects that name this owner, and may: owners are in the namespace of what they own, or in none.
    fn dependents<'a>(&'a self, owner: &'a Key, uid: &'a str) -> impl Iterator<Item = (&'a Key, Record)> {
        let keys = self.graph.dependents(uid);
        let keys = keys.filter(|key| owner.namespace().is_empty() || key.namespace() == owner.namespace());
        keys.filter_map(|key| Some((key, self.api.shared.store.get(key)?)))
    }

    /// How an owner is now. Asked of the store, which knows later things than the changes that were taken in.
    fn standing(&self, key: &Key, owner: &OwnerRef<'_>) -> Result<Standing, Unresolved> {
        let Some(at) = self.owner_key(key, owner)? else { return Ok(Standing::Solid) };
        let Some(found) = self.api.shared.store.get(&at) else { return Ok(Standing::Absent) };
        let object = found.value();
        Ok(match text(&object, "uid") == owner.uid {
            false => Standing::Absent,
            true if waits(&object) => Standing::Waiting,
            true => Standing::Solid,
        })
    }

    /// Where an owner would be; `None` where an object without namespace names an owner that has one.
    pub(super) fn owner_key(&self, key: &Key, owner: &OwnerRef<'_>) -> Result<Option<Key>, Unresolved> {
        let catalog = self.api.catalog(&self.cluster);
        let is_meant = |found: &&Arc<Resource>| {
            found.group == owner.group && found.version == owner.version && found.kind == owner.kind
        };
        let resource = catalog.iter().find(is_meant).ok_or(Unresolved)?;
        let namespace = match (resource.is_namespaced, key.namespace()) {
            (true, "") => return Ok(None),
            (true, namespace) => namespace,
            (false, _) => "",
        };
        Ok(Some(Key::new(self.cluster.clone(), resource.storage_name(), namespace, owner.name)))
    }

    async fn remove_finalizer(&self, key: &Key, finalizer: &str) -> Result<(), Status> {
        self.api.amend(key, |object| remove_finalizer(object, finalizer)).await
    }
}

/// Whether an object is being deleted and waits for those it owns.
fn waits(object: &Value) -> bool {
    is_being_deleted(object) && finalizers(object).any(|name| name == FOREGROUND_FINALIZER)
}

/// Takes one finalizer away.
pub(super) fn remove_finalizer(object: &mut Value, finalizer: &str) {
    let Some(metadata) = metadata_mut(object) else { return };
    if let Some(Value::Array(held)) = metadata.get_mut("finalizers") {
        held.retain(|name| name != finalizer);
        if held.is_empty() {
            metadata.remove("finalizers");
        }
    }
}
