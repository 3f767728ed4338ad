//! What is counted of requests, shown at `/metrics`. No label has more values than an administrator makes kinds.

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use http::{Method, StatusCode};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::request::{Path, Query, Verb};
use crate::resource::Catalog;
use crate::store::{Condition, Store};

/// Where they are shown.
pub(crate) const PATH: &str = "/metrics";
/// The upper bounds of the histogram's buckets, in seconds.
const BUCKETS: [f64; 12] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 60.0];
/// What stands for a resource that the server's own cluster does not serve.
const OTHER: &str = "other";

/// The metrics of one server.
pub struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    durations: Family<VerbLabels, Histogram>,
    store_version: Gauge<u64, AtomicU64>,
    store_working: Gauge,
    pub(crate) audit_dropped: Counter,
    turned_away: Family<ReasonLabels, Counter>,
    /// Connections that are open.
    pub(crate) connections: Gauge,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    verb: &'static str,
    group: String,
    resource: String,
    code: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct VerbLabels {
    verb: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReasonLabels {
    reason: &'static str,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::default();
        let requests = Family::default();
        let durations = Family::new_with_constructor((|| Histogram::new(BUCKETS)) as fn() -> Histogram);
        let (store_version, store_working, connections) = (Gauge::default(), Gauge::default(), Gauge::default());
        let (audit_dropped, turned_away) = (Counter::default(), Family::default());
        registry.register(
            "apiserver_request",
            "Requests that were answered, by verb, resource and code",
            Family::clone(&requests),
        );
        registry.register(
            "apiserver_request_duration_seconds",
            "Time until the answer began, watches aside",
            Family::clone(&durations),
        );
        registry.register("refit_apiserver_store_version", "The latest version of the store", store_version.clone());
        registry.register("refit_apiserver_store_working", "1 while writes succeed", Gauge::clone(&store_working));
        registry.register("refit_apiserver_connections", "Connections that are open", Gauge::clone(&connections));
        registry.register(
            "refit_apiserver_turned_away",
            "Requests and connections beyond a bound, by the bound",
            Family::clone(&turned_away),
        );
        registry.register(
            "refit_apiserver_audit_dropped",
            "Lines that the audit log had no room for",
            Counter::clone(&audit_dropped),
        );
        Self { registry, requests, durations, store_version, store_working, audit_dropped, turned_away, connections }
    }
}

impl Metrics {
    /// Counts a request that was answered.
    pub(crate) fn observe(&self, asked: &About<'_>, catalog: &Catalog, code: StatusCode, took: Duration) {
        let verb = asked.verb();
        let (group, resource) = asked.resource(catalog);
        self.requests.get_or_create(&RequestLabels { verb, group, resource, code: code.as_u16() }).inc();
        if verb != "WATCH" {
            self.durations.get_or_create(&VerbLabels { verb }).observe(took.as_secs_f64());
        }
    }

    /// Counts somebody who was turned away, by the bound that was reached.
    pub(crate) fn turn_away(&self, reason: &'static str) {
        self.turned_away.get_or_create(&ReasonLabels { reason }).inc();
    }

    /// All metrics as text.
    pub(crate) fn text(&self, store: &Store) -> String {
        self.store_version.set(store.revision().0);
        self.store_working.set(i64::from(store.condition() == Condition::Working));
        let mut text = String::new();
        // Writing to a text cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

/// What a request is about, in as far as it is counted.
pub(crate) struct About<'a> {
    pub(crate) method: &'a Method,
    pub(crate) path: &'a Path,
    pub(crate) query: &'a Query,
}

impl About<'_> {
    /// As kube-apiserver names it.
    fn verb(&self) -> &'static str {
        let Path::Resource(path) = self.path else {
            return if matches!(*self.method, Method::GET | Method::HEAD) { "GET" } else { "OTHER" };
        };
        match Verb::of(self.method, path, self.query) {
            Some(Verb::Get) => "GET",
            Some(Verb::List) => "LIST",
            Some(Verb::Watch) => "WATCH",
            Some(Verb::Create) => "POST",
            Some(Verb::Update) => "PUT",
            Some(Verb::Patch) => "PATCH",
            Some(Verb::Delete) => "DELETE",
            Some(Verb::DeleteCollection) => "DELETECOLLECTION",
            None => "OTHER",
        }
    }

    fn resource(&self, catalog: &Catalog) -> (String, String) {
        match self.path {
            Path::Resource(path) if catalog.find(&path.group, &path.version, &path.plural).is_some() => {
                (path.group.clone(), path.plural.clone())
            }
            Path::Resource(_) => (OTHER.to_owned(), OTHER.to_owned()),
            Path::Other(_) => (String::new(), String::new()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_by_what_is_served() {
        let metrics = Metrics::default();
        let catalog = Catalog::new([]);
        let query = Query::default();
        for path in ["/api/v1/configmaps", "/api/v1/configmaps", "/apis/made-up/v1/a", "/apis/made-up/v1/b", "/livez"] {
            let asked = About { method: &Method::GET, path: &Path::parse(path), query: &query };
            metrics.observe(&asked, &catalog, StatusCode::OK, Duration::from_millis(3));
        }
        let text = metrics.text(&Store::in_memory());
        for line in [
            "apiserver_request_total{verb=\"LIST\",group=\"\",resource=\"configmaps\",code=\"200\"} 2",
            "apiserver_request_total{verb=\"LIST\",group=\"other\",resource=\"other\",code=\"200\"} 2",
            "apiserver_request_total{verb=\"GET\",group=\"\",resource=\"\",code=\"200\"} 1",
            "apiserver_request_duration_seconds_count{verb=\"LIST\"} 4",
            "refit_apiserver_store_working 1",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
        }
    }
}
