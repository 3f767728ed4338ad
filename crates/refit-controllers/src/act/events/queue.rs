//! Events that wait to be written.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::registry::Registry;
use refit_plan::effect::Event;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::{Writer, Writing};
use crate::chance::Chance;
use crate::clock::Clock;

/// How many write at a time. Events about one object are written by one of them, in their order.
const WRITERS: usize = 8;
/// How many events may wait for one writer. All of them together are what a few thousand machines tell in one go.
pub const MAX_WAITING: usize = 512;

/// Events that wait to be written. Clones are the same. The writers end with the last of them.
#[derive(Clone)]
pub struct EventQueue {
    shared: Arc<Shared>,
}

struct Shared {
    writers: Vec<mpsc::Sender<(&'static str, Event)>>,
    /// How many are neither written nor given up.
    pending: watch::Sender<usize>,
    metrics: EventMetrics,
    _tasks: JoinSet<()>,
}

/// What is counted of events.
#[derive(Debug, Clone, Default)]
pub struct EventMetrics {
    dropped: Counter,
    failed: Counter,
}

impl EventMetrics {
    /// Shows the metrics where this registry is shown. The encoder appends `_total` to counters.
    pub fn register(&self, registry: &mut Registry) {
        registry.register("refit_events_dropped", "Events for which there was no place", self.dropped.clone());
        registry.register("refit_events_failed", "Events that could not be written", self.failed.clone());
    }
}

impl EventQueue {
    /// Begins to write. `instance` is the name of this process. Must be called inside a tokio runtime.
    pub fn start(client: Client, instance: String, clock: Clock, chance: Chance) -> Self {
        let writing = Arc::new(Writing { client, instance, clock, chance });
        let (pending, metrics) = (watch::Sender::new(0), EventMetrics::default());
        let (mut tasks, mut writers) = (JoinSet::new(), Vec::new());
        for _ in 0..WRITERS {
            let (sender, events) = mpsc::channel(MAX_WAITING);
            tasks.spawn(write_all(Writer::new(Arc::clone(&writing)), events, pending.clone(), metrics.clone()));
            writers.push(sender);
        }
        Self { shared: Arc::new(Shared { writers, pending, metrics, _tasks: tasks }) }
    }

    /// What is counted.
    pub fn metrics(&self) -> EventMetrics {
        self.shared.metrics.clone()
    }

    /// Has the event written. Never waits.
    pub(super) fn add(&self, component: &'static str, event: Event) {
        let Shared { writers, pending, metrics, .. } = &*self.shared;
        let mut hasher = DefaultHasher::new();
        event.about.name.hash(&mut hasher);
        let writer = &writers[(hasher.finish() % WRITERS as u64) as usize];
        pending.send_modify(|count| *count += 1);
        if writer.try_send((component, event)).is_err() {
            pending.send_modify(|count| *count -= 1);
            metrics.dropped.inc();
        }
    }

    /// Waits until everything is written or given up, at most for `limit`. Whether it is.
    pub async fn drain(&self, limit: Duration) -> bool {
        let mut pending = self.shared.pending.subscribe();
        matches!(timeout(limit, pending.wait_for(|count| *count == 0)).await, Ok(Ok(_)))
    }
}

async fn write_all(
    mut writer: Writer,
    mut events: mpsc::Receiver<(&'static str, Event)>,
    pending: watch::Sender<usize>,
    metrics: EventMetrics,
) {
    while let Some((component, event)) = events.recv().await {
        if !writer.write(component, &event).await {
            metrics.failed.inc();
        }
        pending.send_modify(|count| *count -= 1);
    }
}

#[cfg(test)]
mod tests {
    use refit_plan::effect::Target;
    use tower::BoxError;

    use super::*;

    fn event(name: &str) -> Event {
        let target = Target {
            api_version: "v1".to_owned(),
            kind: "Node".to_owned(),
            namespace: None,
            name: name.to_owned(),
            uid: None,
        };
        Event::warning(target, "Why", "words")
    }

    fn queue<F>(answer: impl Fn() -> F + Clone + Send + 'static) -> EventQueue
    where
        F: Future<Output = Result<http::Response<kube::client::Body>, BoxError>> + Send + 'static,
    {
        let service = tower::service_fn(move |_: http::Request<kube::client::Body>| answer());
        let clock = Clock::beginning(jiff::Timestamp::UNIX_EPOCH);
        EventQueue::start(Client::new(service, "default"), "i".to_owned(), clock, Chance::from_seed(1))
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_does_not_answer_holds_up_nobody_and_costs_what_finds_no_place() {
        let queue = queue(std::future::pending);
        let began = tokio::time::Instant::now();
        // One may be in the writer's hands.
        for _ in 0..MAX_WAITING + 10 {
            queue.add("test", event("n"));
        }
        assert_eq!(began.elapsed(), Duration::ZERO);
        assert!((9..=10).contains(&queue.metrics().dropped.get()), "{}", queue.metrics().dropped.get());
        assert!(!queue.drain(Duration::from_secs(1)).await);
        assert!(queue.drain(Duration::from_secs(24 * 3600)).await, "each is given up in the end");
        assert!(queue.metrics().failed.get() >= MAX_WAITING as u64);
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_told_is_written_before_the_end() {
        let queue = queue(|| async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            Ok(http::Response::new(kube::client::Body::from(b"{\"metadata\":{}}".to_vec())))
        });
        for number in 0..20 {
            queue.add("test", event(&format!("n{number}")));
        }
        assert!(queue.drain(Duration::from_secs(60)).await);
        assert_eq!((queue.metrics().dropped.get(), queue.metrics().failed.get()), (0, 0));
    }
}
