//! Servers that take a request and say nothing, or nothing more.

use k8s_openapi::api::core::v1::Namespace;
use kube::api::Api;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::*;

/// Asks a server for something. It takes the request, sends this, and nothing more, but keeps the connection.
async fn check(sent: &'static [u8]) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("there must be a free port");
    let url = format!("http://{}", listener.local_addr().expect("it must have an address"));
    let (asked, is_asked) = oneshot::channel();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("somebody must connect");
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.expect("the head must come"));
        }
        stream.write_all(sent).await.expect("it must be sent");
        let _ = asked.send(());
        std::future::pending::<()>().await;
    });
    let client = client(Config::new(url.parse().expect("it must be a URL"))).expect("there must be a client");
    let request = tokio::spawn(async move { Api::<Namespace>::all(client).get("kube-system").await });
    is_asked.await.expect("it must be asked");
    // From here on only time passes.
    tokio::time::pause();
    let began = Instant::now();
    let answer = tokio::time::timeout(REQUEST_LIMIT * 10, request).await.expect("it must be given up");
    answer.expect("it must not panic").expect_err("there is no answer");
    assert!(began.elapsed() <= REQUEST_LIMIT * 2, "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_server_that_accepts_and_never_answers_holds_nobody() {
    check(b"").await;
}

#[tokio::test]
async fn an_answer_that_stops_in_the_middle_holds_nobody() {
    check(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{").await;
}

#[test]
fn watches_are_known_by_their_query() {
    for (uri, expected) in [
        ("/api/v1/pods", false),
        ("/api/v1/pods?limit=5&watch=true", true),
        ("/api/v1/pods?labelSelector=watch%3Dtrue", false),
    ] {
        let request = Request::get(uri).body(()).expect("it must be a request");
        assert_eq!(is_watch(&request), expected, "{uri}");
    }
}

#[test]
fn a_dead_connection_of_watches_is_noticed_well_within_a_minute() {
    let Pings { every, limit } = Pings::default();
    assert!(every + limit <= Duration::from_secs(30));
}
