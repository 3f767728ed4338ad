//! Which changes make a MachineSet worth a look.

use std::sync::Arc;

use refit_api::cluster::{Machine, MachineSet};
use refit_api::owners;
use refit_api::selector::Selector;
use refit_api::vocabulary::labels;
use refit_plan::machine_set::start_move::handover_of;

use crate::cache::{BY_CLUSTER, BY_DEPLOYMENT, Cache, Change, Informer, ObjectKey, namespaced};
use crate::queue::Queue;

/// The name under which changes are subscribed to.
const SUBSCRIBER: &str = "machine-set";

/// Adds MachineSets to the queue as things change that their decisions look at.
pub(super) fn watch(cache: &Cache, queue: &Queue<ObjectKey>) {
    machine_sets(cache, queue.clone());
    machines(cache, queue.clone());
    let (sets, to) = (cache.machine_sets.clone(), queue.clone());
    let add_all = move |index, namespace: Option<&str>, name: Option<&str>| {
        let value = namespaced(namespace.unwrap_or_default(), name.unwrap_or_default());
        sets.by(index, &value).iter().for_each(|set| to.add(ObjectKey::of(&**set)));
    };
    let add_all = Arc::new(add_all);
    let of_cluster = Arc::clone(&add_all);
    cache.clusters.subscribe(
        SUBSCRIBER,
        Box::new(move |change| {
            let Some(cluster) = change.either().filter(|_| crate::cluster::watch::is_news(change)) else { return };
            of_cluster(BY_CLUSTER, cluster.metadata.namespace.as_deref(), cluster.metadata.name.as_deref());
        }),
    );
    cache.machine_deployments.subscribe(
        SUBSCRIBER,
        Box::new(move |change| {
            if is_only_status(change.old.as_deref(), change.new.as_deref()) {
                return;
            }
            let Some(deployment) = change.either() else { return };
            add_all(BY_DEPLOYMENT, deployment.metadata.namespace.as_deref(), deployment.metadata.name.as_deref());
        }),
    );
}

/// A MachineSet itself, and those whose machines move to it.
fn machine_sets(cache: &Cache, queue: Queue<ObjectKey>) {
    let sets = cache.machine_sets.clone();
    cache.machine_sets.subscribe(
        SUBSCRIBER,
        Box::new(move |change| {
            let Some(set) = change.either() else { return };
            queue.add(ObjectKey::of(&**set));
            if !is_only_status(change.old.as_deref(), change.new.as_deref()) {
                givers(&sets, set).into_iter().for_each(|giver| queue.add(giver));
            }
        }),
    );
}

/// Those of the same MachineDeployment whose machines move to this one.
fn givers(sets: &Informer<MachineSet>, to: &MachineSet) -> Vec<ObjectKey> {
    let namespace = to.metadata.namespace.as_deref().unwrap_or_default();
    let deployment = to.metadata.labels.as_ref().and_then(|own| own.get(labels::DEPLOYMENT_NAME));
    let Some(deployment) = deployment else { return Vec::new() };
    let siblings = sets.by(BY_DEPLOYMENT, &namespaced(namespace, deployment));
    let gives = |set: &&Arc<MachineSet>| handover_of(set).move_to.is_some_and(|name| to.metadata.name == Some(name));
    siblings.iter().filter(gives).map(|set| ObjectKey::of(&**set)).collect()
}

/// The MachineSets that a Machine belongs to or did, or that could adopt it.
fn machines(cache: &Cache, queue: Queue<ObjectKey>) {
    let sets = cache.machine_sets.clone();
    cache.machines.subscribe(
        SUBSCRIBER,
        Box::new(move |change: &Change<Machine>| {
            for machine in change.both() {
                match owner(machine) {
                    Some(key) => queue.add(key),
                    None => adopters(&sets, machine).into_iter().for_each(|key| queue.add(key)),
                }
            }
        }),
    );
}

/// Who controls the Machine; if that is no MachineSet, a key that leads nowhere.
fn owner(machine: &Machine) -> Option<ObjectKey> {
    let owner = owners::controller_of(machine.metadata.owner_references.as_deref().unwrap_or_default())?;
    Some(ObjectKey::new(machine.metadata.namespace.clone().unwrap_or_default(), owner.name.clone()))
}

fn adopters(sets: &Informer<MachineSet>, machine: &Machine) -> Vec<ObjectKey> {
    let namespace = machine.metadata.namespace.as_deref().unwrap_or_default();
    let own = machine.metadata.labels.clone().unwrap_or_default();
    let matches = |set: &&Arc<MachineSet>| {
        Selector::from_field(Some(&set.spec.selector)).is_ok_and(|selector| selector.matches(&own))
    };
    let sets = sets.by(BY_CLUSTER, &namespaced(namespace, &machine.spec.cluster_name));
    sets.iter().filter(matches).map(|set| ObjectKey::of(&**set)).collect()
}

/// Whether nothing but the status has changed.
pub(crate) fn is_only_status<K: kube::Resource>(old: Option<&K>, new: Option<&K>) -> bool {
    let (Some(old), Some(new)) = (old, new) else { return false };
    let of = |object: &K| {
        let metadata = object.meta();
        let (labels, annotations) = (metadata.labels.clone(), metadata.annotations.clone());
        (metadata.generation, labels, annotations, metadata.deletion_timestamp.is_some())
    };
    of(old) == of(new)
}
