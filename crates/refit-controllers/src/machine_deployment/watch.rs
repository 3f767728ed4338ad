//! Which changes make a MachineDeployment worth a look.

use std::sync::Arc;

use kube::Resource;
use refit_api::cluster::{Machine, MachineDeployment, MachineSet};
use refit_api::owners;
use refit_api::selector::Selector;
use refit_api::vocabulary::labels;

use crate::cache::{BY_CLUSTER, Cache, Change, Informer, ObjectKey, namespaced};
use crate::machine_set::is_only_status;
use crate::queue::Queue;

/// The name under which changes are subscribed to.
const SUBSCRIBER: &str = "machine-deployment";

/// Adds MachineDeployments to the queue as things change that their decisions look at.
pub(super) fn watch(cache: &Cache, queue: &Queue<ObjectKey>) {
    let to = queue.clone();
    let own = move |change: &Change<MachineDeployment>| change.either().into_iter().for_each(|it| to.add(key(it)));
    cache.machine_deployments.subscribe(SUBSCRIBER, Box::new(own));
    machine_sets(cache, queue.clone());
    machines(cache, queue.clone());
    let (deployments, to) = (cache.machine_deployments.clone(), queue.clone());
    cache.clusters.subscribe(
        SUBSCRIBER,
        Box::new(move |change| {
            let Some(cluster) = change.either() else { return };
            if is_only_status(change.old.as_deref(), change.new.as_deref()) {
                return;
            }
            let key = ObjectKey::of(&**cluster);
            let all = deployments.by(BY_CLUSTER, &namespaced(&key.namespace, &key.name));
            all.iter().for_each(|deployment| to.add(ObjectKey::of(&**deployment)));
        }),
    );
}

/// The MachineDeployment of a MachineSet, or those that could adopt it.
fn machine_sets(cache: &Cache, queue: Queue<ObjectKey>) {
    let deployments = cache.machine_deployments.clone();
    cache.machine_sets.subscribe(
        SUBSCRIBER,
        Box::new(move |change: &Change<MachineSet>| {
            for set in change.both() {
                match owners::controller_of(set.metadata.owner_references.as_deref().unwrap_or_default()) {
                    Some(owner) => queue.add(ObjectKey::new(key(set).namespace, owner.name.clone())),
                    None => adopters(&deployments, set).into_iter().for_each(|key| queue.add(key)),
                }
            }
        }),
    );
}

/// A Machine counts for more than what the status of its MachineSet says when it comes, goes, moves or is marked.
fn machines(cache: &Cache, queue: Queue<ObjectKey>) {
    cache.machines.subscribe(
        SUBSCRIBER,
        Box::new(move |change: &Change<Machine>| {
            let Some(machine) = change.either().filter(|_| is_news(change)) else { return };
            let own = machine.metadata.labels.as_ref();
            if let Some(deployment) = own.and_then(|own| own.get(labels::DEPLOYMENT_NAME)) {
                queue.add(ObjectKey::new(key(machine).namespace, deployment.clone()));
            }
        }),
    );
}

fn is_news(change: &Change<Machine>) -> bool {
    let (Some(old), Some(new)) = (&change.old, &change.new) else { return true };
    let of = |machine: &Machine| {
        let metadata = &machine.metadata;
        let is_going = metadata.deletion_timestamp.is_some();
        (metadata.owner_references.clone(), metadata.annotations.clone(), metadata.labels.clone(), is_going)
    };
    of(old) != of(new)
}

fn adopters(deployments: &Informer<MachineDeployment>, set: &MachineSet) -> Vec<ObjectKey> {
    let own = set.metadata.labels.clone().unwrap_or_default();
    let matches = |deployment: &&Arc<MachineDeployment>| {
        Selector::from_field(Some(&deployment.spec.selector)).is_ok_and(|selector| selector.matches(&own))
    };
    let all = deployments.by(BY_CLUSTER, &namespaced(&ObjectKey::of(set).namespace, &set.spec.cluster_name));
    all.iter().filter(matches).map(key).collect()
}

fn key<K: Resource>(object: &Arc<K>) -> ObjectKey {
    ObjectKey::of(&**object)
}
