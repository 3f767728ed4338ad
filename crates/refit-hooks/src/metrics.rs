//! What is counted of calls, under upstream's names.

use std::time::Duration;

use http::StatusCode;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use refit_api::hooks::{GROUP, Hook, ResponseStatus, VERSION};

/// The upper bounds of the histogram's buckets, in seconds.
const BUCKETS: [f64; 23] = [
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0,
    45.0, 60.0,
];
/// The code of a call that got no answer.
const NO_ANSWER: &str = "<error>";
/// The status of an answer that has none.
const NO_STATUS: &str = "Unknown";
/// The status of an answer with one that does not exist. Shown as such: an extension could send a new one each time,
/// and each would stay in memory.
const OTHER_STATUS: &str = "Other";

/// Counts calls and how long they take: `capi_runtime_sdk_requests_total` and `capi_runtime_sdk_request_duration_seconds`.
#[derive(Debug, Clone)]
pub struct HookMetrics {
    requests: Family<RequestLabels, Counter>,
    durations: Family<DurationLabels, Histogram>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    code: String,
    host: String,
    group: &'static str,
    version: &'static str,
    hook: &'static str,
    status: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DurationLabels {
    host: String,
    group: &'static str,
    version: &'static str,
    hook: &'static str,
}

impl Default for HookMetrics {
    fn default() -> Self {
        let durations = Family::new_with_constructor((|| Histogram::new(BUCKETS)) as fn() -> Histogram);
        Self { requests: Family::default(), durations }
    }
}

impl HookMetrics {
    /// Shows the metrics where this registry is shown.
    pub fn register(&self, registry: &mut Registry) {
        let help = "Number of HTTP requests, partitioned by status code, host, hook and response status";
        // The encoder appends `_total`.
        registry.register("capi_runtime_sdk_requests", help, self.requests.clone());
        let help = "Request duration in seconds, broken down by hook and host";
        registry.register("capi_runtime_sdk_request_duration_seconds", help, self.durations.clone());
    }

    pub(crate) fn observe(
        &self,
        hook: Hook,
        host: &str,
        code: Option<StatusCode>,
        status: Option<&ResponseStatus>,
        took: Duration,
    ) {
        let (host, group, version, hook) = (host.to_owned(), GROUP, VERSION, hook.name());
        let labels = DurationLabels { host: host.clone(), group, version, hook };
        self.durations.get_or_create(&labels).observe(took.as_secs_f64());
        let code = code.map_or_else(|| NO_ANSWER.to_owned(), |code| code.as_u16().to_string());
        let labels = RequestLabels { code, host, group, version, hook, status: status_label(status) };
        self.requests.get_or_create(&labels).inc();
    }
}

fn status_label(status: Option<&ResponseStatus>) -> &'static str {
    match status {
        Some(ResponseStatus::Success) => "Success",
        Some(ResponseStatus::Failure) => "Failure",
        Some(ResponseStatus::Unknown(text)) if !text.is_empty() => OTHER_STATUS,
        Some(ResponseStatus::Unknown(_)) | None => NO_STATUS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_have_upstreams_names_and_labels() {
        let metrics = HookMetrics::default();
        let mut registry = Registry::default();
        metrics.register(&mut registry);
        let observe = |code, status: Option<&ResponseStatus>| {
            metrics.observe(Hook::UpdateMachine, "ext:443", code, status, Duration::from_millis(30));
        };
        observe(Some(StatusCode::OK), Some(&ResponseStatus::Success));
        observe(None, None);
        let made_up = ["1", "2"].map(|status| ResponseStatus::Unknown(status.to_owned()));
        made_up.iter().for_each(|status| observe(Some(StatusCode::OK), Some(status)));
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).expect("metrics must encode");
        let place =
            "host=\"ext:443\",group=\"hooks.runtime.cluster.x-k8s.io\",version=\"v1alpha1\",hook=\"UpdateMachine\"";
        for line in [
            format!("capi_runtime_sdk_requests_total{{code=\"200\",{place},status=\"Success\"}} 1"),
            format!("capi_runtime_sdk_requests_total{{code=\"<error>\",{place},status=\"Unknown\"}} 1"),
            format!("capi_runtime_sdk_requests_total{{code=\"200\",{place},status=\"Other\"}} 2"),
            format!("capi_runtime_sdk_request_duration_seconds_bucket{{le=\"0.025\",{place}}} 0"),
            format!("capi_runtime_sdk_request_duration_seconds_bucket{{le=\"0.05\",{place}}} 4"),
            format!("capi_runtime_sdk_request_duration_seconds_count{{{place}}} 4"),
        ] {
            assert!(text.contains(&line), "{line}\n{text}");
        }
    }
}
