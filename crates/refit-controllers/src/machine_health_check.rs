//! Brings MachineHealthChecks to what they should be: observes, asks [`decide`], and carries out what it says.

mod observe;
mod watch;

use refit_api::vocabulary::events::components;
use refit_plan::machine_health_check::decide;

use crate::act::{EventRecorder, carry_out};
use crate::cache::ObjectKey;
use crate::context::Context;
use crate::controller::{Controller, NoCluster, Pass};
use crate::queue::Queue;

/// The controller of MachineHealthChecks.
pub struct MachineHealthChecks {
    context: Context,
    events: EventRecorder,
}

impl MachineHealthChecks {
    /// Subscribes to everything that a MachineHealthCheck depends on.
    pub fn new(context: Context, queue: &Queue<ObjectKey>) -> Self {
        watch::watch(&context, queue);
        let events = context.recorder(components::MACHINE_HEALTH_CHECK);
        Self { context, events }
    }
}

impl Controller for MachineHealthChecks {
    const NAME: &'static str = components::MACHINE_HEALTH_CHECK;

    async fn pass(&self, key: &ObjectKey) -> Pass {
        let (mut pass, cache) = (Pass::default(), &self.context.cache);
        let known = cache.machine_health_checks.read(key).and_then(|check| match &check {
            Some(known) => cache.doubt_of_check(known).map_or(Ok(check), Err),
            None => Ok(None),
        });
        let check = match known {
            Ok(Some(check)) => check,
            Ok(None) => return pass,
            Err(problem) => {
                pass.problem(key, &problem);
                return pass;
            }
        };
        let cluster = ObjectKey::new(key.namespace.clone(), check.spec.cluster_name.clone());
        let Ok(Some(cluster)) = cache.clusters.read(&cluster) else {
            pass.problem(key, &NoCluster { name: cluster.name });
            return pass;
        };
        let decision = decide(&observe::observe(&self.context, &check, &cluster).await);
        pass.carried(key, carry_out(&decision.plan.effects, &self.context.client, &self.events).await);
        decision.problems.iter().for_each(|problem| pass.problem(key, problem));
        pass.again(decision.plan.requeue_after);
        pass
    }
}
