//! Callers that are broken, slow or hostile, and the end of a server.

use std::time::Duration;

use refit_sdk::ServerOptions;
use refit_sdk::server::Limits;
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::support::{HOOKS, Served, exchange, parsed, post, request, sample};

async fn is_alive(served: &Served) -> bool {
    parsed(&exchange(served.address, &post(&format!("{HOOKS}/discovery"), "{}")).await).0 == 200
}

#[tokio::test]
async fn a_caller_that_hangs_up_or_stands_still_keeps_nobody_waiting() {
    let served = Served::local().await;
    let head = format!("POST {HOOKS}/discovery HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{{");
    let mut open = Vec::new();
    for part in [&head[..head.len() / 2], head.as_str()] {
        let mut stream = TcpStream::connect(served.address).await.expect("the server must be there");
        stream.write_all(part.as_bytes()).await.expect("it must be sent");
        open.push(stream);
    }
    assert!(is_alive(&served).await);
    drop(open);
    assert!(is_alive(&served).await);
}

#[tokio::test]
async fn a_body_that_does_not_come_is_a_failure_at_the_callers_deadline() {
    let served = Served::local().await;
    let stuck = request("POST", &format!("{HOOKS}/discovery?timeout=50ms"), "Content-Length: 10\r\n", "{");
    let (code, answer) = parsed(&exchange(served.address, &stuck).await);
    let message = "error reading request: the body did not arrive in time";
    assert_eq!((code, &answer["status"], &answer["message"]), (200, &json!("Failure"), &json!(message)));
}

#[tokio::test]
async fn a_head_that_does_not_end_is_cut_off() {
    let start = async |limits| Served::start(sample(), ServerOptions { limits, ..ServerOptions::local() }).await;
    let served = start(Limits { header_time: Duration::from_millis(100), ..Limits::default() }).await;
    assert_ne!(parsed(&exchange(served.address, b"POST / HTTP/1.1\r\nHost").await).0, 200);
    // With time for every head: a slow machine needs it also for those that end.
    let served = start(Limits { header_bytes: 16 * 1024, ..Limits::default() }).await;
    let large = request("POST", "/", &format!("X: {}\r\n", "x".repeat(32 * 1024)), "");
    let mut stream = TcpStream::connect(served.address).await.expect("the server must be there");
    let _ = stream.write_all(&large).await;
    drop(stream);
    assert!(is_alive(&served).await);
}

#[tokio::test]
async fn connections_are_bounded_and_the_next_one_waits() {
    let limits = Limits { connections: 1, ..Limits::default() };
    let served = Served::start(sample(), ServerOptions { limits, ..ServerOptions::local() }).await;
    let first = TcpStream::connect(served.address).await.expect("the server must be there");
    let address = served.address;
    let second = tokio::spawn(async move { exchange(address, &post(&format!("{HOOKS}/discovery"), "{}")).await });
    drop(first);
    assert_eq!(parsed(&second.await.expect("the call must end")).0, 200);
}

#[tokio::test]
async fn what_is_no_http_is_no_harm() {
    let served = Served::local().await;
    for bytes in [
        b"\x16\x03\x01\x02\x00\x01\x00".as_slice(),
        b"\x00\x00\x00\r\n\r\n",
        b"GET\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nxxxxxxxxxxxxxxxx",
    ] {
        let mut stream = TcpStream::connect(served.address).await.expect("the server must be there");
        stream.write_all(bytes).await.expect("it must be sent");
        drop(stream);
    }
    assert!(is_alive(&served).await);
}

#[tokio::test]
async fn health_readiness_and_metrics_are_on_their_own_port() {
    let options = ServerOptions { health_address: Some(([127, 0, 0, 1], 0).into()), ..ServerOptions::local() };
    let served = Served::start(sample(), options).await;
    assert!(is_alive(&served).await);
    let health = served.health.expect("there must be health");
    for path in ["/healthz", "/readyz"] {
        assert_eq!(parsed(&exchange(health, &request("GET", path, "", "")).await), (200, json!("ok")), "{path}");
    }
    let metrics = exchange(health, &request("GET", "/metrics", "", "")).await;
    let counted = format!("controller_runtime_webhook_requests_total{{webhook=\"{HOOKS}/discovery\",code=\"200\"}} 1");
    assert!(metrics.contains(&counted) && metrics.contains("refit_extension_running_updates 0"), "{metrics}");
    assert_eq!(parsed(&exchange(health, &request("GET", "/other", "", "")).await).0, 404);
}

#[tokio::test]
async fn a_server_that_is_asked_to_end_ends_and_answers_no_more() {
    // An address of its own, on which no other test can get the port afterwards.
    let options = ServerOptions { address: ([127, 0, 0, 9], 0).into(), ..ServerOptions::local() };
    let served = Served::start(sample(), options).await;
    let address = served.address;
    assert!(is_alive(&served).await);
    served.end().await;
    assert!(TcpStream::connect(address).await.is_err());
}
