//! Brings MachineSets to what they should be: observes, asks [`decide`], and carries out what it says.

mod memory;
mod observe;
mod record;
mod watch;

use std::collections::BTreeMap;
use std::time::Duration;

use futures::StreamExt;
use futures::stream;
use refit_api::cluster::MachineSet;
use refit_api::vocabulary::events::components;
use refit_plan::machine_set::reconcile::{Decision, Observed, Task, decide};
use refit_plan::machine_set::start_move::{Rehearsal, Rehearsed, handover_of};
use tokio::time::Instant;

use crate::act::{Carried, EventRecorder, carry_out, rehearse};
use crate::cache::ObjectKey;
use crate::context::Context;
use crate::controller::{Controller, NoCluster, Pass};
use crate::queue::Queue;
use memory::Memories;
pub(crate) use watch::is_only_status;

/// How many tasks of one MachineSet are carried out at a time. They do not depend on each other.
const TASKS_AT_A_TIME: usize = 32;

/// How often one observation is decided about: once, with the answers of extensions, with a dry run of one of several machines
/// that are alike, and with those of the others where it was refused.
const ROUNDS: usize = 4;

/// The controller of MachineSets.
pub struct MachineSets {
    context: Context,
    events: EventRecorder,
    memories: Memories,
}

impl MachineSets {
    /// Subscribes to everything that the decision looks at.
    pub fn new(context: Context, queue: &Queue<ObjectKey>) -> Self {
        watch::watch(&context.cache, queue);
        let events = context.recorder(components::MACHINE_SET);
        Self { context, events, memories: Memories::default() }
    }

    /// Fetches what the decision asks for and decides again, until it asks for nothing more.
    async fn answer(
        &self,
        key: &ObjectKey,
        observed: &mut Observed,
        mut decision: Decision,
        pass: &mut Pass,
    ) -> Decision {
        for _ in 1..ROUNDS {
            if decision.ask {
                observe::ask(&self.context, observed).await;
            } else if !decision.rehearse.is_empty() {
                let made = self.rehearse(key, std::mem::take(&mut decision.rehearse), pass).await;
                self.memories.rehearsed(key, &made);
                observed.move_target.iter_mut().for_each(|target| target.rehearsed.extend(made.clone()));
            } else {
                break;
            }
            decision = decide(observed);
        }
        decision
    }

    /// Makes dry runs. One that came to nothing is to be made again.
    async fn rehearse(
        &self,
        key: &ObjectKey,
        rehearsals: BTreeMap<String, Rehearsal>,
        pass: &mut Pass,
    ) -> BTreeMap<String, Rehearsed> {
        let client = &self.context.client;
        let made =
            rehearsals.into_iter().map(async |(machine, rehearsal)| (machine, rehearse(client, rehearsal).await));
        let made: Vec<_> = stream::iter(made).buffer_unordered(TASKS_AT_A_TIME).collect().await;
        let mut rehearsed = BTreeMap::new();
        for (machine, outcome) in made {
            match outcome {
                Ok(outcome) => drop(rehearsed.insert(machine, outcome)),
                Err(failure) => pass.problem(key, &failure),
            }
        }
        rehearsed
    }

    /// Whether the MachineSet still has the orders that were decided about. Dry runs and extensions take their time, and meanwhile
    /// it may have been told to stand still.
    fn is_in_force(&self, set: &MachineSet, key: &ObjectKey) -> bool {
        let orders = |set: &MachineSet| (handover_of(set), set.spec.replicas, set.metadata.deletion_timestamp.clone());
        let now = self.context.cache.machine_sets.get(key);
        now.is_some_and(|now| now.metadata.uid == set.metadata.uid && orders(&now) == orders(set))
    }

    async fn carry_out(&self, key: &ObjectKey, decision: &Decision, pass: &mut Pass) {
        let run = async |task: &Task| carry_out(&task.effects, &self.context.client, &self.events).await;
        let tasks: Vec<Carried> =
            stream::iter(decision.tasks.iter().map(run)).buffer_unordered(TASKS_AT_A_TIME).collect().await;
        tasks.into_iter().for_each(|carried| pass.carried(key, carried));
        pass.carried(key, carry_out(&decision.report, &self.context.client, &self.events).await);
    }
}

impl Controller for MachineSets {
    const NAME: &'static str = components::MACHINE_SET;

    async fn pass(&self, key: &ObjectKey) -> Pass {
        let mut pass = Pass::default();
        let set = match self.context.cache.machine_sets.read(key) {
            Ok(Some(set)) => set,
            Ok(None) => {
                self.memories.forget(key);
                self.context.reasons.forget_set(key);
                return pass;
            }
            Err(problem) => {
                pass.problem(key, &problem);
                return pass;
            }
        };
        let began = Instant::now();
        let memory = self.memories.get(key);
        let Some(mut observed) = observe::observe(&self.context, &set, &memory).await else {
            pass.problem(key, &NoCluster { name: set.spec.cluster_name.clone() });
            self.context.reasons.note_set(&set, pass.reasons());
            return pass;
        };
        drop(memory);
        let first = decide(&observed);
        pass.looked(began.elapsed());
        let decision = self.answer(key, &mut observed, first, &mut pass).await;
        tracing::debug!(machine_set = %key, tasks = decision.tasks.len(), waiting_on = ?decision.waiting_on, "decided");
        if decision.adopts && !pass.stays(key, self.context.stays(&*set).await) {
            return pass;
        }
        if !self.is_in_force(&set, key) {
            pass.again(Some(Duration::ZERO));
            return pass;
        }
        if !record::deletions(&self.context, &self.events, &observed, &decision, key, &mut pass).await {
            self.context.reasons.note_set(&set, &[&decision.waiting_on, pass.reasons()].concat());
            return pass;
        }
        self.carry_out(key, &decision, &mut pass).await;
        self.memories.synced(key, &observed, &decision.synced);
        decision.problems.iter().for_each(|problem| pass.problem(key, problem));
        self.context.reasons.note_set(&set, &[&decision.waiting_on, pass.reasons()].concat());
        pass.again(decision.requeue_after);
        pass
    }
}
