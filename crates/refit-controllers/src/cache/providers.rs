//! The kinds of providers: watched from when somebody first asks, and for as long as they are defined.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use kube::api::Api;
use kube::core::{ApiResource, PartialObjectMeta};
use refit_api::contract;

use super::ObjectKey;
use super::feed::Feed;
use super::index::Index;
use super::informer::Informer;
use super::provided::Provided;
use super::store::Change;
use crate::chance::Chance;

/// The definitions of kinds, without what they define.
type Definitions = Informer<PartialObjectMeta<CustomResourceDefinition>>;

/// The informers of providers' kinds.
pub(super) struct Providers {
    client: Client,
    chance: Chance,
    /// By the name of the definition.
    known: Mutex<BTreeMap<String, Provider>>,
}

/// A kind that appeared while the process ran.
struct Provider {
    resource: ApiResource,
    informer: Informer<Provided>,
    is_watched: bool,
}

impl Providers {
    /// None is watched yet. What becomes of their definitions is heard from `definitions`.
    pub fn new(client: &Client, chance: &Chance, definitions: &Definitions) -> Arc<Self> {
        let (client, chance, known) = (client.clone(), chance.clone(), Mutex::default());
        let providers = Arc::new(Self { client, chance, known });
        let told = Arc::downgrade(&providers);
        let tell = move |change: &Change<_>| told.upgrade().iter().for_each(|it| it.definition_changed(change));
        definitions.subscribe("providers", Box::new(tell));
        providers
    }

    /// The informer of the kind, and whether it is a new one.
    pub fn informer(&self, resource: &ApiResource, definitions: &Definitions) -> (Informer<Provided>, bool) {
        let definition = contract::crd_name(&resource.group, &resource.kind);
        let mut known = self.known();
        if let Some(found) = known.get(&definition).filter(|found| found.resource == *resource) {
            return (found.informer.clone(), false);
        }
        let informer = Informer::idle(vec![Index::OWNER, Index::CLUSTER]);
        // Whoever asks may know of a definition that has just gone; nobody would tell of that again.
        let is_watched = definitions.get(&ObjectKey::new("", definition.clone())).is_some();
        let provider = Provider { resource: resource.clone(), informer: informer.clone(), is_watched };
        if is_watched {
            self.watch(&provider);
        }
        known.insert(definition, provider);
        (informer, true)
    }

    /// A definition that goes ends the watch of its kind; when it comes again, so does the watch.
    fn definition_changed(&self, change: &Change<PartialObjectMeta<CustomResourceDefinition>>) {
        let Some(definition) = change.either().and_then(|it| it.metadata.name.clone()) else { return };
        let mut known = self.known();
        let Some(provider) = known.get_mut(&definition) else { return };
        let was_watched = std::mem::replace(&mut provider.is_watched, !change.is_deletion());
        match (was_watched, provider.is_watched) {
            (true, false) => provider.informer.pause(),
            (false, true) => self.watch(provider),
            (true, true) | (false, false) => return,
        }
        tracing::info!(definition, is_watched = provider.is_watched, "definition of a provider's kind");
    }

    fn watch(&self, provider: &Provider) {
        let resource = &provider.resource;
        let feed = Feed::provided(Api::all_with(self.client.clone(), resource), resource);
        provider.informer.resume(feed, self.chance.clone());
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<String, Provider>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
