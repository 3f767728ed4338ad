//! HTTP/2, and many watches at once.

use bytes::Bytes;
use futures::StreamExt;
use futures::future::join_all;
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use kube::api::{Api, ObjectMeta, PostParams, WatchEvent, WatchParams};

use crate::raw::tls_for;
use crate::running::{Running, admin_in_process};

const WATCHERS: usize = 100;
const EVENTS: usize = 20;

async fn make(maps: &Api<ConfigMap>, number: usize) {
    let metadata = ObjectMeta { name: Some(format!("c{number:03}")), ..Default::default() };
    let map = ConfigMap { metadata, ..Default::default() };
    maps.create(&PostParams::default(), &map).await.expect("it must be made");
}

#[tokio::test]
async fn the_protocol_is_agreed_on_in_the_handshake() {
    let running = Running::start().await;
    for (offered, expected) in [
        (&[b"h2".as_slice(), b"http/1.1"][..], Some(b"h2".as_slice())),
        (&[b"http/1.1"], Some(b"http/1.1")),
        (&[], None),
    ] {
        let stream = tls_for(&running, offered).await;
        assert_eq!(stream.get_ref().1.alpn_protocol(), expected, "{offered:?}");
    }
    running.stop().await;
}

#[tokio::test]
async fn one_connection_carries_a_watch_and_many_requests() {
    let running = Running::start().await;
    let stream = TokioIo::new(tls_for(&running, &[b"h2"]).await);
    let (client, connection) = http2::handshake(TokioExecutor::new(), stream).await.expect("HTTP/2 must be spoken");
    tokio::spawn(connection);
    let token = running.token("admin");
    let send = |path: &str| {
        let request =
            Request::get(format!("https://localhost{path}")).header("Authorization", format!("Bearer {token}"));
        let request = request.body(Full::<Bytes>::default()).expect("it must be a request");
        let mut client = client.clone();
        async move { client.send_request(request).await.expect("there must be an answer") }
    };
    let mut watch = send("/api/v1/namespaces/default/configmaps?watch=1").await.into_body();
    make(&Api::default_namespaced(admin_in_process(&running.host)), 1).await;
    let answers = join_all((0..50).map(|_| send("/api/v1/namespaces/default/configmaps"))).await;
    for answer in answers {
        assert_eq!(answer.status(), 200);
        let text = answer.into_body().collect().await.expect("the answer must be whole").to_bytes();
        assert!(String::from_utf8_lossy(&text).contains("\"name\":\"c001\""));
    }
    let event = watch.frame().await.expect("the watch must go on").expect("the frame must be whole");
    assert!(String::from_utf8_lossy(event.data_ref().expect("it must be data")).contains("\"name\":\"c001\""));
    drop((watch, client));
    running.stop().await;
}

#[tokio::test]
async fn a_hundred_watches_over_tls_all_see_everything_in_order() {
    let running = Running::start().await;
    let maps: Api<ConfigMap> = Api::default_namespaced(running.client().await);
    let params = WatchParams::default();
    let watches = join_all((0..WATCHERS).map(|_| maps.watch(&params, "0"))).await;
    let seen = watches.into_iter().map(|watch| {
        let events = watch.expect("the watch must begin").take(EVENTS);
        events.map(|event| match event.expect("the watch must go on") {
            WatchEvent::Added(map) => map.name_any(),
            other => panic!("{other:?} must be an addition"),
        })
    });
    let writes = async {
        for number in 0..EVENTS {
            make(&maps, number).await;
        }
    };
    let (seen, ()) = tokio::join!(join_all(seen.map(StreamExt::collect::<Vec<_>>)), writes);
    let expected: Vec<String> = (0..EVENTS).map(|number| format!("c{number:03}")).collect();
    assert!(seen.iter().all(|seen| *seen == expected), "{seen:?}");
    running.stop().await;
}
