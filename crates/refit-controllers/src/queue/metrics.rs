//! What is counted of queues and workers, under controller-runtime's names.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::Verdict;

/// From a microsecond to a quarter of an hour, in seconds.
const BUCKETS: [f64; 11] = [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 60.0, 300.0, 900.0];

/// The metrics of all queues of a process.
#[derive(Debug, Clone)]
pub struct QueueMetrics {
    depth: Family<QueueLabels, Gauge>,
    adds: Family<QueueLabels, Counter>,
    retries: Family<QueueLabels, Counter>,
    waiting: Family<QueueLabels, Histogram>,
    working: Family<QueueLabels, Histogram>,
    active: Family<ControllerLabels, Gauge>,
    results: Family<ResultLabels, Counter>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct QueueLabels {
    name: &'static str,
    controller: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ControllerLabels {
    controller: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResultLabels {
    controller: &'static str,
    result: &'static str,
}

impl Default for QueueMetrics {
    fn default() -> Self {
        let histogram = || Family::new_with_constructor((|| Histogram::new(BUCKETS)) as fn() -> Histogram);
        Self {
            depth: Family::default(),
            adds: Family::default(),
            retries: Family::default(),
            waiting: histogram(),
            working: histogram(),
            active: Family::default(),
            results: Family::default(),
        }
    }
}

impl QueueMetrics {
    /// Shows the metrics where this registry is shown. The encoder appends `_total` to counters.
    pub fn register(&self, registry: &mut Registry) {
        registry.register("workqueue_depth", "Keys that wait for their turn", self.depth.clone());
        registry.register("workqueue_adds", "Keys that were given a turn", self.adds.clone());
        registry.register("workqueue_retries", "Keys that failed and come back", self.retries.clone());
        let help = "How long a key waited for its turn";
        registry.register("workqueue_queue_duration_seconds", help, self.waiting.clone());
        registry.register("workqueue_work_duration_seconds", "How long a key was worked on", self.working.clone());
        registry.register("controller_runtime_active_workers", "Keys that are worked on", self.active.clone());
        registry.register("controller_runtime_reconcile", "What came of working on keys", self.results.clone());
    }

    pub(super) fn recorder(&self, name: &'static str) -> Recorder {
        let labels = QueueLabels { name, controller: name };
        Recorder {
            depth: self.depth.get_or_create_owned(&labels),
            adds: self.adds.get_or_create_owned(&labels),
            retries: self.retries.get_or_create_owned(&labels),
            waiting: self.waiting.get_or_create_owned(&labels),
            working: self.working.get_or_create_owned(&labels),
            active: self.active.get_or_create_owned(&ControllerLabels { controller: name }),
            results: self.results.clone(),
            name,
        }
    }
}

/// The metrics of one queue.
#[derive(Debug)]
pub(super) struct Recorder {
    depth: Gauge,
    adds: Counter,
    retries: Counter,
    waiting: Histogram,
    working: Histogram,
    active: Gauge,
    results: Family<ResultLabels, Counter>,
    name: &'static str,
}

impl Recorder {
    pub fn added(&self, count: usize) {
        self.adds.inc_by(count as u64);
    }

    pub fn depth(&self, depth: usize) {
        self.depth.set(i64::try_from(depth).unwrap_or(i64::MAX));
    }

    pub fn began(&self, waited: Duration, depth: usize) {
        self.waiting.observe(waited.as_secs_f64());
        self.active.inc();
        self.depth(depth);
    }

    pub fn ended(&self, took: Duration, verdict: Verdict) {
        self.working.observe(took.as_secs_f64());
        self.active.dec();
        let result = match verdict {
            Verdict::Done => "success",
            Verdict::Again { .. } => "requeue_after",
            Verdict::Failed => "error",
        };
        if verdict == Verdict::Failed {
            self.retries.inc();
        }
        self.results.get_or_create(&ResultLabels { controller: self.name, result }).inc();
    }
}
