//! What clients can make grow, and what happens beyond the bound.

use std::time::Duration;

use http::{Request, Response};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use kube::client::Body;
use refit_apiserver::server::Limits;
use refit_apiserver::service::MAX_BODY_BYTES;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::sleep;

use crate::raw::{ask, first_line, head, tcp, tls};
use crate::running::{Running, admin_in_process};

const MOMENT: Duration = Duration::from_millis(100);

async fn send(client: &Client, request: Request<Vec<u8>>) -> Response<Body> {
    client.send(request.map(Body::from)).await.expect("there must be an answer")
}

async fn json(response: Response<Body>) -> Value {
    let bytes = response.into_body().collect_bytes().await.expect("the answer must be read");
    serde_json::from_slice(&bytes).expect("it must be JSON")
}

#[tokio::test]
async fn a_body_beyond_the_bound_is_refused_over_both_transports() {
    let running = Running::start().await;
    for client in [admin_in_process(&running.host), running.client().await] {
        for (bytes, expected) in [(MAX_BODY_BYTES, 400), (MAX_BODY_BYTES + 1, 413), (2 * MAX_BODY_BYTES, 413)] {
            let request = Request::post("/api/v1/namespaces/default/configmaps").body(vec![b' '; bytes]).unwrap();
            let response = send(&client, request).await;
            assert_eq!(response.status().as_u16(), expected, "{bytes}");
            if expected == 413 {
                let status = json(response).await;
                assert_eq!(status["message"], "Request entity too large: limit is 3145728");
                assert_eq!(status["reason"], "RequestEntityTooLarge");
            }
        }
    }
    running.stop().await;
}

#[tokio::test]
async fn a_body_of_unannounced_size_is_bounded_too() {
    let running = Running::start().await;
    let mut stream = tls(&running).await;
    let head = head(&running, "POST /api/v1/namespaces") + "Transfer-Encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    let chunk = format!("{:x}\r\n{}\r\n", 512 * 1024, " ".repeat(512 * 1024));
    for _ in 0..8 {
        stream.write_all(chunk.as_bytes()).await.unwrap();
    }
    assert_eq!(ask(&mut stream, "0\r\n\r\n").await, "HTTP/1.1 413 Payload Too Large");
    running.stop().await;
}

#[tokio::test]
async fn who_is_refused_hears_so_after_sending_a_large_body() {
    let running = Running::start().await;
    let mut stream = tls(&running).await;
    let token = running.token("no-access");
    let line = "POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: localhost";
    let length = 3 * 1024 * 1024;
    let text =
        format!("{line}\r\nAuthorization: Bearer {token}\r\nContent-Length: {length}\r\n\r\n{}", " ".repeat(length));
    assert_eq!(ask(&mut stream, &text).await, "HTTP/1.1 403 Forbidden");
    running.stop().await;
}

#[tokio::test]
async fn a_head_beyond_the_bound_is_refused() {
    let running = Running::start().await;
    let mut stream = tls(&running).await;
    let text = format!("{}X: {}\r\n\r\n", head(&running, "GET /version"), "x".repeat(65 * 1024));
    assert_eq!(ask(&mut stream, &text).await, "HTTP/1.1 431 Request Header Fields Too Large");
    let mut stream = tls(&running).await;
    let text = format!("{}\r\n", head(&running, &format!("GET /{}", "x".repeat(65 * 1024))));
    assert_eq!(ask(&mut stream, &text).await, "HTTP/1.1 414 URI Too Long");
    running.stop().await;
}

#[tokio::test]
async fn without_room_for_a_request_the_client_is_told_when_to_come_again() {
    for limits in [
        Limits { requests: 0, watches: 1, ..Limits::default() },
        Limits { requests: 1, watches: 0, ..Limits::default() },
    ] {
        let running = Running::start_with(limits).await;
        let client = running.client_without_retries().await;
        for (path, has_room) in [
            ("/api/v1/namespaces", limits.requests == 1),
            ("/api/v1/namespaces?watch=1&timeoutSeconds=1", limits.watches == 1),
            ("/readyz", true),
        ] {
            let response = send(&client, Request::get(path).body(Vec::new()).unwrap()).await;
            assert_eq!(response.status().as_u16(), if has_room { 200 } else { 429 }, "{path}");
            if !has_room {
                assert_eq!(response.headers()["retry-after"], "1");
                assert_eq!(json(response).await["reason"], "TooManyRequests");
            }
        }
        running.stop().await;
    }
}

#[tokio::test]
async fn a_connection_beyond_the_bound_waits_for_another_to_end() {
    let running = Running::start_with(Limits { connections: 1, ..Limits::default() }).await;
    let first = tls(&running).await;
    let mut second = Box::pin(tls(&running));
    tokio::select! {
        _ = &mut second => panic!("there must be no room"),
        () = sleep(MOMENT) => {}
    }
    drop(first);
    assert_eq!(ask(&mut second.await, "GET /livez HTTP/1.1\r\nHost: a\r\n\r\n").await, "HTTP/1.1 200 OK");
    running.stop().await;
}

#[tokio::test]
async fn connections_that_say_nothing_are_closed() {
    // One short limit at a time: on a slow machine, the way to where it counts may take longer than that.
    let running = Running::start_with(Limits { handshake: MOMENT, ..Limits::default() }).await;
    let mut silent = tcp(&running).await;
    assert_eq!(silent.read(&mut [0]).await.unwrap_or(0), 0, "no handshake");
    running.stop().await;
    let running = Running::start_with(Limits { first_request: MOMENT, ..Limits::default() }).await;
    assert_eq!(first_line(&mut tls(&running).await).await, "", "no request");
    assert_eq!(read_after(&running, "GET /livez HTTP/1.1\r\nHos").await, "", "half a head");
    running.stop().await;
}

#[tokio::test]
async fn connections_that_are_used_no_more_are_closed() {
    // A slow machine may need longer for the request itself than the connection may be idle.
    for factor in [1, 10, 100, 1000] {
        let running = Running::start_with(Limits { idle: MOMENT * factor, ..Limits::default() }).await;
        let answer = read_after(&running, "GET /livez HTTP/1.1\r\nHost: a\r\n\r\n").await;
        running.stop().await;
        if !answer.is_empty() {
            assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
            assert!(answer.ends_with("ok"), "the answer must be whole, and then nothing more: {answer}");
            return;
        }
    }
    panic!("a request must be answered before the connection counts as idle");
}

/// Sends a text over a new connection, and reads until the server closes it.
async fn read_after(running: &Running, text: &str) -> String {
    let mut stream = tls(running).await;
    // The server may have closed the connection already.
    let _ = stream.write_all(text.as_bytes()).await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8(answer).expect("it must be text")
}

#[tokio::test]
async fn a_body_that_does_not_come_ends_the_request() {
    let running = Running::start_with(Limits { request: MOMENT, ..Limits::default() }).await;
    let text = head(&running, "POST /api/v1/namespaces") + "Content-Length: 10\r\n\r\n{";
    assert_eq!(ask(&mut tls(&running).await, &text).await, "HTTP/1.1 504 Gateway Timeout");
    running.stop().await;
}

/// It would hold its room for as long as a request may take otherwise.
#[tokio::test]
async fn a_body_that_comes_byte_by_byte_ends_the_request_and_the_connection() {
    let running = Running::start_with(Limits { body: MOMENT, ..Limits::default() }).await;
    let mut stream = tls(&running).await;
    let text = head(&running, "POST /api/v1/namespaces") + "Content-Length: 100000\r\n\r\n{";
    stream.write_all(text.as_bytes()).await.unwrap();
    let (mut answers, mut sends) = tokio::io::split(stream);
    let trickle = async {
        while sends.write_all(b" ").await.is_ok() && sends.flush().await.is_ok() {
            sleep(MOMENT / 10).await;
        }
    };
    let mut answer = Vec::new();
    let read = async { drop(answers.read_to_end(&mut answer).await) };
    tokio::select! {
        () = read => {}
        () = trickle => panic!("the answer must come first"),
    }
    let answer = String::from_utf8(answer).expect("it must be text");
    assert!(answer.starts_with("HTTP/1.1 504 Gateway Timeout"), "{answer}");
    assert!(answer.contains("Timeout: the body of the request did not arrive within 100ms"), "{answer}");
    running.stop().await;
}

#[tokio::test]
async fn a_watch_that_is_not_read_is_ended_and_makes_room() {
    let limits = Limits { watches: 1, stall: MOMENT, ..Limits::default() };
    let running = Running::start_with(limits).await;
    let mut stalled = tls(&running).await;
    let watch = head(&running, "GET /api/v1/configmaps?watch=1") + "\r\n";
    assert_eq!(ask(&mut stalled, &watch).await, "HTTP/1.1 200 OK");
    assert!(ask(&mut tls(&running).await, &watch).await.contains("429"), "the room must be taken");
    let maps: Api<ConfigMap> = Api::default_namespaced(admin_in_process(&running.host));
    // More than the sockets of both sides hold.
    for count in 0.. {
        let data = json!({"k": format!("{count}{}", "x".repeat(500_000))});
        let patch = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "big"}, "data": data});
        maps.patch("big", &PatchParams::apply("test"), &Patch::Apply(patch)).await.expect("it must be applied");
        if !ask(&mut tls(&running).await, &watch).await.contains("429") {
            return;
        }
        assert!(count < 1_000, "the watch must end");
    }
}

/// ConfigMaps that are together more than the sockets of both sides hold, several times: 20 MB.
async fn make_a_long_list(running: &Running) {
    let maps: Api<ConfigMap> = Api::default_namespaced(admin_in_process(&running.host));
    for number in 0..40 {
        let (name, data) = (format!("big-{number}"), json!({"k": "x".repeat(500_000)}));
        let patch = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data});
        maps.patch(&name, &PatchParams::apply("test"), &Patch::Apply(patch)).await.expect("it must be applied");
    }
}

#[tokio::test]
async fn answers_that_nobody_reads_have_a_bound_together() {
    let running = Running::start_with(Limits { answer_bytes: 4 << 20, ..Limits::default() }).await;
    make_a_long_list(&running).await;
    let list = head(&running, "GET /api/v1/namespaces/default/configmaps") + "\r\n";
    let small = head(&running, "GET /api/v1/namespaces/default") + "\r\n";
    let mut slow = tls(&running).await;
    assert_eq!(ask(&mut slow, &list).await, "HTTP/1.1 200 OK");
    assert!(ask(&mut tls(&running).await, &list).await.contains("429"), "the first must hold all the room");
    assert_eq!(ask(&mut tls(&running).await, &small).await, "HTTP/1.1 200 OK");
    drop(slow);
    while ask(&mut tls(&running).await, &list).await.contains("429") {
        sleep(MOMENT / 10).await;
    }
    running.stop().await;
}

/// Half a list must not look like a list.
#[tokio::test]
async fn a_list_that_is_read_too_slowly_ends_without_its_end() {
    let limits = Limits { stall: MOMENT, answer_bytes: 4 << 20, ..Limits::default() };
    let running = Running::start_with(limits).await;
    make_a_long_list(&running).await;
    let list = head(&running, "GET /api/v1/namespaces/default/configmaps") + "Accept: application/yaml\r\n\r\n";
    let mut slow = tls(&running).await;
    assert_eq!(ask(&mut slow, &list).await, "HTTP/1.1 200 OK");
    while ask(&mut tls(&running).await, &list).await.contains("429") {
        sleep(MOMENT).await;
    }
    let mut answer = Vec::new();
    let _ = slow.read_to_end(&mut answer).await;
    assert!(answer.len() < 20_000_000, "it must be cut off");
    assert!(!answer.ends_with(b"0\r\n\r\n"), "it must not look whole");
    running.stop().await;
}

/// What a user who only holds things can take from the administrator: nothing.
#[tokio::test]
async fn connections_of_strangers_do_not_keep_the_administrator_out() {
    let limits = Limits { connections: 40, strangers: 10, ..Limits::default() };
    let running = Running::start_with(limits).await;
    let mut held = Vec::new();
    for _ in 0..60 {
        let mut stream = tls(&running).await;
        assert_eq!(ask(&mut stream, "GET /livez HTTP/1.1\r\nHost: a\r\n\r\n").await, "HTTP/1.1 200 OK");
        held.push(stream);
    }
    let list = head(&running, "GET /api/v1/namespaces") + "\r\n";
    assert_eq!(ask(&mut tls(&running).await, &list).await, "HTTP/1.1 200 OK", "by token");
    let client = running.client_without_retries().await;
    let response = send(&client, Request::get("/api/v1/namespaces").body(Vec::new()).unwrap()).await;
    assert_eq!(response.status().as_u16(), 200, "by certificate");
    running.stop().await;
}

#[tokio::test]
async fn bodies_that_one_user_does_not_send_leave_room_for_others() {
    let running = Running::start_with(Limits { requests: 12, ..Limits::default() }).await;
    let token = running.token("no-access");
    let review = format!(
        "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{{"
    );
    let mut held = Vec::new();
    let mut is_refused = false;
    for _ in 0..12 {
        let mut stream = tls(&running).await;
        stream.write_all(review.as_bytes()).await.unwrap();
        let refused = tokio::time::timeout(Duration::from_secs(1), first_line(&mut stream)).await;
        is_refused |= refused.is_ok_and(|line| line.contains("429"));
        held.push(stream);
        if is_refused {
            break;
        }
    }
    assert!(is_refused, "one user must not have all the room");
    let viewer = running.token("read-only");
    for token in [running.token("admin"), viewer] {
        let list = format!("GET /api/v1/namespaces HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {token}\r\n\r\n");
        assert_eq!(ask(&mut tls(&running).await, &list).await, "HTTP/1.1 200 OK");
    }
    drop(held);
    running.stop().await;
}

#[tokio::test]
async fn metrics_say_who_was_turned_away_and_are_not_for_everybody() {
    let running = Running::start_with(Limits { watches: 0, ..Limits::default() }).await;
    let client = running.client_without_retries().await;
    let get = async |path: &str| send(&client, Request::get(path).body(Vec::new()).unwrap()).await;
    assert_eq!(get("/api/v1/namespaces?watch=1").await.status().as_u16(), 429);
    let text = get("/metrics").await.into_body().collect_bytes().await.expect("it must be read");
    let text = String::from_utf8(text.to_vec()).expect("it must be text");
    assert!(text.contains("refit_apiserver_turned_away_total{reason=\"watches\"} 1"), "{text}");
    let request = head(&running, "GET /metrics").replace(&running.token("admin"), &running.token("no-access")) + "\r\n";
    assert!(ask(&mut tls(&running).await, &request).await.contains("403"));
    running.stop().await;
}
