//! The controller of Machines: observes one, has `refit-plan` decide, and carries it out.
//!
//! What only this process can know (the last answer of an extension, how far a drain is) is kept in memory for as long as
//! the Machine is there. Whoever loses it looks, or asks, again.

mod drain;
mod errands;
mod memory;
mod observe;
mod targets;
mod triggers;
mod volumes;

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use refit_api::vocabulary::events::components;
use refit_hooks::chain;
use refit_plan::effect::{Effect, Target};
use refit_plan::machine::{Decision, Observed, Passing, Quiet, Settings, decide, is_in_workload_cluster};

use crate::act::{Carried, EventRecorder, Failure, Place, carry_out};
use crate::cache::{ObjectKey, SEEN_LIMIT, Sight, Unseen, Written};
use crate::queue::{Backoff, Queue, QueueMetrics, Verdict};
use crate::shell::Shell;
use crate::workload::{Connected, Workload};
use memory::Memories;
use observe::Seen;
use targets::Targets;

/// How many Machines are worked on at a time, as upstream: most of them wait for somebody else.
pub const CONCURRENCY: NonZeroUsize = NonZeroUsize::new(100).expect("a hundred must be above zero");

/// How soon to look whether the cache has caught up.
const CATCH_UP: Duration = Duration::from_millis(100);

/// The controller of Machines. Clones are the same.
#[derive(Clone)]
pub struct MachineController {
    shared: Arc<Shared>,
}

struct Shared {
    shell: Shell,
    settings: Settings,
    queue: Queue<ObjectKey>,
    events: EventRecorder,
    memories: Memories,
    targets: Targets,
    unseen: Unseen<ObjectKey>,
}

impl MachineController {
    /// Subscribes to everything that a Machine depends on. Nothing is worked on before [`run`](Self::run).
    pub fn new(shell: Shell, settings: Settings, metrics: &QueueMetrics) -> Self {
        let queue = Queue::new("machine", Backoff::default(), shell.chance.clone(), metrics);
        let events = shell.recorder(components::MACHINE);
        let (memories, targets, unseen) = (Memories::new(shell.clock), Targets::default(), Unseen::default());
        let shared = Arc::new(Shared { shell, settings, queue, events, memories, targets, unseen });
        triggers::subscribe(&shared);
        Self { shared }
    }

    /// Works until the controller is closed, and what it has begun is done.
    pub async fn run(&self, concurrency: NonZeroUsize) {
        let work = |key: ObjectKey| {
            let shared = Arc::clone(&self.shared);
            async move { shared.reconcile(&key).await }
        };
        self.shared.queue.run(concurrency, work).await;
    }

    /// The Machines that wait for their turn. Closing it ends [`run`](Self::run).
    pub fn queue(&self) -> Queue<ObjectKey> {
        self.shared.queue.clone()
    }
}

impl Shared {
    async fn reconcile(self: Arc<Self>, key: &ObjectKey) -> Verdict {
        if !self.shell.has_caught_up(&self.unseen, key, SEEN_LIMIT).await {
            return Verdict::Again { after: CATCH_UP };
        }
        let seen = match self.observe(key).await {
            Seen::Gone => {
                self.memories.forget(key);
                return Verdict::Done;
            }
            Seen::NoCluster { name } => {
                tracing::info!(machine = %key, cluster = name, "the Cluster of the Machine does not exist");
                return Verdict::Failed;
            }
            Seen::Unreadable(problem) => {
                tracing::info!(machine = %key, %problem, "nothing is decided about the Machine");
                return Verdict::Failed;
            }
            Seen::Machine(observed, workload) => (observed, workload),
        };
        let (observed, workload) = seen;
        let decision = decide(&observed);
        self.act(key, &observed, &workload, decision).await
    }

    async fn act(&self, key: &ObjectKey, observed: &Observed, workload: &Workload, decision: Decision) -> Verdict {
        let Decision { plan, errand, status: _, quiet_about, problems } = decision;
        self.note_quiet(key, observed, quiet_about);
        tracing::debug!(machine = %key, effects = plan.effects.len(), waiting_on = ?plan.waiting_on, "decided");
        let place = Places { management: &self.shell.client, workload };
        let Carried { written, failure } = carry_out(&plan.effects, &place, &self.events).await;
        self.note_node_deletion(key, observed, &plan.effects, failure.as_ref());
        let is_seen = self.wait_for(key, workload, written).await;
        problems
            .iter()
            .for_each(|problem| tracing::warn!(machine = %key, error = chain(problem), "not as it should be"));
        if let Some(failure) = failure {
            return failed(key, &failure);
        }
        if !is_seen {
            return Verdict::Again { after: CATCH_UP };
        }
        if let Some(errand) = errand {
            self.run_errand(key, observed, workload, errand).await;
            return Verdict::Again { after: Duration::ZERO };
        }
        match (problems.is_empty(), plan.requeue_after) {
            (true, Some(after)) => Verdict::Again { after },
            (true, None) => Verdict::Done,
            (false, again) => {
                again.iter().for_each(|after| self.queue.add_after(key.clone(), *after));
                Verdict::Failed
            }
        }
    }

    /// Remembers since when the status is held back.
    fn note_quiet(&self, key: &ObjectKey, observed: &Observed, about: Option<Passing>) {
        if about != observed.quiet.map(|quiet| quiet.about) {
            let quiet = about.map(|about| Quiet { about, since: observed.now });
            self.memories.note(key, observed.machine.metadata.uid.as_ref(), |memory| memory.quiet = quiet);
        }
    }

    /// Remembers whether the Node could be deleted, if that was tried.
    fn note_node_deletion(&self, key: &ObjectKey, observed: &Observed, effects: &[Effect], failure: Option<&Failure>) {
        if effects.iter().any(is_node_deletion) {
            let failure = failure.filter(|failure| is_in_workload_cluster(&failure.target));
            let words = failure.map(|failure| failure.why.to_string());
            let uid = observed.machine.metadata.uid.as_ref();
            self.memories.note(key, uid, |memory| memory.node_deletion_error = words);
        }
    }

    /// Waits until both caches have seen what was written.
    async fn wait_for(&self, key: &ObjectKey, workload: &Workload, written: Vec<Written>) -> bool {
        let (of_node, own): (Vec<_>, Vec<_>) =
            written.into_iter().partition(|written| is_in_workload_cluster(written.target()));
        if let Some(Connected { nodes, .. }) = &workload.connected {
            for written in &of_node {
                // A Node that is not seen in time costs a refused patch, and no more.
                nodes.has_seen(written, SEEN_LIMIT).await;
            }
        }
        self.shell.wait_for(&self.unseen, key, own, SEEN_LIMIT).await
    }
}

/// What failed is decided about anew: at once when the cache brings what has changed, and after a delay otherwise.
fn failed(key: &ObjectKey, failure: &Failure) -> Verdict {
    match &failure.why {
        crate::act::Why::Stale { .. } => tracing::debug!(machine = %key, error = chain(failure), "decided too early"),
        crate::act::Why::Refused { .. } | crate::act::Why::Transient { .. } => {
            tracing::warn!(machine = %key, error = chain(failure), "not carried out");
        }
    }
    Verdict::Failed
}

/// Nodes are in the workload cluster, everything else is not.
struct Places<'a> {
    management: &'a Client,
    workload: &'a Workload,
}

impl Place for Places<'_> {
    fn client_for(&self, target: &Target) -> Result<Client, String> {
        if !is_in_workload_cluster(target) {
            return Ok(self.management.clone());
        }
        let client = self.workload.connected.as_ref().map(|Connected { client, .. }| client.clone());
        client.ok_or_else(|| "there is no connection to the workload cluster".to_owned())
    }
}

/// Whether the effect deletes a Node.
fn is_node_deletion(effect: &Effect) -> bool {
    matches!(effect, Effect::Delete(delete) if is_in_workload_cluster(&delete.target))
}
