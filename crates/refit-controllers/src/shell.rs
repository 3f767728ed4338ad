//! What every controller holds, and how it reads what belongs to others.

use std::fmt::Debug;
use std::time::Duration;

use k8s_openapi::NamespaceResourceScope;
use kube::api::{Api, DynamicObject};
use kube::core::{ApiResource, PartialObjectMeta};
use kube::{Client, Resource};
use refit_api::cluster::ContractVersionedObjectReference;
use refit_hooks::registry::Namespace;
use refit_hooks::{Extensions, chain};
use refit_plan::machine::External;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::act::{EventQueue, EventRecorder, REQUEST_LIMIT};
use crate::cache::{Cache, Informer, ObjectKey, Provided, ProviderKind, Unseen, Written};
use crate::chance::Chance;
use crate::clock::Clock;
use crate::workload::WorkloadClusters;

/// How long a kind that has just appeared may take to be listed before somebody does without.
const LIST_LIMIT: Duration = Duration::from_secs(5);

/// Why nobody knows whether an owner stays. Nothing is adopted then.
#[derive(Debug, thiserror::Error)]
pub enum StaysError {
    #[error("nothing is adopted before the API server says that the owner stays")]
    Request(#[from] kube::Error),
    #[error("nothing is adopted before the API server says that the owner stays, and it does not answer")]
    Late,
}

/// What every controller holds. Clones are the same.
#[derive(Clone)]
pub struct Shell {
    /// Of the management cluster.
    pub client: Client,
    pub cache: Cache,
    pub workloads: WorkloadClusters,
    pub extensions: Extensions,
    pub clock: Clock,
    pub chance: Chance,
    /// Where events go.
    pub events: EventQueue,
}

impl Shell {
    /// Records the events of one controller.
    pub fn recorder(&self, component: &'static str) -> EventRecorder {
        EventRecorder::new(component, self.events.clone())
    }

    /// Whether the API server itself still has this object, and nobody has deleted it. The cache may know what came of a deletion
    /// before it knows of the deletion: each kind has a watch of its own.
    pub async fn stays<K>(&self, object: &K) -> Result<bool, StaysError>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + DeserializeOwned + Debug,
    {
        let key = ObjectKey::of(object);
        let api: Api<K> = Api::namespaced(self.client.clone(), &key.namespace);
        let found = timeout(REQUEST_LIMIT, api.get_metadata_opt(&key.name)).await.map_err(|_| StaysError::Late)??;
        let is_same = |found: &PartialObjectMeta<K>| found.metadata.uid == object.meta().uid;
        Ok(found.is_some_and(|found| is_same(&found) && found.metadata.deletion_timestamp.is_none()))
    }

    /// The namespace of an object, as extensions select it.
    pub fn namespace(&self, name: &str) -> Namespace {
        let known = self.cache.namespaces.get(&ObjectKey::new("", name));
        let labels = known.map(|known| known.metadata.labels.clone().unwrap_or_default());
        Namespace { name: name.to_owned(), labels }
    }

    /// The object of a provider that a reference names. `watch` is shown the informer of its kind, to subscribe.
    ///
    /// Only what the API server itself does not have is missing: a cache may lag behind, and what is known to be gone is
    /// cleaned up after.
    pub async fn external(
        &self,
        reference: &ContractVersionedObjectReference,
        namespace: &str,
        watch: impl FnOnce(&Informer<Provided>),
    ) -> External {
        let kind = match self.cache.provider_kind(reference) {
            Ok(kind) => kind,
            Err(error) => return External::Unreadable { why: error.to_string() },
        };
        let informer = self.cache.provider(&kind.resource);
        watch(&informer);
        if !informer.wait_ready(LIST_LIMIT).await {
            return External::Unreadable { why: format!("{} objects are not listed yet", reference.kind) };
        }
        match informer.get(&ObjectKey::new(namespace, reference.name.clone())) {
            Some(known) => External::Found { object: known.value().clone(), contract: kind.contract },
            None => self.live(&kind, namespace, &reference.name).await,
        }
    }

    async fn live(&self, kind: &ProviderKind, namespace: &str, name: &str) -> External {
        let api = Api::<DynamicObject>::namespaced_with(self.client.clone(), namespace, &kind.resource);
        match timeout(REQUEST_LIMIT, api.get_opt(name)).await {
            Ok(Ok(Some(object))) => found(kind, &object),
            Ok(Ok(None)) => External::Missing,
            Ok(Err(error)) => External::Unreadable { why: chain(&error) },
            Err(_) => External::Unreadable { why: "the API server does not answer".to_owned() },
        }
    }

    /// Waits for what was written for a key earlier and not seen. Whether all of it has been seen by now.
    pub async fn has_caught_up<K: crate::queue::Key>(&self, unseen: &Unseen<K>, key: &K, limit: Duration) -> bool {
        let left = self.cache.has_seen(unseen.take(key), limit).await;
        let is_done = left.is_empty();
        unseen.put(key.clone(), left);
        is_done
    }

    /// Waits for what was written for a key just now. Whether all of it has been seen; what has not is remembered.
    pub async fn wait_for<K: crate::queue::Key>(
        &self,
        unseen: &Unseen<K>,
        key: &K,
        written: Vec<Written>,
        limit: Duration,
    ) -> bool {
        unseen.put(key.clone(), written);
        self.has_caught_up(unseen, key, limit).await
    }
}

fn found(kind: &ProviderKind, object: &DynamicObject) -> External {
    External::Found { object: value_of(object, &kind.resource), contract: kind.contract }
}

/// The object as JSON, with its kind, which the items of a list may lack.
pub fn value_of(object: &DynamicObject, resource: &ApiResource) -> Value {
    let mut value = serde_json::to_value(object).unwrap_or_default();
    value["apiVersion"] = json!(resource.api_version);
    value["kind"] = json!(resource.kind);
    value
}
