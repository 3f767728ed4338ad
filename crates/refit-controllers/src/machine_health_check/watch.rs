//! Which changes make a MachineHealthCheck worth a look.

use std::time::Duration;

use k8s_openapi::api::core::v1::Node;
use refit_api::cluster::{Machine, MachineHealthCheck};

use crate::cache::{BY_CLUSTER, Change, Informer, ObjectKey, namespaced};
use crate::cluster;
use crate::context::Context;
use crate::queue::Queue;
use crate::workload::Listener;

/// The name under which changes are subscribed to.
const SUBSCRIBER: &str = "machine-health-check";

/// A check looks at all of its machines at once, so what happens to several of them within this time is one look.
const GATHERED: Duration = Duration::from_secs(5);

/// Adds MachineHealthChecks to the queue as things change that their decisions look at.
pub(super) fn watch(context: &Context, queue: &Queue<ObjectKey>) {
    let (cache, to) = (&context.cache, queue.clone());
    cache.machine_health_checks.subscribe(
        SUBSCRIBER,
        Box::new(move |change| change.either().into_iter().for_each(|check| to.add(ObjectKey::of(&**check)))),
    );
    let gather = {
        let (checks, queue) = (cache.machine_health_checks.clone(), queue.clone());
        move |namespace: &str, cluster: &str| add(&checks, &queue, namespace, cluster)
    };
    let of_cluster = gather.clone();
    cache.clusters.subscribe(
        SUBSCRIBER,
        Box::new(move |change| {
            let Some(cluster) = change.either().filter(|_| cluster::watch::is_news(change)) else { return };
            let key = ObjectKey::of(&**cluster);
            of_cluster(&key.namespace, &key.name);
        }),
    );
    let of_machine = gather.clone();
    cache.machines.subscribe(
        SUBSCRIBER,
        Box::new(move |change| {
            if let Some(machine) = change.either().filter(|_| is_news(change)) {
                of_machine(machine.metadata.namespace.as_deref().unwrap_or_default(), &machine.spec.cluster_name);
            }
        }),
    );
    context.workloads.listen(Listener {
        node: Box::new(move |cluster, change| {
            if has_other_health(change) {
                gather(&cluster.namespace, &cluster.name);
            }
        }),
        connection: Box::new(|_| ()),
    });
}

fn add(checks: &Informer<MachineHealthCheck>, queue: &Queue<ObjectKey>, namespace: &str, cluster: &str) {
    let all = checks.by(BY_CLUSTER, &namespaced(namespace, cluster));
    all.iter().for_each(|check| queue.add_after(ObjectKey::of(&**check), GATHERED));
}

fn is_news(change: &Change<Machine>) -> bool {
    let (Some(old), Some(new)) = (&change.old, &change.new) else { return true };
    let (a, b) = (&old.metadata, &new.metadata);
    let is_same = a.labels == b.labels
        && a.annotations == b.annotations
        && old.status.node_ref == new.status.node_ref
        && old.status.conditions == new.status.conditions;
    !is_same
}

/// A Node tells every few seconds that it lives; only what it says of its health counts.
fn has_other_health(change: &Change<Node>) -> bool {
    let (Some(old), Some(new)) = (&change.old, &change.new) else { return true };
    let health = |node: &Node| {
        let conditions = node.status.as_ref().and_then(|status| status.conditions.clone()).unwrap_or_default();
        conditions.into_iter().map(|it| (it.type_, it.status, it.last_transition_time)).collect::<Vec<_>>()
    };
    health(old) != health(new)
}
