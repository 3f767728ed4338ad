//! Following the changes of a logical cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::StreamExt;
use futures::future::select_all;
use futures::stream;
use serde_json::Value;

use super::super::decide::off_the_threads_of_connections;
use super::super::{Api, DEFINITIONS};
use super::{Looked, PARALLEL, Task};
use crate::budget::PIECE_BYTES;
use crate::definition;
use crate::lifecycle::{Graph, is_to_be_emptied, owner_refs};
use crate::metadata::{FOREGROUND_FINALIZER, ORPHAN_FINALIZER, finalizers, is_being_deleted, text};
use crate::store::{Event, EventKind, Key, Record, Scope, Watch, WatchEnd};

/// Where namespaces are stored.
pub(super) const NAMESPACES: &str = "/namespaces";

/// Why nothing more is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// The logical cluster is gone.
    Dropped,
    /// Changes were missed: all is to be looked at anew.
    Behind,
}

/// What is known of a logical cluster, and what is to be looked at.
pub(super) struct Follower<'a> {
    pub(super) api: &'a Api,
    pub(super) cluster: Arc<str>,
    pub(super) graph: Graph,
    watches: BTreeMap<String, Watch>,
    tasks: BTreeSet<Task>,
    /// Objects with owners of kinds that nothing served. Looked at again when definitions change.
    unresolved: BTreeSet<Key>,
    /// Namespaces and resources that are being emptied: every object that goes brings their end nearer.
    emptied: BTreeSet<Task>,
}

impl<'a> Follower<'a> {
    /// Takes in all that there is.
    pub(super) fn begin(api: &'a Api, cluster: &Arc<str>) -> Result<Self, Ended> {
        let mut follower = Self {
            api,
            cluster: cluster.clone(),
            graph: Graph::default(),
            watches: BTreeMap::new(),
            tasks: BTreeSet::new(),
            unresolved: BTreeSet::new(),
            emptied: BTreeSet::new(),
        };
        follower.follow_resources()?;
        Ok(follower)
    }

    /// Works until nothing is left to do. Returns whether something failed that is to be tried again.
    pub(super) async fn settle(&mut self) -> Result<bool, Ended> {
        let mut failed = BTreeSet::new();
        loop {
            self.catch_up()?;
            if self.tasks.is_empty() {
                let has_failed = !failed.is_empty();
                self.tasks.append(&mut failed);
                return Ok(has_failed);
            }
            let tasks = std::mem::take(&mut self.tasks);
            let looks = tasks.into_iter().map(|task| self.look(task));
            let looked: Vec<Looked> = stream::iter(looks).buffer_unordered(PARALLEL).collect().await;
            for Looked { next, unresolved, failed: again } in looked {
                self.tasks.extend(next);
                self.unresolved.extend(unresolved);
                failed.extend(again);
            }
        }
    }

    /// Returns when something changed.
    pub(super) async fn changed(&mut self) -> Result<(), Ended> {
        let next = self.watches.values_mut().map(|watch| Box::pin(watch.next()));
        let (event, ..) = select_all(next).await;
        let event = event?;
        self.take(&event)
    }

    /// Takes in all changes so far.
    fn catch_up(&mut self) -> Result<(), Ended> {
        let resources: Vec<String> = self.watches.keys().cloned().collect();
        for resource in resources {
            while let Some(event) = self.watches.get_mut(&resource).map(Watch::try_next).transpose()?.flatten() {
                self.take(&event)?;
            }
        }
        Ok(())
    }

    /// Follows every resource that is served now.
    fn follow_resources(&mut self) -> Result<(), Ended> {
        let catalog = self.api.catalog(&self.cluster);
        let served: BTreeSet<String> = catalog.iter().map(|resource| resource.storage_name()).collect();
        for name in &served {
            if !self.watches.contains_key(name) {
                self.follow(name)?;
            }
        }
        self.watches.retain(|name, _| served.contains(name));
        Ok(())
    }

    fn follow(&mut self, resource: &str) -> Result<(), Ended> {
        let scope = Scope::resource(self.cluster.clone(), resource);
        let store = &self.api.shared.store;
        let snapshot = store.list(&scope, None, None).map_err(|_| Ended::Behind)?;
        let watch = store.watch(scope, snapshot.revision)?;
        self.watches.insert(resource.to_owned(), watch);
        for record in &snapshot.records {
            let object = decoded(record);
            self.graph.observe(record.key(), Some(&object));
            self.consider(record, &object);
        }
        Ok(())
    }

    fn take(&mut self, event: &Event) -> Result<(), Ended> {
        let object = decoded(&event.record);
        let key = event.record.key();
        if event.kind == EventKind::Deleted {
            self.graph.observe(key, None);
            self.gone(key, &object);
        } else {
            self.graph.observe(key, Some(&object));
            self.consider(&event.record, &object);
        }
        if key.resource() == DEFINITIONS {
            self.tasks.extend(std::mem::take(&mut self.unresolved).into_iter().map(Task::Object));
            self.consider_unnamed();
            self.follow_resources()?;
        }
        Ok(())
    }

    /// What an object that is there gives to look at.
    fn consider(&mut self, record: &Record, object: &Value) {
        let key = record.key();
        if is_being_deleted(object) {
            self.consider_owners(key, object);
            match key.resource() {
                NAMESPACES if is_to_be_emptied(object) => self.begin_to_empty(Task::Namespace(key.name().into())),
                DEFINITIONS => self.begin_to_empty(Task::Definition(key.name().into())),
                _ => {}
            }
            if finalizers(object).any(|name| matches!(name, FOREGROUND_FINALIZER | ORPHAN_FINALIZER)) {
                self.tasks.insert(Task::Object(key.clone()));
                self.tasks.extend(self.graph.dependents(text(object, "uid")).cloned().map(Task::Object));
            }
        } else if owner_refs(object).next().is_some() {
            self.tasks.insert(Task::Object(key.clone()));
        }
        self.consider_container(key);
    }

    /// What an object that is gone gives to look at.
    fn gone(&mut self, key: &Key, object: &Value) {
        self.unresolved.remove(key);
        match key.resource() {
            NAMESPACES => self.emptied.remove(&Task::Namespace(key.name().into())),
            DEFINITIONS => self.emptied.remove(&Task::Definition(key.name().into())),
            _ => false,
        };
        self.tasks.extend(self.graph.dependents(text(object, "uid")).cloned().map(Task::Object));
        self.consider_owners(key, object);
        self.consider_container(key);
    }

    fn begin_to_empty(&mut self, task: Task) {
        self.emptied.insert(task.clone());
        self.tasks.insert(task);
    }

    /// Definitions that did not get their names may get them now.
    fn consider_unnamed(&mut self) {
        let scope = Scope::resource(self.cluster.clone(), DEFINITIONS);
        let records = self.api.shared.store.list(&scope, None, None).map(|list| list.records).unwrap_or_default();
        let unnamed = records.iter().filter(|record| !definition::is_true(&self.api.summary(record), "NamesAccepted"));
        self.tasks.extend(unnamed.map(|record| Task::Definition(record.key().name().into())));
    }

    /// Owners may wait for the object.
    fn consider_owners(&mut self, key: &Key, object: &Value) {
        let owners = owner_refs(object).filter_map(|owner| self.owner_key(key, &owner).ok().flatten());
        let owners: Vec<Task> = owners.map(Task::Object).collect();
        self.tasks.extend(owners);
    }

    /// The namespace or definition of the object may wait for it.
    fn consider_container(&mut self, key: &Key) {
        let namespace = Task::Namespace(key.namespace().into());
        let (group, plural) = key.resource().split_once('/').unwrap_or_default();
        let definition = Task::Definition(format!("{plural}.{group}").into());
        self.tasks.extend([namespace, definition].into_iter().filter(|task| self.emptied.contains(task)));
    }
}

/// An object, decoded where nobody waits for it if that may take long.
fn decoded(record: &Record) -> Arc<Value> {
    if record.json().len() <= PIECE_BYTES { record.value() } else { off_the_threads_of_connections(|| record.value()) }
}

impl From<WatchEnd> for Ended {
    fn from(end: WatchEnd) -> Self {
        match end {
            WatchEnd::Dropped => Self::Dropped,
            WatchEnd::TooOld { .. } => Self::Behind,
        }
    }
}
