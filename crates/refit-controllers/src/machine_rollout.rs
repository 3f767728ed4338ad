//! Writes down the rollouts of MachineDeployments, for people: observes, asks [`decide`], and carries out what it says.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use refit_api::cluster::{Cluster, Machine, MachineDeployment, MachineSet};
use refit_api::rollout::MachineRollout;
use refit_api::vocabulary::events::components;
use refit_plan::machine_deployment::decide::wanted;
use refit_plan::machine_rollout::{Observed, decide, is_open};
use tokio::time::Instant;

use crate::act::{EventRecorder, carry_out};
use crate::cache::{BY_OWNER, Change, ObjectKey};
use crate::context::Context;
use crate::controller::{Controller, Pass};
use crate::queue::Queue;

/// How often at most one rollout is looked at. Each look counts all of its machines, and is a write at most.
const PACE: Duration = Duration::from_secs(1);
/// The same while it is not decided how machines change: people wait for that, and no machine moves meanwhile.
const UNDECIDED_PACE: Duration = Duration::from_millis(200);

/// The name under which changes are subscribed to.
const SUBSCRIBER: &str = "machine-rollout";

/// The controller of MachineRollouts. Its keys are those of MachineDeployments.
pub struct MachineRollouts {
    context: Context,
    events: EventRecorder,
    /// The last look at each MachineDeployment.
    looks: Mutex<BTreeMap<ObjectKey, Look>>,
}

/// What is remembered of a look at a MachineDeployment.
#[derive(Debug, Clone)]
struct Look {
    /// When the next may be.
    due: Instant,
    generation: Option<i64>,
}

impl MachineRollouts {
    /// Subscribes to MachineDeployments, whose status changes with nearly everything that is told, to what they wait for, to
    /// what others write down of rollouts, and to whose they are.
    pub fn new(context: Context, queue: &Queue<ObjectKey>) -> Self {
        let to = queue.clone();
        let add = move |change: &Change<MachineDeployment>| {
            change.either().into_iter().for_each(|deployment| to.add(ObjectKey::of(&**deployment)));
        };
        context.cache.machine_deployments.subscribe(SUBSCRIBER, Box::new(add));
        let to = queue.clone();
        let decided = move |change: &Change<MachineRollout>| {
            let news = |it: &Option<Arc<MachineRollout>>| {
                it.as_ref().map(|it| (it.status.decision, it.metadata.owner_references.clone()))
            };
            if let Some(rollout) = change.either().filter(|_| news(&change.old) != news(&change.new)) {
                to.add(ObjectKey::new(ObjectKey::of(&**rollout).namespace, rollout.spec.target_ref.name.clone()));
            }
        };
        context.cache.machine_rollouts.subscribe(SUBSCRIBER, Box::new(decided));
        context.reasons.tell_rollouts(queue);
        let events = context.recorder(components::MACHINE_DEPLOYMENT);
        Self { context, events, looks: Mutex::default() }
    }

    async fn follow(&self, key: &ObjectKey, deployment: &MachineDeployment, cluster: &Cluster) -> Pass {
        let (mut pass, cache) = (Pass::default(), &self.context.cache);
        let uid = deployment.metadata.uid.as_deref().unwrap_or_default();
        let sets = cache.machine_sets.by(BY_OWNER, uid);
        let machines: Vec<Arc<Machine>> =
            sets.iter().flat_map(|set| cache.machines.by(BY_OWNER, uid_of(set))).collect();
        let rollouts: Vec<Arc<MachineRollout>> = cache.rollouts_of(deployment);
        let all: Vec<&MachineSet> = sets.iter().map(|set| &**set).collect();
        let now = self.context.clock.now();
        let plan = decide(&Observed {
            now,
            deployment,
            cluster,
            new: wanted(deployment, &all, now),
            machines: &machines.iter().map(|machine| &**machine).collect::<Vec<_>>(),
            waiting_on: &self.context.reasons.of(key),
            rollouts: &rollouts.iter().map(|rollout| &**rollout).collect::<Vec<_>>(),
        });
        let due = Instant::now() + pace(&rollouts);
        self.looks().insert(key.clone(), Look { due, generation: deployment.metadata.generation });
        pass.carried(key, carry_out(&plan.effects, &self.context.client, &self.events).await);
        pass.again(plan.requeue_after);
        pass
    }

    /// How long to wait before the next look. A MachineDeployment that was changed is looked at now: its rollout begins.
    fn too_early(&self, key: &ObjectKey, deployment: &MachineDeployment) -> Option<Duration> {
        let looks = self.looks();
        let last = looks.get(key).filter(|last| last.generation == deployment.metadata.generation)?;
        let left = last.due.saturating_duration_since(Instant::now());
        (!left.is_zero()).then_some(left)
    }

    fn looks(&self) -> MutexGuard<'_, BTreeMap<ObjectKey, Look>> {
        self.looks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Controller for MachineRollouts {
    const NAME: &'static str = "machinerollout-controller";

    async fn pass(&self, key: &ObjectKey) -> Pass {
        let cache = &self.context.cache;
        let Some(deployment) = cache.machine_deployments.get(key) else {
            self.looks().remove(key);
            return Pass::default();
        };
        if let Some(left) = self.too_early(key, &deployment) {
            let mut pass = Pass::default();
            pass.again(Some(left));
            return pass;
        }
        let cluster = cache.clusters.get(&ObjectKey::new(key.namespace.clone(), deployment.spec.cluster_name.clone()));
        // On a server without the kind, rollouts go on and are not written down.
        if !cache.machine_rollouts.is_ready() {
            return Pass::default();
        }
        // Without its Cluster nothing is decided about a MachineDeployment. That is told, too.
        self.follow(key, &deployment, &cluster.unwrap_or_default()).await
    }
}

/// How soon to look again at the rollouts of a MachineDeployment.
fn pace(rollouts: &[Arc<MachineRollout>]) -> Duration {
    let is_undecided = |it: &Arc<MachineRollout>| it.status.decision.is_none() && is_open(it);
    if rollouts.iter().any(is_undecided) { UNDECIDED_PACE } else { PACE }
}

fn uid_of(set: &MachineSet) -> &str {
    set.metadata.uid.as_deref().unwrap_or_default()
}
