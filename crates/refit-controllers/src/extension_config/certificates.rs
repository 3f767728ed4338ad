//! The Secrets that extensions take their certificates from. Each is watched by its own name, and nothing else of its namespace is
//! read: they need not carry a label, and a rotation is noticed at once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use kube::api::Api;
use kube::core::PartialObjectMeta;
use refit_api::runtime::ExtensionConfig;
use refit_hooks::extension_config::SecretName;

use crate::cache::{Feed, Informer, ObjectKey};
use crate::chance::Chance;
use crate::queue::Queue;

/// The name under which changes are subscribed to.
const SUBSCRIBER: &str = "extension-config";

/// The watches of Secrets with certificates, one for each.
pub(super) struct Certificates {
    client: Client,
    chance: Chance,
    configs: Informer<ExtensionConfig>,
    queue: Queue<ObjectKey>,
    watched: Mutex<BTreeMap<SecretName, Informer<PartialObjectMeta<Secret>>>>,
}

impl Certificates {
    pub fn new(client: Client, chance: Chance, configs: Informer<ExtensionConfig>, queue: Queue<ObjectKey>) -> Self {
        Self { client, chance, configs, queue, watched: Mutex::default() }
    }

    /// Watches the Secrets that ExtensionConfigs name now, and no others.
    pub fn follow(&self) {
        let named = |config: &ExtensionConfig| SecretName::of(config).ok().flatten().filter(is_name);
        let wanted: BTreeSet<SecretName> = self.configs.all().iter().filter_map(|config| named(config)).collect();
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        watched.retain(|name, _| wanted.contains(name));
        for name in wanted {
            if !watched.contains_key(&name) {
                watched.insert(name.clone(), self.watch(name));
            }
        }
    }

    fn watch(&self, name: SecretName) -> Informer<PartialObjectMeta<Secret>> {
        let feed = Feed::named(Api::namespaced(self.client.clone(), &name.namespace), &name.name);
        let informer = Informer::start(feed, Vec::new(), self.chance.clone());
        let (configs, queue) = (self.configs.clone(), self.queue.clone());
        let tell = move |_: &_| {
            let uses = |config: &ExtensionConfig| SecretName::of(config).ok().flatten().as_ref() == Some(&name);
            configs.all().iter().filter(|config| uses(config)).for_each(|config| queue.add(ObjectKey::of(&**config)));
        };
        informer.subscribe(SUBSCRIBER, Box::new(tell));
        informer
    }
}

/// Whether there can be a Secret of this name: nobody watches what a selector cannot name.
fn is_name(name: &SecretName) -> bool {
    let is_plain = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || matches!(it, '-' | '.');
    [&name.namespace, &name.name].iter().all(|part| part.len() <= 253 && part.chars().all(is_plain))
}
