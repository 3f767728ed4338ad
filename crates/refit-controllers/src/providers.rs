//! Objects of providers, many of a kind at a time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use refit_api::cluster::ContractVersionedObjectReference;
use refit_hooks::chain;
use refit_plan::machine::External;
use refit_plan::reading::{Listed, Read, Unreadable};
use serde_json::Value;

use crate::cache::{BY_OWNER, Cache, Informer, ObjectKey, Provided};
use crate::shell::Shell;

/// How long the first list of a kind may hold up who needs it. After that it is not known yet.
const LIST_LIMIT: Duration = Duration::from_secs(5);

/// A kind of a provider, listed.
pub struct ListedKind {
    informer: Informer<Provided>,
}

impl Cache {
    /// The kind that a reference means, once all of its objects are known.
    pub async fn listed_kind(&self, reference: &ContractVersionedObjectReference) -> Result<ListedKind, Unreadable> {
        let unreadable = |why: String| Unreadable { what: reference.kind.clone(), why };
        let kind = self.provider_kind(reference).map_err(|error| unreadable(chain(&error)))?;
        let informer = self.provider(&kind.resource);
        match informer.wait_ready(LIST_LIMIT).await {
            true => Ok(ListedKind { informer }),
            false => Err(unreadable("its objects are not listed yet".to_owned())),
        }
    }

    /// The objects of the kind that belong to the owner with this uid.
    pub async fn owned(&self, reference: &ContractVersionedObjectReference, owner: &str) -> Listed<Value> {
        match self.listed_kind(reference).await {
            Ok(listed) => Listed::All(listed.owned(owner)),
            Err(problem) => Listed::Unreadable(problem),
        }
    }
}

impl Shell {
    /// What the reference leads to. Only what the API server itself does not have is missing.
    pub async fn read(&self, namespace: &str, reference: &ContractVersionedObjectReference) -> Read<Value> {
        let what = || format!("{} {}", reference.kind, reference.name);
        match self.external(reference, namespace, |_| ()).await {
            External::Found { object, .. } => Read::Found(object),
            External::Missing => Read::Missing,
            External::Unreadable { why } => Read::Unreadable(Unreadable { what: what(), why }),
            External::NotReferenced => Read::Missing,
        }
    }
}

/// The kinds that Machines refer to, each looked up once.
pub struct Kinds<'a> {
    cache: &'a Cache,
    known: BTreeMap<(String, String), Result<ListedKind, Unreadable>>,
}

impl<'a> Kinds<'a> {
    pub fn new(cache: &'a Cache) -> Self {
        Self { cache, known: BTreeMap::new() }
    }

    /// What the reference leads to, as the cache knows it.
    pub async fn read(&mut self, namespace: &str, reference: &ContractVersionedObjectReference) -> Arc<Read<Value>> {
        let name = (reference.api_group.clone(), reference.kind.clone());
        if !self.known.contains_key(&name) {
            let listed = self.cache.listed_kind(reference).await;
            self.known.insert(name.clone(), listed);
        }
        match self.known.get(&name) {
            Some(Ok(listed)) => listed.get(namespace, &reference.name),
            Some(Err(problem)) => Read::Unreadable(problem.clone()).into(),
            None => Read::Missing.into(),
        }
    }
}

impl ListedKind {
    /// The object of this name.
    pub fn get(&self, namespace: &str, name: &str) -> Arc<Read<Value>> {
        let found = self.informer.get(&ObjectKey::new(namespace, name));
        found.map_or_else(|| Arc::new(Read::Missing), |object| object.read())
    }

    /// The objects that belong to the owner with this uid.
    fn owned(&self, owner: &str) -> Vec<Value> {
        let owned = self.informer.by(BY_OWNER, owner);
        owned.iter().map(|object| object.value().clone()).collect()
    }
}
