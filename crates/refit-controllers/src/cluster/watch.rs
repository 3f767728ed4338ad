//! Which changes make a Cluster worth a look.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::Resource;
use refit_api::cluster::{
    Cluster, ClusterReplicasStatus, ContractVersionedObjectReference, GROUP, Machine, MachineDeployment, MachineSet,
};
use refit_api::conditions::get;
use refit_api::owners::{self, OwnerKind};
use refit_api::vocabulary::condition_types::{AVAILABLE, CONTROL_PLANE_INITIALIZED, INFRASTRUCTURE_READY};
use refit_api::vocabulary::labels;
use refit_plan::cluster::counters;

use crate::cache::{BY_REFERENCE, Cache, Change, Informer, ObjectKey, Provided, Subscriber, reference};
use crate::context::Context;
use crate::queue::Queue;
use crate::workload::Listener;

/// The name under which changes are subscribed to.
const SUBSCRIBER: &str = "cluster";

/// A Cluster counts all of its machines at once, so what happens to several of them within this time is one look, and
/// one write.
const GATHERED: Duration = Duration::from_secs(1);

/// Whether others than the Cluster's own controller care: not for how many machines it counts.
pub(crate) fn is_news(change: &Change<Cluster>) -> bool {
    change.old.as_deref().map(facts) != change.new.as_deref().map(facts)
}

pub(super) fn is_control_plane(machine: &Machine) -> bool {
    machine.metadata.labels.as_ref().is_some_and(|own| own.contains_key(labels::CONTROL_PLANE))
}

/// Adds Clusters to the queue as things change that their decisions look at.
pub(super) fn watch(context: &Context, queue: &Queue<ObjectKey>) {
    let (cache, to) = (&context.cache, queue.clone());
    cache.clusters.subscribe(
        SUBSCRIBER,
        Box::new(move |change| change.either().into_iter().for_each(|cluster| to.add(ObjectKey::of(&**cluster)))),
    );
    cache.machine_deployments.subscribe(SUBSCRIBER, deployments(cache, queue));
    let clusters = cache.clusters.clone();
    let set_facts = |set: &MachineSet| is_of_cluster(set).then(|| counters::of_machine_set(set));
    cache.machine_sets.subscribe(
        SUBSCRIBER,
        counted(clusters.clone(), queue.clone(), |set: &MachineSet| &set.spec.cluster_name, set_facts),
    );
    cache.machines.subscribe(
        SUBSCRIBER,
        counted(clusters, queue.clone(), |machine: &Machine| &machine.spec.cluster_name, machine_facts),
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

/// A MachineDeployment that comes, goes, or becomes available or not is told at once; its counters when they are gathered.
fn deployments(cache: &Cache, queue: &Queue<ObjectKey>) -> Subscriber<MachineDeployment> {
    let to = queue.clone();
    let available = |it: &MachineDeployment| get(&it.status.conditions, AVAILABLE).cloned();
    let of_counters = counted(
        cache.clusters.clone(),
        queue.clone(),
        |deployment: &MachineDeployment| &deployment.spec.cluster_name,
        |deployment| Some(counters::of_machine_deployment(deployment)),
    );
    Box::new(move |change| {
        let Some(deployment) = change.either() else { return };
        if change.old.as_deref().map(available) != change.new.as_deref().map(available) {
            to.add(ObjectKey::new(ObjectKey::of(&**deployment).namespace, deployment.spec.cluster_name.clone()));
        }
        of_counters(change);
    })
}

/// Looks at the Cluster, soon, when what counts of an object has changed, or when the object is gone for which a Cluster
/// waits that is being deleted.
fn counted<K: Resource + 'static, F: PartialEq + 'static>(
    clusters: Informer<Cluster>,
    queue: Queue<ObjectKey>,
    cluster_name: fn(&K) -> &String,
    facts: fn(&K) -> Option<F>,
) -> Subscriber<K> {
    Box::new(move |change| {
        let Some(object) = change.either() else { return };
        let key = ObjectKey::new(ObjectKey::of(&**object).namespace, cluster_name(object).clone());
        let is_counted = change.old.as_deref().and_then(facts) != change.new.as_deref().and_then(facts);
        let is_deleting = |cluster: Arc<Cluster>| cluster.metadata.deletion_timestamp.is_some();
        if is_counted || (change.is_deletion() && clusters.get(&key).is_some_and(is_deleting)) {
            queue.add_after(key, GATHERED);
        }
    })
}

/// What counts of a Machine: nothing if somebody else counts it. One of a control plane that is managed by hand makes it
/// there by its Node.
fn machine_facts(machine: &Machine) -> Option<(ClusterReplicasStatus, bool)> {
    let is_own = is_control_plane(machine) || is_of_cluster(machine);
    is_own.then(|| (counters::of_machines([machine]), machine.status.node_ref.is_some()))
}

fn is_of_cluster<K: Resource>(object: &K) -> bool {
    let owners = object.meta().owner_references.as_deref().unwrap_or_default();
    owners::find(owners, OwnerKind { group: GROUP, kind: "Cluster" }).is_some()
}

fn facts(cluster: &Cluster) -> impl PartialEq + use<> {
    let said = |type_: &str| get(&cluster.status.conditions, type_).map(transition);
    let (metadata, status) = (&cluster.metadata, &cluster.status);
    let own = (metadata.generation, metadata.labels.clone(), metadata.annotations.clone());
    let start = (status.initialization.clone(), said(INFRASTRUCTURE_READY), said(CONTROL_PLANE_INITIALIZED));
    (own, start, metadata.deletion_timestamp.is_some())
}

fn transition(condition: &Condition) -> (String, jiff::Timestamp) {
    (condition.status.clone(), condition.last_transition_time.0)
}
