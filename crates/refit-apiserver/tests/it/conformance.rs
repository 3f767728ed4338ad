//! The embedded API server beside the real kube-apiserver: the same requests, the same answers.
//!
//! What differs on purpose is a row of a table in the docs. A difference without a row fails, and so does a row without
//! a difference.

mod ask;
mod cases;
mod definition_changes;
mod definitions;
mod documented;
mod ends;
mod heard;
mod robustness;
mod script;
mod sequences;

use std::time::Duration;

use futures::StreamExt;
use http::Method;
use refit_peers::{ControlPlane, Options, require_peers};
use serde_json::{Value, json};

use crate::sample;
use ask::Ask;
use ends::End;
use script::Case;

/// How many cases run at once: most of their time they wait for a watch to end or a disk to sync.
const PARALLEL: usize = 8;
/// Owners are sorted by seconds, so that what a write changes can hang on the moment at which a second ends. Such a
/// difference does not come again; others do. The slower the machine, the more often a second ends in between.
const ATTEMPTS: usize = 8;
/// For how long watches last in the first attempts and in all later ones: a slow machine does not get far in a second.
const WATCH_SECONDS: [u32; 3] = [1, 5, 30];

#[test]
fn the_embedded_server_answers_like_the_real_one() {
    on_both_ends(async |ends| {
        let only = std::env::var("REFIT_CASES").unwrap_or_default();
        let cases: Vec<Case> = cases::all().into_iter().filter(|case| case.name.contains(&only)).collect();
        let runs = cases.iter().enumerate().map(|(number, case)| run(ends, number, case));
        let problems: Vec<String> = futures::stream::iter(runs).buffered(PARALLEL).concat().await;
        assert!(problems.is_empty(), "{} answers differ:\n{}", problems.len(), problems.join("\n"));
    });
}

#[test]
fn every_documented_difference_is_shown_by_a_case() {
    let cases = cases::all();
    let shown: std::collections::BTreeSet<&str> =
        cases.iter().flat_map(|case| &case.steps).filter_map(|step| step.differs).collect();
    assert_eq!(documented::rows(), shown.into_iter().map(str::to_owned).collect());
}

/// Starts both ends with the definitions of the cases installed.
fn on_both_ends(test: impl AsyncFnOnce(&[End; 2])) {
    let Some(peers) = require_peers() else { return };
    let plane = ControlPlane::start(&peers, Options::default()).expect("a control plane must start");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime must start");
    runtime.block_on(async {
        let ends = [End::embedded().await, End::real(&plane).await];
        let definitions: Vec<Value> =
            definitions::all().into_iter().chain(refit_api::crd::all()).chain([sample::crd()]).collect();
        for end in &ends {
            install(end, &definitions).await;
        }
        test(&ends).await;
    });
}

async fn run(ends: &[End; 2], number: usize, case: &Case) -> Vec<String> {
    let mut problems = Vec::new();
    for attempt in 1..=ATTEMPTS {
        let namespace = format!("case-{number}-{attempt}");
        make_namespace(ends, &namespace).await;
        problems = case.run(ends, &namespace, watch_seconds(attempt)).await;
        if problems.is_empty() {
            break;
        }
    }
    problems
}

fn watch_seconds(attempt: usize) -> u32 {
    WATCH_SECONDS[attempt.min(WATCH_SECONDS.len()) - 1]
}

async fn make_namespace(ends: &[End; 2], namespace: &str) {
    let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
    for end in ends {
        let raw = end.send(&Ask::json(Method::POST, "/api/v1/namespaces", "application/json", &body)).await;
        assert_eq!(raw.code, 201, "{raw:?}");
    }
}

/// Creates definitions, and waits until their objects can be listed.
async fn install(end: &End, definitions: &[Value]) {
    let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    for definition in definitions {
        let raw = end.send(&Ask::json(Method::POST, crds, "application/json", definition)).await;
        assert_eq!(raw.code, 201, "{raw:?}");
    }
    for definition in definitions {
        let spec = &definition["spec"];
        for version in spec["versions"].as_array().into_iter().flatten() {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let (group, version, plural) =
                (text(&spec["group"]), text(&version["name"]), text(&spec["names"]["plural"]));
            let list = Ask::json(Method::GET, &format!("/apis/{group}/{version}/{plural}"), "", &Value::Null);
            while end.send(&list).await.code != 200 {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}
