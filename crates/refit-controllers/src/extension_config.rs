//! Keeps the registry of extensions as the ExtensionConfigs say. Whoever waits for an extension is told of every change.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use k8s_openapi::api::core::v1::Secret;
use kube::core::PartialObjectMeta;
use refit_api::runtime::ExtensionConfig;
use refit_hooks::extension_config::{SecretName, reconcile_seen};
use refit_plan::coverage::ContentHash;
use serde_json::json;

use crate::cache::{Cache, Change, ObjectKey};
use crate::context::Context;
use crate::controller::{Controller, Pass};
use crate::queue::Queue;

/// The name under which changes are subscribed to.
const SUBSCRIBER: &str = "extension-config";

/// Who waits for extensions: MachineDeployments and MachineSets.
pub struct Waiting {
    pub machine_deployments: Queue<ObjectKey>,
    pub machine_sets: Queue<ObjectKey>,
}

/// The controller of ExtensionConfigs.
pub struct ExtensionConfigs {
    context: Context,
    waiting: Waiting,
    /// What was registered last, by ExtensionConfig.
    known: Mutex<BTreeMap<ObjectKey, ContentHash>>,
}

impl ExtensionConfigs {
    /// Subscribes to the ExtensionConfigs and to the Secrets with their certificates.
    pub fn new(context: Context, queue: &Queue<ObjectKey>, waiting: Waiting) -> Self {
        watch(&context.cache, queue);
        Self { context, waiting, known: Mutex::default() }
    }

    /// Forgets all answers if what is registered has changed, and has everybody ask anew.
    fn note(&self, key: &ObjectKey) {
        let config = self.context.cache.extension_configs.get(key);
        let new = config.map(|config| identity(&config));
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.get(key) == new.as_ref() {
            return;
        }
        match new {
            Some(new) => known.insert(key.clone(), new),
            None => known.remove(key),
        };
        drop(known);
        self.context.answers.forget();
        let cache = &self.context.cache;
        let Waiting { machine_deployments, machine_sets } = &self.waiting;
        cache.machine_deployments.all().iter().for_each(|it| machine_deployments.add(ObjectKey::of(&**it)));
        cache.machine_sets.all().iter().for_each(|it| machine_sets.add(ObjectKey::of(&**it)));
    }
}

impl Controller for ExtensionConfigs {
    const NAME: &'static str = "extensionconfig-controller";

    async fn pass(&self, key: &ObjectKey) -> Pass {
        let (mut pass, Context { shell, .. }) = (Pass::default(), &self.context);
        let seen = shell.cache.extension_configs.get(key).map(|config| ExtensionConfig::clone(&config));
        match reconcile_seen(&shell.client, &shell.extensions, &key.name, seen, shell.clock.now()).await {
            Ok(again) => pass.again(again),
            Err(error) => pass.problem(key, &error),
        }
        self.note(key);
        pass
    }
}

/// Changes with everything that could make the extension answer otherwise.
fn identity(config: &ExtensionConfig) -> ContentHash {
    let metadata = &config.metadata;
    ContentHash::of(&json!([metadata.uid, metadata.generation, metadata.annotations, config.status.handlers]))
}

fn watch(cache: &Cache, queue: &Queue<ObjectKey>) {
    let to = queue.clone();
    cache.extension_configs.subscribe(
        SUBSCRIBER,
        Box::new(move |change| change.either().into_iter().for_each(|config| to.add(ObjectKey::of(&**config)))),
    );
    let (configs, to) = (cache.extension_configs.clone(), queue.clone());
    cache.secrets.subscribe(
        SUBSCRIBER,
        Box::new(move |change: &Change<PartialObjectMeta<Secret>>| {
            let Some(secret) = change.either() else { return };
            let key = ObjectKey::of(&**secret);
            let uses = |config: &ExtensionConfig| {
                let name = SecretName::of(config).ok().flatten();
                name.is_some_and(|name| name.namespace == key.namespace && name.name == key.name)
            };
            configs.all().iter().filter(|config| uses(config)).for_each(|config| to.add(ObjectKey::of(&**config)));
        }),
    );
}
