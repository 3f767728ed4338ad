//! Brings MachineDeployments to what they should be: observes, asks [`decide()`], and carries out what it says.

mod observe;
mod watch;

use std::time::Duration;

use futures::future::join_all;
use refit_api::cluster::{Cluster, MachineDeployment};
use refit_api::vocabulary::events::components;
use refit_hooks::extensions::ANSWER_LIFETIME;
use refit_plan::coverage::{ContentHash, Coverage};
use refit_plan::machine_deployment::decide;
use refit_plan::machine_deployment::decide::{Ask, Decision, without_cluster};
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
        context.reasons.tell_deployments(queue);
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
        let mut decision = decide(&snapshot.observed(deployment, cluster, &snapshot.rollouts()));
        pass.looked(began.elapsed());
        for _ in 1..ROUNDS {
            if decision.ask.is_empty() {
                break;
            }
            let answers = self.ask(&key.namespace, &decision.ask).await;
            if observe::registered(&self.context, deployment) != snapshot.registered {
                // Others are registered than those that were asked, and everybody is woken for it.
                break;
            }
            snapshot.answers.extend(answers);
            decision = decide(&snapshot.observed(deployment, cluster, &snapshot.rollouts()));
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
        let deployment = match cache.machine_deployments.read(key) {
            Ok(Some(deployment)) => deployment,
            Ok(None) => {
                self.context.reasons.forget_deployment(key);
                return pass;
            }
            Err(problem) => {
                pass.problem(key, &problem);
                return pass;
            }
        };
        let cluster = ObjectKey::new(key.namespace.clone(), deployment.spec.cluster_name.clone());
        let Ok(Some(cluster)) = cache.clusters.read(&cluster) else {
            pass.problem(key, &NoCluster { name: cluster.name });
            self.context.reasons.note_outcome(key, pass.reasons());
            let told = without_cluster(&deployment, self.context.clock.now());
            pass.carried(key, carry_out(&told, &self.context.client, &self.events).await);
            return pass;
        };
        let decision = self.decide(key, &deployment, &cluster, &mut pass).await;
        if decision.adopts && !pass.stays(key, self.context.stays(&*deployment).await) {
            return pass;
        }
        let Decision { plan, .. } = &decision;
        self.context.reasons.note_deployment(key, &plan.waiting_on);
        tracing::debug!(machine_deployment = %key, effects = plan.effects.len(), waiting_on = ?plan.waiting_on, "decided");
        pass.carried(key, carry_out(&decision.reports, &self.context.client, &self.events).await);
        pass.carried(key, carry_out(&decision.plan.effects, &self.context.client, &self.events).await);
        decision.problems.iter().for_each(|problem| pass.problem(key, problem));
        if self.context.reasons.note_outcome(key, pass.reasons()) {
            // The condition still says what was wrong.
            pass.again(Some(Duration::ZERO));
        }
        pass.again(decision.plan.requeue_after);
        if decision.plan.waiting_on.iter().any(WaitingOn::is_blocked) {
            // The extension that does not cover a change may be replaced by one that does.
            pass.again(Some(ANSWER_LIFETIME));
        }
        pass
    }
}
