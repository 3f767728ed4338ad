//! One request ends nothing and freezes nobody: while it goes on, others are served.

mod bodies;
mod definitions;
mod patches;
mod refusals;
mod under_load;

use std::time::{Duration, Instant};

use http::{Method, Request, StatusCode};
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use serde_json::Value;
use tokio::time::sleep;

use crate::running::Running;

/// How long others may have to wait at most. A machine that is busy with other tests is slow; what is looked for here are
/// minutes, and servers that are gone.
const PATIENCE: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(20);

/// A server, and somebody who does to it what no client should.
struct Attack {
    running: Running,
    client: Client,
}

impl Attack {
    async fn by_admin() -> Self {
        let running = Running::start().await;
        let client = running.client_without_retries().await;
        Self { running, client }
    }

    /// By somebody who has no rights at all.
    async fn by_nobody() -> Self {
        let running = Running::start().await;
        let client = running.client_by_token(&running.token("no-access")).await;
        Self { running, client }
    }

    /// Sends a request, and sees to it that others are served meanwhile. Returns what is answered.
    async fn send(&self, method: Method, path: &str, media_type: &str, body: Vec<u8>) -> (StatusCode, Value) {
        self.meanwhile(self.send_alone(method, path, media_type, body)).await
    }

    async fn send_alone(&self, method: Method, path: &str, media_type: &str, body: Vec<u8>) -> (StatusCode, Value) {
        let request = Request::builder().method(method).uri(path).header("content-type", media_type);
        let request = request.body(Body::from(body)).expect("it must be a request");
        let response = self.client.send(request).await.expect("there must be an answer");
        let status = response.status();
        let bytes = response.into_body().collect().await.expect("the answer must come").to_bytes();
        (status, serde_json::from_slice(&bytes).unwrap_or_default())
    }

    /// Sees to it that others are served while something goes on.
    async fn meanwhile<T>(&self, attack: impl Future<Output = T>) -> T {
        tokio::select! {
            answer = attack => {
                self.assert_served().await;
                answer
            }
            () = self.keep_asking() => unreachable!("it asks until there is an answer"),
        }
    }

    async fn keep_asking(&self) {
        loop {
            self.assert_served().await;
            sleep(PAUSE).await;
        }
    }

    /// Health, a read and a write of somebody else.
    async fn assert_served(&self) {
        let start = Instant::now();
        let other = self.running.client().await;
        for (method, path, body) in [
            (Method::GET, "/livez", ""),
            (Method::GET, "/api/v1/namespaces", ""),
            (Method::PATCH, "/api/v1/namespaces/default?fieldManager=other", r#"{"metadata": {"labels": {"a": "b"}}}"#),
        ] {
            let request =
                Request::builder().method(method).uri(path).header("content-type", "application/merge-patch+json");
            let request = request.body(Body::from(body.as_bytes().to_vec())).expect("it must be a request");
            let response = other.send(request).await.expect("others must be served");
            assert!(response.status().is_success(), "{path} {}", response.status());
        }
        assert!(start.elapsed() < PATIENCE, "others waited for {:?}", start.elapsed());
    }

    async fn json(&self, method: Method, path: &str, body: &Value) -> (StatusCode, Value) {
        let media_type = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
        self.send(method, path, media_type, body.to_string().into_bytes()).await
    }
}

fn message(answer: &(StatusCode, Value)) -> &str {
    answer.1["message"].as_str().unwrap_or_default()
}
