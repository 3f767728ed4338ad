//! A queue of keys to look at: first come, first served, each once, none in two workers at a time.
//!
//! A key that is added while it is worked on is worked on once more afterwards. One that failed comes back after a
//! delay that doubles with each failure; whatever asks for it sooner wins. One whose work was dear
//! [rests](Queue::rest), so that what is heard of it meanwhile becomes one turn.

mod backoff;
mod metrics;
mod schedule;
#[cfg(test)]
mod tests;

use std::future::Future;
use std::num::NonZeroUsize;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

pub use backoff::Backoff;
pub use metrics::QueueMetrics;
use metrics::Recorder;
use schedule::Schedule;

use crate::chance::Chance;
use crate::heart::{BEAT_EVERY, Heart};

/// What a key is: ordered, so that nothing depends on hashes, and cheap to copy.
pub trait Key: Ord + Clone + Send + 'static {}

impl<K: Ord + Clone + Send + 'static> Key for K {}

/// What came of working on a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a verdict that nobody reads loses the key"]
pub enum Verdict {
    /// Nothing more to do until it is added again. Its failures are forgotten.
    Done,
    /// To be looked at again after this time. Its failures are forgotten.
    Again { after: Duration },
    /// To be tried again, after a delay that grows with each failure in a row.
    Failed,
}

/// A queue of keys. Clones are the same queue.
pub struct Queue<K> {
    shared: Arc<Shared<K>>,
}

struct Shared<K> {
    state: Mutex<State<K>>,
    /// Something was added, or the queue was closed.
    wake: Notify,
    backoff: Backoff,
    chance: Chance,
    recorder: Recorder,
    name: &'static str,
    /// Of the loop that runs the queue. It takes the queue's lock on each round.
    heart: Heart,
}

struct State<K> {
    schedule: Schedule<K>,
    is_closed: bool,
}

impl<K> Clone for Queue<K> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<K: Key> Queue<K> {
    /// An empty queue, shown in the metrics under `name`.
    pub fn new(name: &'static str, backoff: Backoff, chance: Chance, metrics: &QueueMetrics) -> Self {
        let state = Mutex::new(State { schedule: Schedule::default(), is_closed: false });
        let (wake, recorder, heart) = (Notify::new(), metrics.recorder(name), Heart::default());
        Self { shared: Arc::new(Shared { state, wake, backoff, chance, recorder, name, heart }) }
    }

    /// Asks for the key to be looked at, as soon as it is its turn.
    pub fn add(&self, key: K) {
        self.change(|schedule, now| schedule.add(key, now));
    }

    /// Asks for the key to be looked at after `delay`, unless somebody asks for it sooner.
    pub fn add_after(&self, key: K, delay: Duration) {
        self.change(|schedule, now| schedule.add_at(key, later(now, delay), now));
    }

    /// Lets the key have no turn for this time, whoever asks for it. What is asked for meanwhile becomes one turn.
    pub fn rest(&self, key: K, time: Duration) {
        if !time.is_zero() {
            self.state().schedule.rest(key, later(Instant::now(), time));
        }
    }

    /// Gives all keys a turn that wait for their time. To be called when the time of day has changed, by which such times
    /// were computed.
    pub fn hurry(&self) {
        let mut state = self.state();
        let added = state.schedule.hurry(Instant::now());
        self.shared.recorder.added(added);
        drop(state);
        self.shared.wake.notify_one();
    }

    /// How many keys wait for their turn; not those that wait for their time.
    pub fn depth(&self) -> usize {
        self.state().schedule.depth()
    }

    /// Why the queue does not move, if it is stuck. Never waits for the queue itself.
    pub fn check(&self) -> Result<(), String> {
        let Shared { heart, name, .. } = &*self.shared;
        let stuck = |time: Duration| Err(format!("the queue {name} has not moved for {}s", time.as_secs()));
        heart.stuck_for().map_or(Ok(()), stuck)
    }

    /// Begins nothing more. [`run`](Self::run) ends when what is being worked on is done.
    pub fn close(&self) {
        self.state().is_closed = true;
        self.shared.wake.notify_one();
    }

    /// Works on keys, at most `concurrency` at a time, until the queue is closed. Only one may run a queue.
    ///
    /// Work that panics counts as failed.
    pub async fn run<W, F>(&self, concurrency: NonZeroUsize, work: W)
    where
        W: Fn(K) -> F,
        F: Future<Output = Verdict> + Send + 'static,
    {
        let (mut running, beating) = (JoinSet::new(), self.shared.heart.start());
        loop {
            beating.beat();
            let due = self.begin(&mut running, concurrency, &work);
            if self.state().is_closed && running.is_empty() {
                return;
            }
            tokio::select! {
                biased;
                Some(_) = running.join_next() => {}
                () = self.shared.wake.notified() => {}
                () = until(due), if running.len() < concurrency.get() => {}
                () = sleep(BEAT_EVERY) => {}
            }
        }
    }

    /// Begins all work that may begin. Gives the time when there may be more.
    fn begin<W, F>(&self, running: &mut JoinSet<()>, concurrency: NonZeroUsize, work: &W) -> Option<Instant>
    where
        W: Fn(K) -> F,
        F: Future<Output = Verdict> + Send + 'static,
    {
        while running.len() < concurrency.get() {
            let Some(key) = self.take() else { break };
            let (queue, work) = (self.clone(), work(key.clone()));
            running.spawn(async move {
                let began = Instant::now();
                let verdict = AssertUnwindSafe(work).catch_unwind().await.unwrap_or(Verdict::Failed);
                queue.finish(&key, verdict, began);
            });
        }
        let state = self.state();
        state.schedule.next_due().filter(|_| !state.is_closed)
    }

    fn take(&self) -> Option<K> {
        let mut state = self.state();
        if state.is_closed {
            return None;
        }
        let now = Instant::now();
        let promoted = state.schedule.promote(now);
        self.shared.recorder.added(promoted);
        let (key, since) = state.schedule.take()?;
        self.shared.recorder.began(now.duration_since(since), state.schedule.depth());
        Some(key)
    }

    fn finish(&self, key: &K, verdict: Verdict, began: Instant) {
        let now = Instant::now();
        self.shared.recorder.ended(now.duration_since(began), verdict);
        let mut state = self.state();
        let again = match verdict {
            Verdict::Done => None,
            Verdict::Again { after } => Some(after),
            Verdict::Failed => Some(self.shared.backoff.delay(state.schedule.failures(key), &self.shared.chance)),
        };
        let again = again.map(|delay| later(now, delay));
        let is_added = state.schedule.finish(key, verdict == Verdict::Failed, again, now);
        self.note(&state, is_added);
    }

    fn change(&self, change: impl FnOnce(&mut Schedule<K>, Instant) -> bool) {
        let mut state = self.state();
        let is_added = change(&mut state.schedule, Instant::now());
        self.note(&state, is_added);
        drop(state);
        self.shared.wake.notify_one();
    }

    fn note(&self, state: &State<K>, is_added: bool) {
        self.shared.recorder.added(usize::from(is_added));
        self.shared.recorder.depth(state.schedule.depth());
    }

    fn state(&self) -> MutexGuard<'_, State<K>> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Delays beyond this are cut: tokio cannot count to the end of time.
const MAX_DELAY: Duration = Duration::from_secs(30 * 24 * 3600);

fn later(now: Instant, delay: Duration) -> Instant {
    now + delay.min(MAX_DELAY)
}

async fn until(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => std::future::pending().await,
    }
}
