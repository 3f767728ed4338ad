//! Writes per second by clients that each wait for an answer before they write again.

use std::time::Instant;

use http::Method;
use kube::Client;

use crate::ends::End;
use crate::machines::{MACHINES, machine, send};

const JSON: &str = "application/json";
const APPLY: &str = "application/apply-patch+yaml";
/// Clients that make the objects that are listed.
const FILLERS: usize = 32;

/// Makes new objects.
pub async fn creates(end: &impl End, writers: usize, writes: usize) -> f64 {
    let rate = rate(end, writers, writes, |client, writer, rounds| async move {
        for round in 0..rounds {
            create(&client, &format!("created-{writers}-{writer}-{round}")).await;
        }
    });
    rate.await
}

/// Replaces one object per client, each time the version that the write before left.
pub async fn updates(end: &impl End, writers: usize, writes: usize) -> f64 {
    prepare(end, writers, "updated").await;
    let rate = rate(end, writers, writes, |client, writer, rounds| async move {
        let name = format!("updated-{writers}-{writer}");
        let uri = format!("{MACHINES}/{name}");
        let (_, mut last) = send(&client, Method::GET, &uri, JSON, String::new()).await;
        for round in 1..=rounds {
            let mut next = machine(&name, round);
            next["metadata"]["resourceVersion"] = version(&last).into();
            last = expect(200, send(&client, Method::PUT, &uri, JSON, next.to_string()).await);
        }
    });
    rate.await
}

/// Applies to one object per client that another manager has fields of.
pub async fn applies(end: &impl End, writers: usize, writes: usize) -> f64 {
    prepare(end, writers, "applied").await;
    let rate = rate(end, writers, writes, |client, writer, rounds| async move {
        let name = format!("applied-{writers}-{writer}");
        let uri = format!("{MACHINES}/{name}?fieldManager=bench&force=true");
        for round in 1..=rounds {
            expect(200, send(&client, Method::PATCH, &uri, APPLY, machine(&name, round).to_string()).await);
        }
    });
    rate.await
}

/// Makes the objects that are listed.
pub async fn fill(end: &impl End, objects: usize) {
    let filled = rate(end, FILLERS, objects, |client, writer, rounds| async move {
        for round in 0..rounds {
            create(&client, &format!("listed-{writer}-{round}")).await;
        }
    });
    filled.await;
}

async fn prepare(end: &impl End, writers: usize, prefix: &str) {
    let client = end.client().await;
    for writer in 0..writers {
        create(&client, &format!("{prefix}-{writers}-{writer}")).await;
    }
}

async fn create(client: &Client, name: &str) {
    expect(201, send(client, Method::POST, MACHINES, JSON, machine(name, 0).to_string()).await);
}

/// Runs as many writers at a time, after each has its connection.
async fn rate<F>(end: &impl End, writers: usize, writes: usize, work: impl Fn(Client, usize, usize) -> F) -> f64
where
    F: Future<Output = ()> + Send + 'static,
{
    let mut clients = Vec::new();
    for _ in 0..writers {
        let client = end.client().await;
        expect(200, send(&client, Method::GET, "/readyz", JSON, String::new()).await);
        clients.push(client);
    }
    let rounds = writes.div_ceil(writers);
    let start = Instant::now();
    let tasks = clients.into_iter().enumerate().map(|(writer, client)| tokio::spawn(work(client, writer, rounds)));
    for task in tasks.collect::<Vec<_>>() {
        task.await.expect("a writer must not panic");
    }
    (rounds * writers) as f64 / start.elapsed().as_secs_f64()
}

fn expect(code: u16, (found, text): (u16, String)) -> String {
    assert_eq!(found, code, "{text}");
    text
}

/// The version in the text of an object; decoding all of it would measure the client.
pub fn version(object: &str) -> &str {
    let behind = object.split_once("\"resourceVersion\":\"").expect("an object must have a version").1;
    behind.split_once('"').expect("a version must end").0
}
