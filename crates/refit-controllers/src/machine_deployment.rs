//! Brings MachineDeployments to what they should be: observes, asks [`decide()`], and carries out what it says.

mod observe;
mod watch;

use futures::future::join_all;
use refit_api::cluster::{Cluster, MachineDeployment};
use refit_api::vocabulary::events::components;
use refit_hooks::extensions::ANSWER_LIFETIME;
use refit_plan::coverage::{ContentHash, Coverage};
use refit_plan::machine_deployment::decide;
use refit_plan::machine_deployment::decide::{Ask, Decision};
use refit_plan::waiting::WaitingOn;
use tokio::time::Instant;

use crate::act::{EventRecorder, carry_out};
use crate::cache::ObjectKey;
use crate::context::Context;
use crate::controller::{Controller, NoCluster, Pass};
use crate::queue::Queue;
use observe::Snapshot;

/// How often one observation is decided about: once, and with the answers of extensions.
const ROUNDS: usize = 2;

/// The controller of MachineDeployments.
pub struct MachineDeployments {
    context: Context,
    events: EventRecorder,
}

impl MachineDeployments {
    /// Subscribes to everything that the decision looks at.
    pub fn new(context: Context, queue: &Queue<ObjectKey>) -> Self {
        watch::watch(&context.cache, queue);
        let events = context.recorder(components::MACHINE_DEPLOYMENT);
        Self { context, events }
    }

    /// Decides, and asks extensions what the decision depends on.
    async fn decide(
        &self,
        key: &ObjectKey,
        deployment: &MachineDeployment,
        cluster: &Cluster,
        pass: &mut Pass,
    ) -> Decision {
        let began = Instant::now();
        let mut snapshot = Snapshot::of(&self.context, deployment).await;
        let mut decision = decide(&snapshot.observed(deployment, cluster));
        pass.looked(began.elapsed());
        for _ in 1..ROUNDS {
            if decision.ask.is_empty() {
                break;
            }
            snapshot.answers.extend(self.ask(&key.namespace, &decision.ask).await);
            decision = decide(&snapshot.observed(deployment, cluster));
        }
        decision
    }

    async fn ask(&self, namespace: &str, asks: &[Ask]) -> Vec<(ContentHash, Coverage)> {
        let (answers, extensions) = (&self.context.answers, &self.context.extensions);
        let namespace = self.context.namespace(namespace);
        let ask = async |ask: &Ask| (ask.key.clone(), answers.ask(extensions, ask, &namespace).await);
        join_all(asks.iter().map(ask)).await
    }
}

impl Controller for MachineDeployments {
    const NAME: &'static str = components::MACHINE_DEPLOYMENT;

    async fn pass(&self, key: &ObjectKey) -> Pass {
        let (mut pass, cache) = (Pass::default(), &self.context.cache);
        let Some(deployment) = cache.machine_deployments.get(key) else {
            self.context.reasons.forget_deployment(key);
            return pass;
        };
        let cluster = ObjectKey::new(key.namespace.clone(), deployment.spec.cluster_name.clone());
        let Some(cluster) = cache.clusters.get(&cluster) else {
            pass.problem(key, &NoCluster { name: cluster.name });
            return pass;
        };
        let decision = self.decide(key, &deployment, &cluster, &mut pass).await;
        let Decision { plan, .. } = &decision;
        self.context.reasons.note_deployment(key, &plan.waiting_on);
        tracing::debug!(machine_deployment = %key, effects = plan.effects.len(), waiting_on = ?plan.waiting_on, "decided");
        pass.carried(key, carry_out(&decision.reports, &self.context.client, &self.events).await);
        pass.carried(key, carry_out(&decision.plan.effects, &self.context.client, &self.events).await);
        decision.problems.iter().for_each(|problem| pass.problem(key, problem));
        pass.again(decision.plan.requeue_after);
        if decision.plan.waiting_on.iter().any(WaitingOn::is_blocked) {
            // The extension that does not cover a change may be replaced by one that does.
            pass.again(Some(ANSWER_LIFETIME));
        }
        pass
    }
}
