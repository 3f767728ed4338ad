//! Brings KubeadmControlPlanes to what they should be: observes, asks [`decide`], and carries out what it says.
//!
//! A control plane is changed from two sides. Requests to its workload cluster have their place among the writes, and the
//! first step that fails ends the pass: the next one decides anew, from what is then.

mod adopt;
mod ask;
mod certificates;
mod inspect;
mod memory;
mod observe;
mod steps;
mod watch;

use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use refit_api::cluster::Cluster;
use refit_api::controlplane::KubeadmControlPlane;
use refit_api::vocabulary::events::components;
use refit_plan::control_plane::{Decision, Observed, decide, unreadable};
use refit_plan::reading::Unreadable;
use tokio::time::Instant;

use crate::act::{EventRecorder, carry_out};
use crate::cache::ObjectKey;
use crate::context::Context;
use crate::controller::{Controller, Pass};
use crate::queue::Queue;
pub use inspect::{Reach, WorkloadAccess};
use memory::Memories;
use observe::Found;

/// How often one observation is decided about: with what the first decision asks for, and with what that leads to.
const ROUNDS: usize = 4;
/// How soon people are told when something else goes wrong than before.
const TELL_AGAIN: Duration = Duration::from_secs(1);

/// The controller of KubeadmControlPlanes.
pub struct ControlPlanes {
    context: Context,
    access: WorkloadAccess,
    /// For how long what was last seen still counts while a workload cluster does not answer.
    grace_period: SignedDuration,
    events: EventRecorder,
    queue: Queue<ObjectKey>,
    memories: Memories,
}

impl ControlPlanes {
    /// Subscribes to everything that the decision looks at, but for kinds of providers that are not known yet.
    pub fn new(
        context: Context,
        access: WorkloadAccess,
        grace_period: SignedDuration,
        queue: &Queue<ObjectKey>,
    ) -> Self {
        watch::watch(&context, queue);
        let events = context.recorder(components::KUBEADM_CONTROL_PLANE);
        Self { context, access, grace_period, events, queue: queue.clone(), memories: Memories::default() }
    }

    async fn follow(&self, key: &ObjectKey, control_plane: &KubeadmControlPlane, cluster: &Cluster) -> Pass {
        let mut pass = Pass::default();
        let began = Instant::now();
        let found = match observe::observe(&self.context, &self.queue, control_plane, cluster).await {
            Ok(found) => found,
            Err(problem) => {
                self.tell_unreadable(key, control_plane, &problem, &mut pass).await;
                return pass;
            }
        };
        let Found { mut observed, candidates } = found;
        observed.problems = self.memories.problems(key);
        pass.looked(began.elapsed());
        match self.adopt(key, &observed, &candidates, &mut pass).await {
            adopt::Adoption::Complete => {}
            adopt::Adoption::Begun => return pass,
            adopt::Adoption::Refused { why } => observed.not_inspected = Some(why),
        }
        let workload = self.look(key, &mut observed, &mut pass).await;
        let decision = self.decide(&mut observed).await;
        tracing::debug!(control_plane = %key, steps = ?decision.steps, waiting_on = ?decision.waiting_on, "decided");
        self.carry_out(key, &observed, &decision, workload.as_deref(), &mut pass).await;
        pass.again(decision.requeue_after);
        if self.memories.note_problems(key, pass.reasons()) {
            // The condition still says what was wrong before.
            pass.again(Some(TELL_AGAIN));
        }
        pass
    }

    async fn tell_unreadable(
        &self,
        key: &ObjectKey,
        control_plane: &KubeadmControlPlane,
        problem: &Unreadable,
        pass: &mut Pass,
    ) {
        pass.problem(key, problem);
        let report = unreadable(control_plane, problem.to_string(), self.context.clock.now());
        pass.carried(key, carry_out(&report, &self.context.client, &self.events).await);
    }

    /// Decides, and asks extensions what the decision depends on.
    async fn decide(&self, observed: &mut Observed) -> Decision {
        let mut decision = decide(observed);
        for _ in 1..ROUNDS {
            if decision.ask.is_empty() {
                break;
            }
            for machine in &decision.ask {
                ask::ask(&self.context, observed, machine).await;
            }
            if observe::registered(&self.context, &observed.control_plane) != observed.registered {
                // Others are registered than those that were asked, and everybody is woken for it.
                observed.registered = None;
            }
            decision = decide(observed);
        }
        decision
    }
}

impl Controller for ControlPlanes {
    const NAME: &'static str = components::KUBEADM_CONTROL_PLANE;

    async fn pass(&self, key: &ObjectKey) -> Pass {
        let mut pass = Pass::default();
        let control_plane = match self.context.cache.kubeadm_control_planes.read(key) {
            Ok(Some(control_plane)) => control_plane,
            Ok(None) => {
                self.memories.forget(key);
                return pass;
            }
            Err(problem) => {
                pass.problem(key, &problem);
                return pass;
            }
        };
        match self.cluster(key, &control_plane) {
            // Whoever makes it the control plane of a Cluster changes it, which is heard of.
            Ok(None) => pass,
            Ok(Some(cluster)) => self.follow(key, &control_plane, &cluster).await,
            Err(problem) => {
                self.tell_unreadable(key, &control_plane, &problem, &mut pass).await;
                pass
            }
        }
    }
}

impl ControlPlanes {
    /// The Cluster, if all of its Machines are known.
    fn cluster(
        &self,
        key: &ObjectKey,
        control_plane: &KubeadmControlPlane,
    ) -> Result<Option<Arc<Cluster>>, Unreadable> {
        let Some(cluster) = watch::cluster_of(key, control_plane) else { return Ok(None) };
        let cache = &self.context.cache;
        match cache.doubt_of_cluster(&cluster) {
            Some(problem) => Err(problem),
            None => cache.clusters.read(&cluster),
        }
    }
}
