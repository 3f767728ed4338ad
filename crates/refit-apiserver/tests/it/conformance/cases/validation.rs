//! Facts 11 to 17: what the schema and its rules refuse, and what they change.

use serde_json::{Value, json};

use crate::conformance::definitions::{WIDGETS, widget};
use crate::conformance::script::{Case, case};

/// A case that creates one widget per spec, and then tries each as a change.
fn specs(name: &'static str, specs: &[Value]) -> Case {
    let mut case = case(name).post(WIDGETS, widget("base", json!({"fixed": "a"})));
    for (number, spec) in specs.iter().enumerate() {
        case = case.post(WIDGETS, widget(&format!("w{number}"), spec.clone()));
        case = case.merge(&format!("{WIDGETS}/base"), json!({"spec": spec}));
    }
    case
}

pub fn cases() -> Vec<Case> {
    vec![
        specs("17 types are checked", &[
            json!({"size": "one"}),
            json!({"size": 1.5}),
            json!({"size": true}),
            json!({"code": 1}),
            json!({"on": "true"}),
            json!({"tags": "a"}),
            json!({"tags": [1]}),
            json!({"params": {"a": 1}}),
            json!({"params": ["a"]}),
            json!({"items": [{"name": "a", "sub": "x"}]}),
            json!({"ratio": "1"}),
        ]),
        specs("11 errors of the schema suppress the rules", &[
            json!({"size": "one", "low": 2, "high": 1}),
            json!({"tier": "other", "low": 2, "high": 1}),
            json!({"code": "toolong", "low": 2, "high": 1}),
            json!({"numbers": [1, 2, 3, 4], "low": 2, "high": 1}),
            json!({"must": {"y": "a"}, "low": 2, "high": 1}),
        ]),
        specs("11 rules run after errors that do not block", &[
            json!({"size": 11, "low": 2, "high": 1}),
            json!({"code": "A", "low": 2, "high": 1}),
            json!({"numbers": [], "low": 2, "high": 1}),
            json!({"tags": ["a", "a"], "low": 2, "high": 1}),
            json!({"low": 2, "high": 1}),
            json!({"fixed": "b"}),
        ]),
        specs("11b limits quote what they count", &[
            json!({"size": -1}),
            json!({"size": 11}),
            json!({"small": 3_000_000_000_i64}),
            json!({"code": "A"}),
            json!({"code": "toolong"}),
            json!({"numbers": []}),
            json!({"numbers": [1, 2, 3, 4]}),
            json!({"must": {}}),
            json!({"tier": "other"}),
            json!({"tags": ["a", "b", "a"]}),
            json!({"ports": [{"port": 80}, {"port": 80, "protocol": "TCP"}]}),
            json!({"items": [{"name": "a"}, {"name": "a"}]}),
            json!({"items": [{"value": "a"}]}),
            json!({"limit": true}),
            json!({"limit": 1.5}),
            json!({"limit": "50%"}),
            json!({"limit": 5}),
            json!({"replicas": "x"}),
            json!({"replicas": -1}),
            json!({"replicas": 3_000_000_000_i64}),
            json!({"when": "yesterday"}),
            json!({"when": "2026-01-01T00:00:00Z"}),
        ]),
        specs("14 nulls are dropped, defaulted or kept", &[
            json!({"code": null}),
            json!({"tier": null}),
            json!({"note": null}),
            json!({"mood": null}),
            json!({"params": {"a": null}}),
            json!({"tags": [null]}),
            json!({"items": null}),
            json!({"items": [{"name": "a", "value": null}]}),
            json!({"any": {"a": null}}),
            json!({"template": null}),
        ]),
        specs("numbers keep their value", &[
            json!({"ratio": 1.0}),
            json!({"ratio": 1e3}),
            json!({"ratio": 0.1}),
            json!({"ratio": 1e21}),
            json!({"ratio": 1e-7}),
            json!({"size": 2.0}),
            json!({"any": {"big": 9_007_199_254_740_993_i64, "huge": 18_446_744_073_709_551_615_u64, "float": 1e300}}),
        ]),
        specs("15 an embedded object has a type and metadata", &[
            json!({"template": {}}),
            json!({"template": {"apiVersion": "v1", "kind": "X"}}),
            json!({"template": {"apiVersion": "v1", "kind": "X", "metadata": {"name": "a", "labels": {"a": "b"}, "nosuch": 1}}}),
            json!({"template": {"apiVersion": "v1", "kind": "X", "metadata": {"labels": {"a": 1}}}}),
            json!({"template": {"apiVersion": "v1", "kind": "X", "metadata": {"name": 1}}}),
            json!({"template": {"apiVersion": "v1", "kind": "X", "metadata": "text"}}),
            json!({"template": {"apiVersion": "a/b/c", "kind": "bad kind"}}),
            json!({"template": {"apiVersion": 1, "kind": ""}}),
            json!({"template": {"apiVersion": "v1", "kind": "X", "metadata": {"name": "Bad_Name", "finalizers": ["bad"]}}}),
            json!({"template": {"apiVersion": "v1", "kind": "X", "metadata": {"creationTimestamp": "never"}}}),
        ]),
        case("11a the status is judged through its own path")
            .post(WIDGETS, widget("a", json!({})))
            .merge(&format!("{WIDGETS}/a/status"), json!({"status": {"parts": {}}}))
            .merge(&format!("{WIDGETS}/a/status"), json!({"status": {"phase": 1}}))
            .merge(&format!("{WIDGETS}/a/status"), json!({"status": {"replicas": "x"}}))
            .merge(&format!("{WIDGETS}/a/status"), json!({"status": {"replicas": -1}}))
            .merge(&format!("{WIDGETS}/a/status"), json!({"status": {"selector": 1}}))
            .merge(&format!("{WIDGETS}/a/status"), json!({"status": {"conditions": [{"type": "a"}, {"type": "a"}]}}))
            .merge(&format!("{WIDGETS}/a/status"), json!({"status": {"conditions": [{"status": "a"}]}}))
            .merge(&format!("{WIDGETS}/a/status"), json!({"status": "text"})),
        case("15 metadata has its own rules")
            .post(WIDGETS, json!({"apiVersion": "conf.refit.dev/v1", "kind": "Widget", "metadata": {"name": "a", "nosuch": 1, "labels": null, "annotations": {}}}))
            .post(WIDGETS, json!({"apiVersion": "conf.refit.dev/v1", "kind": "Widget", "metadata": {"name": 1}}))
            .post(WIDGETS, json!({"apiVersion": "conf.refit.dev/v1", "kind": "Widget", "metadata": "text"}))
            .post(WIDGETS, json!({"apiVersion": "conf.refit.dev/v1", "kind": "Widget", "metadata": {"name": "b", "labels": {"a": 1}}}))
            .post(WIDGETS, json!({"apiVersion": "conf.refit.dev/v1", "kind": "Widget", "metadata": {"name": "b", "labels": "x"}}))
            .post(WIDGETS, json!({"apiVersion": "conf.refit.dev/v1", "kind": "Widget", "metadata": {"name": "b", "finalizers": [1]}}))
            .post(WIDGETS, json!({"apiVersion": "conf.refit.dev/v1", "kind": "Widget", "metadata": {"name": "b", "creationTimestamp": "x"}}))
            .merge(&format!("{WIDGETS}/a"), json!({"metadata": {"labels": {"a": 1}}}))
            .merge(&format!("{WIDGETS}/a"), json!({"metadata": {"labels": {"a": null, "b": "c"}}}))
            .merge(&format!("{WIDGETS}/a"), json!({"metadata": {"nosuch": 1}}))
            .merge(&format!("{WIDGETS}/a"), json!({"metadata": null}))
            .merge(&format!("{WIDGETS}/a"), json!({"metadata": "text"}))
            .merge(&format!("{WIDGETS}/a"), json!({"spec": "text"}))
            .merge(&format!("{WIDGETS}/a"), json!({"spec": null})),
    ]
}
