//! What is counted, under the names that upstream's extensions have.

use std::sync::Arc;

use http::StatusCode;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use tokio::time::Instant;

use crate::Extension;

/// Upper bounds of the seconds that calls take, from the answer of an idle process to the longest timeout.
const SECONDS: [f64; 12] = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Path {
    webhook: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PathAndCode {
    webhook: String,
    code: u16,
}

pub(super) struct Metrics {
    registry: Registry,
    requests: Family<PathAndCode, Counter>,
    in_flight: Family<Path, Gauge>,
    latency: Family<Path, Histogram>,
}

/// A call that has begun.
pub(super) struct Call {
    path: String,
    begun: Instant,
    metrics: Arc<Metrics>,
}

impl Metrics {
    pub(super) fn new(extension: &Extension) -> Self {
        let mut registry = Registry::default();
        let requests = Family::default();
        let in_flight = Family::default();
        let latency = Family::new_with_constructor((|| Histogram::new(SECONDS)) as fn() -> Histogram);
        // The library adds `_total` to the name of a counter.
        registry.register("controller_runtime_webhook_requests", "Calls by path and HTTP status", requests.clone());
        registry.register(
            "controller_runtime_webhook_requests_in_flight",
            "Calls that are not answered yet",
            in_flight.clone(),
        );
        registry.register("controller_runtime_webhook_latency_seconds", "How long calls took", latency.clone());
        registry.register_collector(Box::new(Updates(extension.clone())));
        Self { registry, requests, in_flight, latency }
    }

    /// Counts a call of a path that has a handler. Others are not counted: anybody can make up paths.
    pub(super) fn begin(self: &Arc<Self>, extension: &Extension, path: &str) -> Option<Call> {
        extension.hook_at(path)?;
        self.in_flight.get_or_create(&Path { webhook: path.to_owned() }).inc();
        Some(Call { path: path.to_owned(), begun: Instant::now(), metrics: Arc::clone(self) })
    }

    /// All of it in the text format of Prometheus.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        encode(&mut text, &self.registry).expect("a String must take text");
        text
    }
}

impl Call {
    pub(super) fn end(self, status: StatusCode) {
        let labels = PathAndCode { webhook: self.path.clone(), code: status.as_u16() };
        self.metrics.requests.get_or_create(&labels).inc();
        let path = Path { webhook: self.path.clone() };
        self.metrics.latency.get_or_create(&path).observe(self.begun.elapsed().as_secs_f64());
    }
}

/// Also for a call whose caller went away.
impl Drop for Call {
    fn drop(&mut self) {
        self.metrics.in_flight.get_or_create(&Path { webhook: self.path.clone() }).dec();
    }
}

/// The updates that run, asked for when somebody wants to know.
#[derive(Debug)]
struct Updates(Extension);

impl Collector for Updates {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let running = ConstGauge::new(i64::try_from(self.0.running_updates()).unwrap_or(i64::MAX));
        let name = "refit_extension_running_updates";
        let metric = encoder.encode_descriptor(name, "Machines that are being updated", None, running.metric_type())?;
        running.encode(metric)
    }
}
