//! When the certificates on a control-plane host expire.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use refit_api::vocabulary::{annotations::CERTIFICATES_EXPIRY, labels};
use serde_json::Value;

use super::draft::Draft;
use super::problem::Problem;

/// Takes the date from the Machine's annotation, or else from that of its bootstrap configuration.
pub(super) fn reconcile(draft: &mut Draft<'_>) {
    if !draft.has_label(labels::CONTROL_PLANE) {
        return;
    }
    let Some(text) = found(draft) else {
        draft.machine.status.certificates_expiry_date = None;
        return;
    };
    match text.parse::<Timestamp>() {
        Ok(time) => draft.machine.status.certificates_expiry_date = Some(Time(time)),
        Err(_) => draft.problems.push(Problem::Annotation {
            annotation: CERTIFICATES_EXPIRY,
            expected: "a time in RFC 3339",
            found: text,
        }),
    }
}

fn found(draft: &Draft<'_>) -> Option<String> {
    let own = draft.annotations().get(CERTIFICATES_EXPIRY).cloned();
    let of_bootstrap = || {
        let annotations = draft.seen.bootstrap.object()?.pointer("/metadata/annotations")?;
        annotations.get(CERTIFICATES_EXPIRY).and_then(Value::as_str).map(str::to_owned)
    };
    own.or_else(of_bootstrap)
}
