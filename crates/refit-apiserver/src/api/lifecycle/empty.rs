//! Emptying what is being deleted: namespaces and definitions.

use std::sync::Arc;

use super::super::DEFINITIONS;
use super::Looked;
use super::collect::remove_finalizer;
use super::follow::{Follower, NAMESPACES};
use crate::definition::{self, CLEANUP_FINALIZER};
use crate::lifecycle::{Contents, describe, is_to_be_emptied, release};
use crate::metadata::{finalizers, is_being_deleted};
use crate::resource::Resource;
use crate::status::Status;
use crate::store::{Key, Record, Scope};
use crate::write::delete::{DeleteOptions, Propagation};

impl Follower<'_> {
    pub(super) async fn look_at_namespace(&self, name: &Arc<str>) -> Result<Looked, Status> {
        let key = Key::new(self.cluster.clone(), NAMESPACES, "", name.clone());
        let namespace = self.api.shared.store.get(&key);
        if !namespace.is_some_and(|namespace| is_to_be_emptied(&namespace.value())) {
            return Ok(Looked::default());
        }
        let mut contents = Contents::default();
        for resource in self.stored_resources().iter().filter(|resource| resource.is_namespaced) {
            let scope = Scope::resource(self.cluster.clone(), resource.storage_name()).in_namespace(name.clone());
            self.delete_undeleted(resource, &scope).await?;
            self.list(&scope)?.iter().for_each(|record| contents.add(resource, &record.value()));
        }
        let now = self.api.now();
        if contents.is_empty() {
            self.api.amend(&key, release).await?;
        } else {
            self.api.amend(&key, |namespace| describe(namespace, &contents, now)).await?;
        }
        Ok(Looked::default())
    }

    pub(super) async fn look_at_definition(&self, name: &Arc<str>) -> Result<Looked, Status> {
        let key = Key::new(self.cluster.clone(), DEFINITIONS, "", name.clone());
        let Some(record) = self.api.shared.store.get(&key) else { return Ok(Looked::default()) };
        let is_waiting =
            is_being_deleted(&record.value()) && finalizers(&record.value()).any(|name| name == CLEANUP_FINALIZER);
        if !is_waiting {
            self.api.amend(&key, |object| self.api.accept_names(&self.cluster, object)).await?;
            return Ok(Looked::default());
        }
        let Some((plural, group)) = name.split_once('.') else { return Ok(Looked::default()) };
        let storage_name = format!("{group}/{plural}");
        let scope = Scope::resource(self.cluster.clone(), storage_name.as_str());
        let catalog = self.api.catalog(&self.cluster);
        // A definition whose names others have makes no objects.
        if let Some(resource) = catalog.stored(&storage_name) {
            self.delete_undeleted(resource, &scope).await?;
        }
        let now = self.api.now();
        if self.list(&scope)?.is_empty() {
            self.api.amend(&key, |object| remove_finalizer(object, CLEANUP_FINALIZER)).await?;
        } else {
            self.api.amend(&key, |object| definition::mark_in_deletion(object, now)).await?;
        }
        Ok(Looked::default())
    }

    async fn delete_undeleted(&self, resource: &Resource, scope: &Scope) -> Result<(), Status> {
        let records = self.list(scope)?;
        let left = records.iter().filter(|record| !is_being_deleted(&record.value()));
        let keys: Vec<Key> = left.map(|record| record.key().clone()).collect();
        let options = DeleteOptions { propagation: Some(Propagation::Background), ..DeleteOptions::default() };
        match self.api.delete_all(resource, keys, &options).await {
            true => Ok(()),
            false => Err(Status::internal("some objects were not deleted")),
        }
    }

    /// Every stored resource once, whatever versions it is served in.
    fn stored_resources(&self) -> Vec<Arc<Resource>> {
        let catalog = self.api.catalog(&self.cluster);
        let mut resources: Vec<Arc<Resource>> = catalog.iter().cloned().collect();
        resources.sort_by_key(|resource| (resource.storage_name(), !resource.is_stored));
        resources.dedup_by_key(|resource| resource.storage_name());
        resources
    }

    fn list(&self, scope: &Scope) -> Result<Vec<Record>, Status> {
        let snapshot = self.api.shared.store.list(scope, None, None);
        snapshot.map(|snapshot| snapshot.records).map_err(|error| Status::internal(error.to_string()))
    }
}
