//! Whatever bytes come: an answer, no panic, and nothing changed where the answer is no.

use std::sync::Arc;

use http::{HeaderMap, HeaderValue, Method, header};
use proptest::prelude::*;
use refit_apiserver::api::Api;
use refit_apiserver::request::{Path, Query, Request, User};
use serde_json::{Value, json};

use super::ask::Ask;
use super::definitions;
use super::ends::End;

/// Random requests per property.
const CASES: u32 = 600;

const TYPES: [&str; 7] = [
    "application/json",
    "application/yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
    "text/plain",
];

const PATHS: [&str; 9] = [
    "/apis/conf.refit.dev/v1/namespaces/default/widgets",
    "/apis/conf.refit.dev/v1/namespaces/default/widgets/a",
    "/apis/conf.refit.dev/v2/namespaces/default/widgets/a/status",
    "/apis/conf.refit.dev/v1/namespaces/default/widgets/a/scale",
    "/api/v1/namespaces/default/configmaps",
    "/api/v1/namespaces/default/configmaps/a",
    "/api/v1/namespaces/default/secrets/a",
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "/api/v1/namespaces/default/events",
];

/// A server with something in it to break.
struct World {
    runtime: tokio::runtime::Runtime,
    api: Api,
}

impl World {
    fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime must start");
        let end = runtime.block_on(async {
            let end = End::embedded().await;
            super::install(&end, &definitions::all()).await;
            for (path, object) in
                [(PATHS[0], widget()), (PATHS[4], json!({"metadata": {"name": "a"}, "data": {"k": "v"}}))]
            {
                let raw = end.send(&Ask::json(Method::POST, path, "application/json", &object)).await;
                assert_eq!(raw.code, 201, "{raw:?}");
            }
            end
        });
        let End::Embedded(api) = end else { panic!("the end must be embedded") };
        Self { runtime, api }
    }

    /// Sends a request. On a refusal, the store must be where it was.
    fn check(&self, method: &Method, path: &str, query: &str, media_type: &str, body: &[u8]) {
        let request = Request {
            method: method.clone(),
            cluster: Arc::from(""),
            path: Path::parse(path),
            query: Query::parse(query),
            headers: HeaderMap::from_iter([(
                header::CONTENT_TYPE,
                HeaderValue::from_str(media_type).expect("a media type must be a header"),
            )]),
            body: body.to_vec().into(),
            user: User::default(),
        };
        let before = self.api.store().revision();
        let answer = self.runtime.block_on(self.api.handle(&request));
        if !answer.status.is_success() {
            assert_eq!(self.api.store().revision(), before, "{method} {path}?{query} {}", answer.status);
        }
    }
}

fn widget() -> Value {
    definitions::widget(
        "a",
        json!({"size": 1, "tags": ["a"], "ports": [{"port": 80}], "items": [{"name": "x", "sub": {"a": "1"}}],
               "params": {"k": "v"}, "limit": 5, "any": {"deep": [1, {"x": null}]},
               "template": {"apiVersion": "v1", "kind": "X", "metadata": {"labels": {"a": "b"}}}}),
    )
}

/// A widget's text in which some bytes are others.
fn mutated() -> impl Strategy<Value = Vec<u8>> {
    let length = widget().to_string().len();
    proptest::collection::vec((0..length, any::<u8>(), 0..3_u8), 1..6).prop_map(|changes| {
        let mut text = widget().to_string().into_bytes();
        for (position, byte, kind) in changes {
            let position = position % text.len();
            match kind {
                0 => text[position] = byte,
                1 => text.insert(position, byte),
                _ => text.truncate(text.len().max(2) - 1),
            }
        }
        text
    })
}

/// A widget in which one value is another.
fn misshapen() -> impl Strategy<Value = Vec<u8>> {
    let paths = [
        "/kind",
        "/metadata",
        "/metadata/name",
        "/spec",
        "/spec/tags",
        "/spec/ports/0",
        "/spec/items",
        "/spec/limit",
        "/spec/template/metadata",
    ];
    let values = [
        json!(null),
        json!(1),
        json!(-1.5),
        json!(""),
        json!([]),
        json!({}),
        json!([null]),
        json!({"": null}),
        json!("\u{0}"),
    ];
    (0..paths.len(), 0..values.len()).prop_map(move |(path, value)| {
        let mut object = widget();
        if let Some(place) = object.pointer_mut(paths[path]) {
            *place = values[value].clone();
        }
        object.to_string().into_bytes()
    })
}

#[test]
fn no_request_panics_or_changes_anything_when_it_is_refused() {
    let world = World::new();
    let methods = [Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::GET];
    let bodies = prop_oneof![proptest::collection::vec(any::<u8>(), 0..64), mutated(), misshapen()];
    let queries = prop_oneof![
        Just("fieldManager=m".to_owned()),
        Just("fieldManager=m&force=true&fieldValidation=Strict".to_owned()),
        "[a-zA-Z%=&0-9,()!<>]{0,40}",
        "(limit|resourceVersion|continue|labelSelector|fieldSelector|dryRun|timeoutSeconds)=[ -~]{0,20}",
    ];
    let mut runner = proptest::test_runner::TestRunner::new_with_rng(
        ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() },
        proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
    );
    let strategy = (0..methods.len(), 0..PATHS.len(), queries, 0..TYPES.len(), bodies);
    let outcome = runner.run(&strategy, |(method, path, query, media_type, body)| {
        world.check(&methods[method], PATHS[path], &query.replace("watch", "w"), TYPES[media_type], &body);
        Ok(())
    });
    outcome.expect("every request must get its answer");
}
