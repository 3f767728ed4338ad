//! The end of a server that is in use.

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, WatchParams};
use serde_json::json;
use tokio::io::AsyncWriteExt;

use crate::raw::{ask, head, tls};
use crate::running::{Running, admin_in_process};

#[tokio::test]
async fn watches_end_without_an_error() {
    let running = Running::start().await;
    let maps: Api<ConfigMap> = Api::default_namespaced(running.client().await);
    let events = maps.watch(&WatchParams::default(), "0").await.expect("the watch must begin");
    let (events, ()) = tokio::join!(events.collect::<Vec<_>>(), running.stop());
    assert!(events.is_empty(), "{events:?}");
}

#[tokio::test]
async fn a_write_that_has_begun_is_answered() {
    let running = Running::start().await;
    let maps: Api<ConfigMap> = Api::default_namespaced(admin_in_process(&running.host));
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "late"}}).to_string();
    let head = head(&running, "POST /api/v1/namespaces/default/configmaps");
    let (first, second) = map.split_at(10);
    let mut stream = tls(&running).await;
    let begin = format!("{head}Content-Length: {}\r\nExpect: 100-continue\r\n\r\n", map.len());
    // The server asks for the body, so it has begun.
    assert_eq!(ask(&mut stream, &begin).await, "HTTP/1.1 100 Continue");
    let rest = async {
        stream.write_all(first.as_bytes()).await.expect("the connection must stay");
        let mut answer = ask(&mut stream, second).await;
        while answer.is_empty() || answer.contains("100") {
            answer = crate::raw::first_line(&mut stream).await;
        }
        answer
    };
    let (answer, ()) = tokio::join!(rest, running.stop());
    assert_eq!(answer, "HTTP/1.1 201 Created");
    maps.get("late").await.expect("what was acknowledged must be there");
}
