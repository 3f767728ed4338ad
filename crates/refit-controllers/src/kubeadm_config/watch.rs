//! Which changes make a KubeadmConfig worth a look.

use std::sync::Arc;

use refit_api::bootstrap::GROUP;
use refit_api::cluster::Machine;

use crate::cache::{BY_CLUSTER, Cache, Change, ObjectKey, namespaced};
use crate::cluster::watch::is_news;
use crate::context::Context;
use crate::queue::Queue;
use crate::workload::Listener;

/// The name under which changes are subscribed to.
const SUBSCRIBER: &str = "kubeadm-config";

/// Adds KubeadmConfigs to the queue as things change that their decisions look at.
pub fn watch(context: &Context, queue: &Queue<ObjectKey>) {
    let (cache, to) = (&context.cache, queue.clone());
    let own = move |change: &Change<_>| change.either().into_iter().for_each(|one| to.add(ObjectKey::of(&**one)));
    cache.kubeadm_configs.subscribe(SUBSCRIBER, Box::new(own));
    let to = queue.clone();
    let machine = move |change: &Change<Machine>| {
        if change.old.as_deref().map(facts) != change.new.as_deref().map(facts) {
            change.both().filter_map(config_of).for_each(|key| to.add(key));
        }
    };
    cache.machines.subscribe(SUBSCRIBER, Box::new(machine));
    let (to, known) = (queue.clone(), cache.clone());
    cache.clusters.subscribe(
        SUBSCRIBER,
        Box::new(move |change| {
            let cluster = change.either().filter(|_| is_news(change));
            cluster.into_iter().for_each(|cluster| add_all(&known, &to, &ObjectKey::of(&**cluster)));
        }),
    );
    let (to, known) = (queue.clone(), cache.clone());
    let connection = Box::new(move |cluster: &ObjectKey| add_waiting(&known, &to, cluster));
    context.workloads.listen(Listener { node: Box::new(|_, _| ()), connection });
}

fn add_all(cache: &Cache, queue: &Queue<ObjectKey>, cluster: &ObjectKey) {
    let machines = cache.machines.by(BY_CLUSTER, &namespaced(&cluster.namespace, &cluster.name));
    machines.iter().filter_map(config_of).for_each(|key| queue.add(key));
}

/// Who has no Node yet needs its workload cluster: for a token.
fn add_waiting(cache: &Cache, queue: &Queue<ObjectKey>, cluster: &ObjectKey) {
    let machines = cache.machines.by(BY_CLUSTER, &namespaced(&cluster.namespace, &cluster.name));
    let waiting = machines.iter().filter(|machine| machine.status.node_ref.is_none());
    waiting.filter_map(config_of).for_each(|key| queue.add(key));
}

/// The KubeadmConfig of a Machine.
fn config_of(machine: &Arc<Machine>) -> Option<ObjectKey> {
    let reference = machine.spec.bootstrap.config_ref.as_ref()?;
    let is_ours = reference.api_group == GROUP && reference.kind == "KubeadmConfig";
    let namespace = machine.metadata.namespace.clone().unwrap_or_default();
    is_ours.then(|| ObjectKey::new(namespace, reference.name.clone()))
}

/// What of a Machine counts.
fn facts(machine: &Machine) -> impl PartialEq + use<> {
    let metadata = &machine.metadata;
    let own = (metadata.uid.clone(), metadata.labels.clone(), metadata.deletion_timestamp.is_some());
    (own, machine.spec.bootstrap.clone(), machine.spec.version.clone(), machine.status.node_ref.is_some())
}
