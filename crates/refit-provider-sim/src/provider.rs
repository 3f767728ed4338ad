//! The provider at work: one watch per kind, one queue, one loop.
//!
//! kube's `Controller` is not used: its order follows from hashes, it has no pause per object, and one per kind would
//! hold three caches of Machines and Clusters. Here each kind is watched once, whatever the number of its objects, and
//! no object has a task or a timer of its own.

mod cache;
mod objects;
mod queue;
mod reconcile;
mod secrets;
mod watches;
mod world;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures::stream::{FuturesUnordered, StreamExt};
use kube::Client;
use refit_apiserver::api::Clock;
use tokio::time::{Instant, sleep_until};

use crate::hosts::SimHosts;
use crate::kubelet::Kubelets;
use crate::nodes::Nodes;
use crate::workload::Workloads;
use objects::Objects;
use queue::{Queue, Verdict};
use reconcile::{ReconcileError, Reconciler};
use world::Key;
pub(crate) use world::World;

/// How many objects are worked on at a time. Each holds one request; more than this only wait at the server.
const CONCURRENCY: usize = 32;

/// Simulated machines and workload clusters, for the objects of one management cluster.
pub struct Provider {
    reconciler: Reconciler,
}

impl Provider {
    /// A provider for the objects that the client sees. Nothing happens until it runs.
    ///
    /// The clock tells the time of day; it should go with tokio's, by which the provider sleeps.
    pub fn new(client: Client, workloads: Workloads, clock: Clock) -> Self {
        let nodes = Nodes::new(workloads.clone());
        let reconciler = Reconciler { objects: Objects { client }, workloads, nodes, clock, world: Arc::default() };
        Self { reconciler }
    }

    /// The hosts, for update extensions. They work whether or not the provider runs.
    pub fn hosts(&self) -> SimHosts {
        let Reconciler { objects, nodes, clock, world, .. } = &self.reconciler;
        SimHosts::new(objects.client.clone(), nodes.clone(), clock.clone(), Arc::clone(world))
    }

    /// Works until `end` is ready. What is on its way then is given up; the next run goes on from what was written.
    pub async fn run(self, end: impl Future<Output = ()>) {
        let Self { reconciler } = self;
        let mut events = watches::all(&reconciler.objects.client);
        let (mut queue, mut running) = (Queue::default(), FuturesUnordered::new());
        let mut kubelets = Kubelets::new(reconciler.workloads.clone(), reconciler.clock.clone());
        tokio::pin!(end);
        loop {
            let is_complete = reconciler.world().is_complete();
            while is_complete && running.len() < CONCURRENCY {
                let Some(key) = queue.take(Instant::now()) else { break };
                running.push(look(reconciler.clone(), key));
            }
            let due = queue.next_due().filter(|_| is_complete && running.len() < CONCURRENCY);
            tokio::select! {
                biased;
                () = &mut end => return,
                Some((key, verdict)) = running.next() => {
                    if let Key::Cluster(name) = &key {
                        kubelets.follow(name, reconciler.served(name).as_deref());
                    }
                    queue.finish(key, verdict, Instant::now());
                }
                Some(seen) = events.next() => {
                    let concerned = reconciler.world().see(seen);
                    concerned.into_iter().for_each(|key| queue.add(key));
                }
                () = until(due) => {}
            }
        }
    }
}

async fn look(reconciler: Reconciler, key: Key) -> (Key, Verdict) {
    let verdict = match reconciler.reconcile(&key).await {
        Ok(None) => Verdict::Done,
        Ok(Some(time)) => {
            let pause = Duration::try_from(time.duration_since((reconciler.clock)())).unwrap_or_default();
            Verdict::After(pause)
        }
        Err(error) => {
            say(&key, &error);
            Verdict::Failed
        }
    };
    (key, verdict)
}

fn say(key: &Key, error: &ReconcileError) {
    if error.is_conflict() {
        tracing::debug!(?key, %error, "somebody else was faster");
    } else {
        tracing::warn!(?key, %error, "an object could not be brought further");
    }
}

async fn until(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => std::future::pending().await,
    }
}
