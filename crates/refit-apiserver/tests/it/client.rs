//! Requests to an API in this process.

use std::sync::Arc;

use bytes::Bytes;
use futures::StreamExt;
use http::{HeaderMap, HeaderValue, Method, header};
use jiff::Timestamp;
use refit_apiserver::api::{Api, Body, Entropy};
use refit_apiserver::request::{Path, Query, Request, User};
use refit_apiserver::store::Store;
use serde_json::Value;

/// How often an answer is asked for before the test fails: each time the server gets a turn.
const MAX_ASKS: usize = 10_000;

/// A client of a new API with one logical cluster.
pub struct Client {
    pub api: Api,
    pub cluster: Arc<str>,
}

impl Client {
    pub async fn new() -> Self {
        Self::on(Store::in_memory()).await
    }

    pub async fn on(store: Store) -> Self {
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().expect("the time must parse");
        let api = Api::new(store, Arc::new(move || now), Entropy::from_seed(1));
        let client = Self { api, cluster: "".into() };
        client.api.create_cluster(&client.cluster).await.expect("the cluster must be made");
        client
    }

    /// Lets the server do what follows from what was sent.
    pub async fn settle(&self) {
        self.api.settle(&self.cluster).await;
    }

    pub async fn get(&self, uri: &str) -> (u16, Value) {
        self.send(Method::GET, uri, Value::Null).await
    }

    pub async fn post(&self, uri: &str, body: Value) -> (u16, Value) {
        self.send(Method::POST, uri, body).await
    }

    pub async fn put(&self, uri: &str, body: Value) -> (u16, Value) {
        self.send(Method::PUT, uri, body).await
    }

    /// A merge patch.
    pub async fn patch(&self, uri: &str, body: Value) -> (u16, Value) {
        self.send(Method::PATCH, uri, body).await
    }

    pub async fn delete(&self, uri: &str) -> (u16, Value) {
        self.send(Method::DELETE, uri, Value::Null).await
    }

    /// Creates an object, and returns it. Panics when that fails.
    pub async fn create(&self, uri: &str, body: Value) -> Value {
        let (code, object) = self.post(uri, body).await;
        assert_eq!(code, 201, "{object}");
        object
    }

    /// Whether something is there.
    pub async fn has(&self, uri: &str) -> bool {
        self.get(uri).await.0 == 200
    }

    /// Asks again until the answer is as wanted, while the server works beside.
    pub async fn wait_for(&self, uri: &str, is_wanted: impl Fn(u16, &Value) -> bool) {
        for _ in 0..MAX_ASKS {
            let (code, value) = self.get(uri).await;
            if is_wanted(code, &value) {
                return;
            }
            tokio::task::yield_now().await;
        }
        panic!("{uri} must become what is waited for");
    }

    /// Sends a request with a JSON body; null is none.
    pub async fn send(&self, method: Method, uri: &str, body: Value) -> (u16, Value) {
        let media_type = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
        self.send_as(method, uri, body, media_type).await
    }

    pub async fn send_as(&self, method: Method, uri: &str, body: Value, media_type: &str) -> (u16, Value) {
        let (path, query) = uri.split_once('?').unwrap_or((uri, ""));
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let request = Request {
            method,
            cluster: self.cluster.clone(),
            path: Path::parse(path),
            query: Query::parse(query),
            headers: HeaderMap::from_iter([
                (header::CONTENT_TYPE, HeaderValue::from_str(media_type).expect("the media type must be text")),
                (header::USER_AGENT, HeaderValue::from_static("test/1")),
            ]),
            body: body.into(),
            user: User::default(),
        };
        let answer = self.api.handle(&request).await;
        let bytes = match answer.body {
            Body::Whole(bytes) => bytes,
            Body::Parts { parts, .. } => parts.collect::<Vec<Bytes>>().await.concat().into(),
            Body::Stream(_) => panic!("{uri} must not go on"),
        };
        let value = serde_json::from_slice(&bytes).unwrap_or_else(|_| String::from_utf8_lossy(&bytes).into());
        (answer.status.as_u16(), value)
    }
}

/// The names of the objects in a list.
pub fn names(list: &Value) -> Vec<&str> {
    let items = list["items"].as_array().into_iter().flatten();
    items.filter_map(|item| item["metadata"]["name"].as_str()).collect()
}
