//! Writes down the rollouts of MachineDeployments, for people: observes, asks [`decide`], and carries out what it says.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use refit_api::cluster::{Cluster, Machine, MachineDeployment, MachineSet};
use refit_api::hooks::RawObject;
use refit_api::rollout::MachineRollout;
use refit_api::vocabulary::events::components;
use refit_plan::coverage::{Coverage, MachineSetObjects};
use refit_plan::effect::Effect;
use refit_plan::machine_deployment::compare_templates;
use refit_plan::machine_deployment::decide::answer_key;
use refit_plan::machine_rollout::{Observed, decide};
use refit_plan::reading::Read;
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
#[derive(Debug, Clone, Default)]
struct Look {
    /// When the next may be. Nothing: at once.
    due: Option<Instant>,
    generation: Option<i64>,
    /// The name of the MachineSet that was wanted.
    wanted: Option<String>,
}

impl MachineRollouts {
    /// Subscribes to MachineDeployments, whose status changes with nearly everything that is told, and to what they wait for.
    pub fn new(context: Context, queue: &Queue<ObjectKey>) -> Self {
        let to = queue.clone();
        let add = move |change: &Change<MachineDeployment>| {
            change.either().into_iter().for_each(|deployment| to.add(ObjectKey::of(&**deployment)));
        };
        context.cache.machine_deployments.subscribe(SUBSCRIBER, Box::new(add));
        context.reasons.tell(queue);
        let events = context.recorder(components::MACHINE_DEPLOYMENT);
        Self { context, events, looks: Mutex::default() }
    }

    /// What extensions said of the change from any MachineSet that still has machines.
    async fn coverage(&self, key: &ObjectKey, sets: &[Arc<MachineSet>], new: &MachineSet) -> Option<Coverage> {
        let desired = self.objects(key, new).await?;
        let old = sets.iter().filter(|set| set.metadata.uid != new.metadata.uid);
        for set in old.filter(|set| set.status.replicas.unwrap_or_default() > 0) {
            let current = self.objects(key, set).await?;
            let asked = answer_key(current, desired.clone()).ok()?;
            if let Some((_, coverage)) = self.context.answers.get([&asked]).pop_first() {
                return Some(coverage);
            }
        }
        None
    }

    async fn objects(&self, key: &ObjectKey, set: &MachineSet) -> Option<MachineSetObjects> {
        let spec = &set.spec.template.spec;
        let raw = |read| match read {
            Read::Found(object) => RawObject::try_from(object).ok(),
            Read::Missing | Read::Unreadable(_) => None,
        };
        let bootstrap = match &spec.bootstrap.config_ref {
            Some(reference) => Some(raw(self.context.read(&key.namespace, reference).await)?),
            None => None,
        };
        Some(MachineSetObjects {
            machine_set: set.clone(),
            infrastructure_machine_template: raw(self.context.read(&key.namespace, &spec.infrastructure_ref).await)?,
            bootstrap_config_template: bootstrap,
        })
    }

    async fn follow(&self, key: &ObjectKey, deployment: &MachineDeployment, cluster: &Cluster) -> Pass {
        let (mut pass, cache) = (Pass::default(), &self.context.cache);
        let uid = deployment.metadata.uid.as_deref().unwrap_or_default();
        let sets = cache.machine_sets.by(BY_OWNER, uid);
        let machines: Vec<Arc<Machine>> =
            sets.iter().flat_map(|set| cache.machines.by(BY_OWNER, uid_of(set))).collect();
        let rollouts: Vec<Arc<MachineRollout>> = cache.machine_rollouts.by(BY_OWNER, uid);
        let is_new =
            |set: &&Arc<MachineSet>| compare_templates(&set.spec.template, &deployment.spec.template).is_empty();
        let new = sets.iter().find(is_new);
        let coverage = match new {
            Some(new) => self.coverage(key, &sets, new).await,
            None => None,
        };
        let before = self.looks().get(key).cloned().unwrap_or_default();
        let plan = decide(&Observed {
            now: self.context.clock.now(),
            deployment,
            cluster,
            new: new.map(|set| &**set),
            wanted_before: before.wanted.as_deref(),
            machines: &machines.iter().map(|machine| &**machine).collect::<Vec<_>>(),
            coverage: coverage.as_ref(),
            waiting_on: &self.context.reasons.of(key),
            rollouts: &rollouts.iter().map(|rollout| &**rollout).collect::<Vec<_>>(),
        });
        // What has just been created says nothing yet; and a MachineSet that is wanted and not there will be any moment.
        let has_begun = plan.effects.iter().any(|effect| matches!(effect, Effect::Apply(_)));
        if has_begun {
            pass.again(Some(Duration::ZERO));
        }
        let due = (!has_begun && new.is_some()).then(|| Instant::now() + pace(&rollouts));
        let wanted = new.and_then(|set| set.metadata.name.clone()).or(before.wanted);
        self.looks().insert(key.clone(), Look { due, generation: deployment.metadata.generation, wanted });
        pass.carried(key, carry_out(&plan.effects, &self.context.client, &self.events).await);
        pass.again(plan.requeue_after);
        pass
    }

    /// How long to wait before the next look. A MachineDeployment that was changed is looked at now: its rollout begins.
    fn too_early(&self, key: &ObjectKey, deployment: &MachineDeployment) -> Option<Duration> {
        let looks = self.looks();
        let last = looks.get(key).filter(|last| last.generation == deployment.metadata.generation)?;
        let left = last.due?.saturating_duration_since(Instant::now());
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
        match cluster {
            // On a server without the kind, rollouts go on and are not written down.
            Some(cluster) if cache.machine_rollouts.is_ready() => self.follow(key, &deployment, &cluster).await,
            Some(_) | None => Pass::default(),
        }
    }
}

/// How soon to look again at the rollouts of a MachineDeployment.
fn pace(rollouts: &[Arc<MachineRollout>]) -> Duration {
    let is_undecided = |it: &Arc<MachineRollout>| it.status.decision.is_none() && it.status.completion_time.is_none();
    if rollouts.iter().any(is_undecided) { UNDECIDED_PACE } else { PACE }
}

fn uid_of(set: &MachineSet) -> &str {
    set.metadata.uid.as_deref().unwrap_or_default()
}
