//! As many connections and requests as somebody without rights can hold: the administrator is served all the while.

use std::future::Future;
use std::time::{Duration, Instant};

use futures::{StreamExt, stream};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};
use tokio_rustls::client::TlsStream;

use crate::raw::{ask, connector, first_line, head, tls, tls_by};
use crate::running::Running;

/// How long the administrator may have to wait. On a machine that has nothing else to do it is below a second.
const PATIENCE: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(50);
const AT_A_TIME: usize = 16;

/// Lets somebody hold what they can, and asks meanwhile and afterwards as the administrator.
async fn check<T>(running: &Running, name: &str, hold: impl Future<Output = Vec<T>>) {
    let mut longest = Duration::ZERO;
    let held = tokio::select! {
        held = hold => held,
        () = keep_asking(running, &mut longest) => unreachable!("it asks until all is held"),
    };
    let waited = admin_is_served(running).await;
    println!("with {} {name} the administrator waited for {waited:?}, and at most {longest:?} before", held.len());
}

async fn keep_asking(running: &Running, longest: &mut Duration) {
    loop {
        *longest = admin_is_served(running).await.max(*longest);
        sleep(PAUSE).await;
    }
}

/// A client that is turned away before it could say who it is tries again, as all do.
async fn admin_is_served(running: &Running) -> Duration {
    let start = Instant::now();
    let list = head(running, "GET /api/v1/namespaces") + "\r\n";
    let served = async { while ask(&mut tls(running).await, &list).await != "HTTP/1.1 200 OK" {} };
    timeout(PATIENCE, served).await.expect("the administrator must be served");
    start.elapsed()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_thousand_connections_of_strangers() {
    let running = Running::start().await;
    let connector = connector(&running, &[]);
    let hold = async |_| {
        let mut stream = tls_by(&connector, &running).await;
        // The answer may not come any more: the oldest strangers make room for others.
        ask(&mut stream, "GET /livez HTTP/1.1\r\nHost: a\r\n\r\n").await;
        stream
    };
    check(&running, "connections of strangers", stream::iter(0..2_000).map(hold).buffer_unordered(AT_A_TIME).collect())
        .await;
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn four_hundred_bodies_that_do_not_come() {
    let running = Running::start().await;
    let connector = connector(&running, &[]);
    let token = running.token("no-access");
    let review = format!(
        "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{{"
    );
    let hold = async |_| {
        let mut stream = tls_by(&connector, &running).await;
        stream.write_all(review.as_bytes()).await.expect("it must be sent");
        stream
    };
    let hold = async {
        let mut held: Vec<TlsStream<TcpStream>> =
            stream::iter(0..400).map(hold).buffer_unordered(AT_A_TIME).collect().await;
        let last = held.last_mut().expect("there must be connections");
        assert_eq!(first_line(last).await, "HTTP/1.1 429 Too Many Requests", "one user must not have all the room");
        held
    };
    check(&running, "bodies that do not come", hold).await;
    running.stop().await;
}
