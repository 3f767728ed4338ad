//! Which changes make a Cluster worth a look.

use kube::Resource;
use refit_api::cluster::{ContractVersionedObjectReference, MachineDeployment};
use refit_api::conditions::get;
use refit_api::vocabulary::condition_types::AVAILABLE;

use crate::cache::{BY_REFERENCE, Cache, Change, Informer, ObjectKey, Provided, reference};
use crate::context::Context;
use crate::queue::Queue;
use crate::workload::Listener;

/// The name under which changes are subscribed to.
const SUBSCRIBER: &str = "cluster";

/// Adds Clusters to the queue as things change that their decisions look at.
pub(super) fn watch(context: &Context, queue: &Queue<ObjectKey>) {
    let (cache, to) = (&context.cache, queue.clone());
    cache.clusters.subscribe(
        SUBSCRIBER,
        Box::new(move |change| change.either().into_iter().for_each(|cluster| to.add(ObjectKey::of(&**cluster)))),
    );
    let to = queue.clone();
    cache.machine_deployments.subscribe(
        SUBSCRIBER,
        Box::new(move |change| {
            if is_news(change) {
                add(&to, change, |deployment| &deployment.spec.cluster_name);
            }
        }),
    );
    gone(&cache.machine_sets, queue, |set| &set.spec.cluster_name);
    // A Machine of a control plane that is managed by hand makes it there by its Node.
    let to = queue.clone();
    cache.machines.subscribe(
        SUBSCRIBER,
        Box::new(move |change| {
            let has_node = |machine: &std::sync::Arc<refit_api::cluster::Machine>| machine.status.node_ref.is_some();
            let (old, new) = (change.old.as_ref().is_some_and(has_node), change.new.as_ref().is_some_and(has_node));
            if change.is_deletion() || (new && !old) {
                add(&to, change, |machine| &machine.spec.cluster_name);
            }
        }),
    );
    let to = queue.clone();
    context
        .workloads
        .listen(Listener { node: Box::new(|_, _| ()), connection: Box::new(move |cluster| to.add(cluster.clone())) });
}

/// Subscribes to a kind that a Cluster refers to.
pub(super) fn referenced(
    cache: &Cache,
    queue: &Queue<ObjectKey>,
    of: &ContractVersionedObjectReference,
    informer: &Informer<Provided>,
) {
    let (clusters, queue, group, kind) = (cache.clusters.clone(), queue.clone(), of.api_group.clone(), of.kind.clone());
    informer.subscribe(
        SUBSCRIBER,
        Box::new(move |change: &Change<Provided>| {
            let Some(object) = change.either() else { return };
            let key = ObjectKey::of(&**object);
            let named = reference(&group, &kind, &key.namespace, &key.name);
            clusters.by(BY_REFERENCE, &named).iter().for_each(|cluster| queue.add(ObjectKey::of(&**cluster)));
        }),
    );
}

fn gone<K>(informer: &Informer<K>, queue: &Queue<ObjectKey>, cluster: fn(&K) -> &String)
where
    K: Resource + Clone + std::fmt::Debug + Send + Sync + 'static,
{
    let queue = queue.clone();
    informer.subscribe(
        SUBSCRIBER,
        Box::new(move |change| {
            if change.is_deletion() {
                add(&queue, change, cluster);
            }
        }),
    );
}

fn add<K: Resource>(queue: &Queue<ObjectKey>, change: &Change<K>, cluster: fn(&K) -> &String) {
    if let Some(object) = change.either() {
        queue.add(ObjectKey::new(ObjectKey::of(&**object).namespace, cluster(object).clone()));
    }
}

/// A MachineDeployment comes, goes, or becomes available or not.
fn is_news(change: &Change<MachineDeployment>) -> bool {
    let (Some(old), Some(new)) = (&change.old, &change.new) else { return true };
    let available = |deployment: &MachineDeployment| get(&deployment.status.conditions, AVAILABLE).cloned();
    available(old) != available(new)
}
