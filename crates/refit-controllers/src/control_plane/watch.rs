//! Which changes make a control plane worth a look.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Node;
use kube::Resource;
use kube::core::ObjectMeta;
use refit_api::cluster::{self, Cluster, Machine};
use refit_api::controlplane::{self, KubeadmControlPlane};
use refit_api::owners::{self, OwnerKind};
use refit_api::vocabulary::labels;

use crate::cache::{Cache, Change, Informer, ObjectKey, Provided};
use crate::cluster::watch::is_news;
use crate::context::Context;
use crate::machine_set::is_only_status;
use crate::queue::Queue;
use crate::workload::Listener;

/// The name under which changes are subscribed to.
const SUBSCRIBER: &str = "control-plane";
/// What happens to the Nodes of a control plane within this time is one look.
const GATHERED: Duration = Duration::from_secs(1);

const KIND: &str = "KubeadmControlPlane";

/// Adds control planes to the queue as things change that their decisions look at.
pub(super) fn watch(context: &Context, queue: &Queue<ObjectKey>) {
    let (cache, to) = (&context.cache, queue.clone());
    cache.kubeadm_control_planes.subscribe(
        SUBSCRIBER,
        Box::new(move |change| {
            // The status is written by this controller alone.
            let is_own = is_only_status(change.old.as_deref(), change.new.as_deref()) && !has_other_references(change);
            change.either().filter(|_| !is_own).into_iter().for_each(|it| to.add(ObjectKey::of(&**it)));
        }),
    );
    let to = queue.clone();
    cache.clusters.subscribe(
        SUBSCRIBER,
        Box::new(move |change| {
            let cluster = change.either().filter(|_| is_news(change));
            cluster.and_then(|cluster| control_plane_of(cluster)).into_iter().for_each(|key| to.add(key));
        }),
    );
    machines(cache, queue);
    secrets(cache, queue);
    connections(context, queue);
}

/// Subscribes to objects of Machines.
pub(super) fn provided(cache: &Cache, informer: &Informer<Provided>, queue: &Queue<ObjectKey>) {
    let (machines, queue) = (cache.machines.clone(), queue.clone());
    informer.subscribe(
        SUBSCRIBER,
        Box::new(move |change: &Change<Provided>| {
            for object in change.both() {
                owner_of_object(&machines, object.meta()).into_iter().for_each(|key| queue.add(key));
            }
        }),
    );
}

/// The Cluster that owns the control plane.
pub(super) fn cluster_of(key: &ObjectKey, control_plane: &KubeadmControlPlane) -> Option<ObjectKey> {
    let references = control_plane.metadata.owner_references.as_deref().unwrap_or_default();
    let owner = owners::find(references, OwnerKind { group: cluster::GROUP, kind: "Cluster" })?;
    Some(ObjectKey::new(key.namespace.clone(), owner.name.clone()))
}

/// The control plane that a Cluster names.
fn control_plane_of(cluster: &Cluster) -> Option<ObjectKey> {
    let reference = cluster.spec.control_plane_ref.as_ref()?;
    let is_ours = reference.kind == KIND && reference.api_group == controlplane::GROUP;
    is_ours.then(|| ObjectKey::new(ObjectKey::of(cluster).namespace, reference.name.clone()))
}

/// Whether its owners or finalizers are others: the control plane goes on with its Cluster, and with its finalizer.
fn has_other_references(change: &Change<KubeadmControlPlane>) -> bool {
    let references = |it: &Option<Arc<KubeadmControlPlane>>| {
        it.as_ref().map(|it| (it.metadata.owner_references.clone(), it.metadata.finalizers.clone()))
    };
    references(&change.old) != references(&change.new)
}

/// The control plane of a Machine; of one that nobody controls, that of its Cluster.
fn machines(cache: &Cache, queue: &Queue<ObjectKey>) {
    let (clusters, queue) = (cache.clusters.clone(), queue.clone());
    cache.machines.subscribe(
        SUBSCRIBER,
        Box::new(move |change: &Change<Machine>| {
            for machine in change.both() {
                let is_ours =
                    machine.metadata.labels.as_ref().is_some_and(|all| all.contains_key(labels::CONTROL_PLANE));
                if let Some(key) = owner(&machine.metadata) {
                    queue.add(key);
                } else if is_ours {
                    let cluster =
                        ObjectKey::new(ObjectKey::of(&**machine).namespace, machine.spec.cluster_name.clone());
                    let key = clusters.get(&cluster).and_then(|cluster| control_plane_of(&cluster));
                    key.into_iter().for_each(|key| queue.add(key));
                }
            }
        }),
    );
}

/// Certificates of clusters that come, go, or change.
fn secrets(cache: &Cache, queue: &Queue<ObjectKey>) {
    let (clusters, queue) = (cache.clusters.clone(), queue.clone());
    cache.secrets.subscribe(
        SUBSCRIBER,
        Box::new(move |change| {
            let Some(secret) = change.either() else { return };
            let cluster = secret.metadata.labels.as_ref().and_then(|all| all.get(labels::CLUSTER_NAME));
            let namespace = secret.metadata.namespace.clone().unwrap_or_default();
            let cluster = cluster.and_then(|name| clusters.get(&ObjectKey::new(namespace, name.clone())));
            cluster.and_then(|cluster| control_plane_of(&cluster)).into_iter().for_each(|key| queue.add(key));
        }),
    );
}

fn connections(context: &Context, queue: &Queue<ObjectKey>) {
    let of_cluster = |clusters: Informer<Cluster>| {
        move |cluster: &ObjectKey| clusters.get(cluster).and_then(|cluster| control_plane_of(&cluster))
    };
    let (nodes, to) = (of_cluster(context.cache.clusters.clone()), queue.clone());
    let (connections, queue) = (of_cluster(context.cache.clusters.clone()), queue.clone());
    context.workloads.listen(Listener {
        node: Box::new(move |cluster, change| {
            if has_other_facts(change) {
                nodes(cluster).into_iter().for_each(|key| to.add_after(key, GATHERED));
            }
        }),
        connection: Box::new(move |cluster| connections(cluster).into_iter().for_each(|key| queue.add(key))),
    });
}

/// Whether a Node of a control plane is another one than before. Kubelets write their Nodes every few minutes.
fn has_other_facts(change: &Change<Node>) -> bool {
    let is_ours = |node: &Arc<Node>| {
        let own = node.metadata.labels.as_ref();
        own.is_some_and(|own| own.contains_key(labels::NODE_ROLE_CONTROL_PLANE))
    };
    let facts = |node: &Arc<Node>| {
        let (spec, status) = (node.spec.clone(), node.status.clone().unwrap_or_default());
        let conditions = status.conditions.into_iter().flatten().map(|it| (it.type_, it.status));
        let version = status.node_info.map(|info| info.kubelet_version);
        (node.metadata.labels.clone(), spec, version, conditions.collect::<Vec<_>>())
    };
    change.both().any(is_ours) && change.old.as_ref().map(facts) != change.new.as_ref().map(facts)
}

/// The control plane that controls an object.
fn owner(metadata: &ObjectMeta) -> Option<ObjectKey> {
    let references = metadata.owner_references.as_deref().unwrap_or_default();
    let owner = owners::controller_of(references).filter(|owner| owner.kind == KIND)?;
    Some(ObjectKey::new(metadata.namespace.clone().unwrap_or_default(), owner.name.clone()))
}

/// The control plane of an object that belongs to a Machine, or that has no Machine yet.
fn owner_of_object(machines: &Informer<Machine>, metadata: &ObjectMeta) -> Option<ObjectKey> {
    let namespace = || metadata.namespace.clone().unwrap_or_default();
    let references = metadata.owner_references.as_deref().unwrap_or_default();
    let machine = owners::find(references, OwnerKind { group: cluster::GROUP, kind: "Machine" });
    if let Some(machine) = machine {
        return owner(&machines.get(&ObjectKey::new(namespace(), machine.name.clone()))?.metadata);
    }
    let owner = owners::find(references, OwnerKind { group: controlplane::GROUP, kind: KIND })?;
    Some(ObjectKey::new(namespace(), owner.name.clone()))
}
