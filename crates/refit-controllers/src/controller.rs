//! A controller: a queue of objects, and a pass over each that is due.
//!
//! No pass begins before the cache has seen what the last one about the same object has written.

use std::error::Error;
use std::future::Future;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use refit_hooks::chain;
use refit_plan::waiting::WaitingOn;

use crate::act::{Carried, Why};
use crate::cache::{Cache, ObjectKey, SEEN_LIMIT, Unseen, Written};
use crate::queue::{Queue, Verdict};
use crate::shell::StaysError;

/// How long an object rests after a pass, as a multiple of what it took to look at everything and to decide. So passes
/// over a large fleet take at most a fifth of a core, and what happens meanwhile is dealt with in one; an event that
/// comes alone is answered at once.
const REST: u32 = 4;
/// However long that took.
const LONGEST_REST: Duration = Duration::from_secs(1);

/// When to look again whether the cache has caught up.
const BEHIND: Duration = Duration::from_millis(100);

/// Brings objects of one kind to what they should be.
pub trait Controller: Send + Sync + 'static {
    /// What it is called in logs.
    const NAME: &'static str;

    /// Observes, decides and acts, once.
    fn pass(&self, key: &ObjectKey) -> impl Future<Output = Pass> + Send;
}

/// What came of a pass.
#[derive(Debug, Default)]
#[must_use = "what was written has to be waited for"]
pub struct Pass {
    written: Vec<Written>,
    failed: bool,
    again: Option<Duration>,
    looked: Duration,
    reasons: Vec<WaitingOn>,
}

/// How many of the problems of a pass people are told. The log has all of them.
const MAX_REASONS: usize = 10;

/// The Cluster that an object names is not there, or cannot be decoded: nothing can be decided about the object.
#[derive(Debug, thiserror::Error)]
#[error("Cluster {name} does not exist, or cannot be read")]
pub struct NoCluster {
    pub name: String,
}

impl Pass {
    /// Takes in what was carried out.
    pub fn carried(&mut self, about: &ObjectKey, carried: Carried) {
        self.written.extend(carried.written);
        let Some(failure) = carried.failure else { return };
        self.log(about, &failure);
        let what = failure.to_string();
        match failure.why {
            // It is decided again at once, from what is then.
            Why::Stale { .. } => {}
            Why::Refused { .. } => self.reason(WaitingOn::Refused { what }),
            Why::Transient { .. } => self.reason(WaitingOn::Other { what }),
        }
    }

    /// Something went wrong: the log says it, and the object comes back after a growing delay.
    pub fn problem(&mut self, about: &ObjectKey, problem: &(dyn Error + 'static)) {
        self.log(about, problem);
        self.reason(WaitingOn::Other { what: chain(problem) });
    }

    /// Whether an owner stays, by what the API server says of it. Where it does not, the cache is about to say so, too; where nobody
    /// knows, it is asked again.
    pub fn stays(&mut self, about: &ObjectKey, stays: Result<bool, StaysError>) -> bool {
        match stays {
            Ok(stays) => {
                self.again((!stays).then_some(BEHIND));
                stays
            }
            Err(error) => {
                self.problem(about, &error);
                false
            }
        }
    }

    /// What went wrong, for people.
    pub fn reasons(&self) -> &[WaitingOn] {
        &self.reasons
    }

    fn reason(&mut self, reason: WaitingOn) {
        if self.reasons.len() < MAX_REASONS && !self.reasons.contains(&reason) {
            self.reasons.push(reason);
        }
    }

    fn log(&mut self, about: &ObjectKey, problem: &(dyn Error + 'static)) {
        tracing::info!(object = %about, problem = chain(problem), "to be tried again");
        self.failed = true;
    }

    /// Asks for the next pass after this time, or sooner if somebody has asked for that.
    pub fn again(&mut self, after: Option<Duration>) {
        self.again = [self.again, after].into_iter().flatten().min();
    }

    /// Says how long it took to observe and to decide, without what is done about it.
    pub fn looked(&mut self, time: Duration) {
        self.looked = time;
    }

    fn rest(&self) -> Duration {
        self.looked.saturating_mul(REST).min(LONGEST_REST)
    }

    fn verdict(&self) -> Verdict {
        match (self.failed, self.again) {
            (true, _) => Verdict::Failed,
            (false, Some(after)) => Verdict::Again { after },
            (false, None) => Verdict::Done,
        }
    }
}

/// Works on the queue until it is closed.
pub async fn run<C: Controller>(controller: Arc<C>, cache: Cache, queue: Queue<ObjectKey>, concurrency: NonZeroUsize) {
    let worker = Worker { controller, cache, unseen: Arc::default(), queue: queue.clone() };
    let work = |key| {
        let worker = worker.clone();
        async move { worker.work(key).await }
    };
    queue.run(concurrency, work).await;
    tracing::debug!(controller = C::NAME, "ended");
}

struct Worker<C> {
    controller: Arc<C>,
    cache: Cache,
    unseen: Arc<Unseen<ObjectKey>>,
    queue: Queue<ObjectKey>,
}

impl<C> Clone for Worker<C> {
    fn clone(&self) -> Self {
        Self {
            controller: Arc::clone(&self.controller),
            cache: self.cache.clone(),
            unseen: Arc::clone(&self.unseen),
            queue: self.queue.clone(),
        }
    }
}

impl<C: Controller> Worker<C> {
    async fn work(&self, key: ObjectKey) -> Verdict {
        let behind = self.cache.has_seen(self.unseen.take(&key), SEEN_LIMIT).await;
        if !behind.is_empty() {
            self.unseen.put(key, behind);
            return Verdict::Again { after: BEHIND };
        }
        let pass = self.controller.pass(&key).await;
        let (verdict, rest) = (pass.verdict(), pass.rest());
        // What failed comes back after a growing delay, but not later than it would have without the failure.
        if let (Verdict::Failed, Some(after)) = (verdict, pass.again) {
            self.queue.add_after(key.clone(), after.max(BEHIND));
        }
        self.unseen.put(key.clone(), self.cache.has_seen(pass.written, SEEN_LIMIT).await);
        self.queue.rest(key, rest);
        verdict
    }
}
