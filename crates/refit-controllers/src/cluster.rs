//! Brings Clusters to what they should be: observes, asks [`decide`], and carries out what it says.

pub(crate) mod watch;

use refit_api::cluster::{Cluster, ClusterReplicasStatus, ContractVersionedObjectReference, Machine};
use refit_api::vocabulary::events::components;
use refit_plan::cluster::{Descendant, Descendants, Observed, Worker, counters, decide};
use refit_plan::machine::External;

use crate::act::{EventRecorder, carry_out};
use crate::cache::{BY_CLUSTER, BY_CONTROL_PLANE, BY_OWNER, ObjectKey, namespaced};
use crate::context::Context;
use crate::controller::{Controller, Pass};
use crate::queue::Queue;

/// The controller of Clusters.
pub struct Clusters {
    context: Context,
    events: EventRecorder,
    queue: Queue<ObjectKey>,
}

impl Clusters {
    /// Subscribes to everything that a Cluster depends on.
    pub fn new(context: Context, queue: Queue<ObjectKey>) -> Self {
        watch::watch(&context, &queue);
        let events = context.recorder(components::CLUSTER);
        Self { context, events, queue }
    }

    async fn observe(&self, key: &ObjectKey, cluster: &Cluster) -> Observed {
        let is_deleting = cluster.metadata.deletion_timestamp.is_some();
        let control_plane = cluster.spec.control_plane_ref.as_ref();
        Observed {
            now: self.context.clock.now(),
            cluster: cluster.clone(),
            infrastructure: self.external(key, cluster.spec.infrastructure_ref.as_ref()).await,
            control_plane: self.external(key, control_plane).await,
            connection: self.context.workloads.get(key).connection,
            control_plane_machines: control_plane.map_or_else(|| self.control_plane_machines(key), |_| Vec::new()),
            workers: self.workers(key),
            standalone: self.standalone(cluster),
            descendants: if is_deleting { self.descendants(key) } else { Descendants::default() },
        }
    }

    async fn external(&self, key: &ObjectKey, reference: Option<&ContractVersionedObjectReference>) -> External {
        let Some(reference) = reference else { return External::NotReferenced };
        let (cache, queue) = (&self.context.cache, &self.queue);
        let watch = |informer: &_| watch::referenced(cache, queue, reference, informer);
        self.context.external(reference, &key.namespace, watch).await
    }

    fn control_plane_machines(&self, key: &ObjectKey) -> Vec<Machine> {
        let machines = self.context.cache.machines.by(BY_CONTROL_PLANE, &namespaced(&key.namespace, &key.name));
        machines.iter().map(|machine| Machine::clone(machine)).collect()
    }

    fn workers(&self, key: &ObjectKey) -> Vec<Worker> {
        let all = self.context.cache.machine_deployments.by(BY_CLUSTER, &namespaced(&key.namespace, &key.name));
        all.iter().map(|deployment| Worker::of(deployment)).collect()
    }

    /// Of MachineSets and Machines, only those that are the Cluster's own: few, however large the fleet is.
    fn standalone(&self, cluster: &Cluster) -> Vec<ClusterReplicasStatus> {
        let (cache, uid) = (&self.context.cache, cluster.metadata.uid.as_deref().unwrap_or_default());
        let (sets, mut machines) = (cache.machine_sets.by(BY_OWNER, uid), cache.machines.by(BY_OWNER, uid));
        machines.retain(|machine| !watch::is_control_plane(machine));
        let sets = sets.iter().map(|set| counters::of_machine_set(set));
        sets.chain([counters::of_machines(machines.iter().map(|machine| &**machine))]).collect()
    }

    fn descendants(&self, key: &ObjectKey) -> Descendants {
        let (cache, value) = (&self.context.cache, namespaced(&key.namespace, &key.name));
        let (deployments, sets) = (&cache.machine_deployments, &cache.machine_sets);
        Descendants {
            machine_deployments: deployments.by(BY_CLUSTER, &value).iter().map(|it| Descendant::of(&**it)).collect(),
            machine_sets: sets.by(BY_CLUSTER, &value).iter().map(|it| Descendant::of(&**it)).collect(),
            machines: cache.machines.by(BY_CLUSTER, &value).iter().map(|it| Descendant::of(&**it)).collect(),
        }
    }
}

impl Controller for Clusters {
    const NAME: &'static str = components::CLUSTER;

    async fn pass(&self, key: &ObjectKey) -> Pass {
        let mut pass = Pass::default();
        let cache = &self.context.cache;
        // Where something that belongs to the Cluster is not known, nothing is counted and nothing deleted.
        let cluster = match cache.clusters.read(key).and_then(|one| cache.doubt_of_cluster(key).map_or(Ok(one), Err)) {
            Ok(Some(cluster)) => cluster,
            Ok(None) => return pass,
            Err(problem) => {
                pass.problem(key, &problem);
                return pass;
            }
        };
        let decision = decide(&self.observe(key, &cluster).await);
        pass.carried(key, carry_out(&decision.plan.effects, &self.context.client, &self.events).await);
        decision.problems.iter().for_each(|problem| pass.problem(key, problem));
        pass.again(decision.plan.requeue_after);
        pass
    }
}
