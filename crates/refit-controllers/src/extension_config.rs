//! Keeps the registry of extensions as the ExtensionConfigs say. Whoever waits for an extension is told of every change.

mod certificates;

use refit_api::runtime::ExtensionConfig;
use refit_hooks::Extensions;
use refit_hooks::extension_config::reconcile_seen;

use crate::cache::{Cache, Change, ObjectKey};
use crate::context::Context;
use crate::controller::{Controller, Pass};
use crate::queue::Queue;
use certificates::Certificates;

/// The name under which changes are subscribed to.
const SUBSCRIBER: &str = "extension-config";

/// Who waits for extensions: MachineDeployments, MachineSets and control planes.
pub struct Waiting {
    pub machine_deployments: Queue<ObjectKey>,
    pub machine_sets: Queue<ObjectKey>,
    pub kubeadm_control_planes: Queue<ObjectKey>,
}

/// The controller of ExtensionConfigs.
pub struct ExtensionConfigs {
    context: Context,
    certificates: Certificates,
}

impl ExtensionConfigs {
    /// Subscribes to the ExtensionConfigs, and has everybody who waits for extensions told when others are registered.
    pub fn new(context: Context, queue: &Queue<ObjectKey>, waiting: Waiting) -> Self {
        watch(&context, queue);
        let cache = context.cache.clone();
        context.extensions.listen(Box::new(move || waiting.wake(&cache)));
        let configs = context.cache.extension_configs.clone();
        let certificates = Certificates::new(context.client.clone(), context.chance.clone(), configs, queue.clone());
        Self { context, certificates }
    }
}

impl Waiting {
    /// Other extensions are registered: what was said of changes may not be so any more. Rare.
    fn wake(&self, cache: &Cache) {
        cache.machine_deployments.all().iter().for_each(|it| self.machine_deployments.add(ObjectKey::of(&**it)));
        cache.machine_sets.all().iter().for_each(|it| self.machine_sets.add(ObjectKey::of(&**it)));
        let control_planes = cache.kubeadm_control_planes.all();
        control_planes.iter().for_each(|it| self.kubeadm_control_planes.add(ObjectKey::of(&**it)));
    }
}

impl Controller for ExtensionConfigs {
    const NAME: &'static str = "extensionconfig-controller";

    async fn pass(&self, key: &ObjectKey) -> Pass {
        let (mut pass, Context { shell, .. }) = (Pass::default(), &self.context);
        self.certificates.follow();
        let seen = match shell.cache.extension_configs.read(key) {
            Ok(seen) => seen.map(|config| ExtensionConfig::clone(&config)),
            // It stays registered as it was.
            Err(problem) => {
                pass.problem(key, &problem);
                return pass;
            }
        };
        match reconcile_seen(&shell.client, &shell.extensions, &key.name, seen, shell.clock.now()).await {
            Ok(again) => pass.again(again),
            Err(error) => pass.problem(key, &error),
        }
        pass
    }
}

fn watch(context: &Context, queue: &Queue<ObjectKey>) {
    let cache = &context.cache;
    let (extensions, to) = (context.extensions.clone(), queue.clone());
    cache.extension_configs.subscribe(
        SUBSCRIBER,
        Box::new(move |change| {
            note(&extensions, change);
            change.either().into_iter().for_each(|config| to.add(ObjectKey::of(&**config)));
        }),
    );
}

/// The registry knows of an ExtensionConfig from the moment that it is seen: until it is discovered, nobody knows what it
/// serves, and nothing follows from it that no extension covers a change.
fn note(extensions: &Extensions, change: &Change<ExtensionConfig>) {
    match (&change.old, &change.new) {
        (_, Some(config)) if config.metadata.deletion_timestamp.is_none() => extensions.announce(config),
        (Some(config), _) | (None, Some(config)) => {
            extensions.unregister(config.metadata.name.as_deref().unwrap_or_default());
        }
        (None, None) => {}
    }
}
