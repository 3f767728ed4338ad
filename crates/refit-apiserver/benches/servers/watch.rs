//! How fast many watchers get the same events.

use std::time::Instant;

use futures::{AsyncBufRead, AsyncBufReadExt, TryStreamExt};
use http::{Method, Request};
use kube::Client;

use crate::ends::End;
use crate::machines::{MACHINES, machine, send};
use crate::writes::version;

const NAME: &str = "watched";
const APPLY: &str = "application/apply-patch+yaml";

/// Events per second that arrive at all watchers together, from the first change until the last watcher has seen all.
pub async fn events(end: &impl End, watchers: usize, events: usize) -> f64 {
    let client = end.client().await;
    let version = change(&client, 0).await;
    let mut watches = Vec::new();
    for _ in 0..watchers {
        watches.push(watch(&client, &version).await);
    }
    let start = Instant::now();
    let tasks = watches.into_iter().map(|watch| tokio::spawn(see(watch, events))).collect::<Vec<_>>();
    for round in 1..=events {
        change(&client, round).await;
    }
    for task in tasks {
        task.await.expect("every watcher must see every event");
    }
    (watchers * events) as f64 / start.elapsed().as_secs_f64()
}

async fn change(client: &Client, round: usize) -> String {
    let uri = format!("{MACHINES}/{NAME}?fieldManager=bench&force=true");
    let (code, text) = send(client, Method::PATCH, &uri, APPLY, machine(NAME, round).to_string()).await;
    assert!(code < 300, "{text}");
    version(&text).to_owned()
}

async fn watch(client: &Client, version: &str) -> impl AsyncBufRead + Unpin + Send + use<> {
    let uri = format!("{MACHINES}?watch=1&resourceVersion={version}&fieldSelector=metadata.name%3D{NAME}");
    let request = Request::get(uri).body(Vec::new()).expect("it must be a request");
    client.request_stream(request).await.expect("the watch must begin")
}

/// Reads until every change was seen, in its order.
async fn see(watch: impl AsyncBufRead + Unpin, events: usize) {
    let mut lines = watch.lines();
    for round in 1..=events {
        let line = lines.try_next().await.expect("the watch must go on").expect("the watch must not end");
        assert!(line.contains(&format!("\"example.io/round\":\"{round}\"")), "{round} must follow: {line}");
    }
}
