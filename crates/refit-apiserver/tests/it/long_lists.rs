//! Lists are made piece by piece: what the server takes up for one does not grow with its length.

use futures::StreamExt;
use http::Request;
use http::header::ACCEPT;
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::api_kill::server::Server;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";
const COUNT: usize = 150;
const OBJECT_BYTES: usize = 200_000;
/// What the server may take up for a list of them: less than its text, of which 8 MiB are what it always keeps of decoded
/// objects. Made as a whole, it would be several times its text.
const BOUND_BYTES: usize = COUNT * OBJECT_BYTES;

#[tokio::test]
async fn a_list_takes_up_as_much_as_a_piece_of_it_in_every_form() {
    let folder = TempDir::new().expect("there must be a folder");
    let mut server = Server::start(folder.path()).await;
    fill(&server.client().await).await;
    server.kill();
    for (accept, query) in [
        ("application/yaml", ""),
        ("application/json", "?pretty=true"),
        (TABLE, "?includeObject=Object"),
        ("application/json", ""),
    ] {
        let server = Server::start(folder.path()).await;
        let client = server.client().await;
        read(&client, "/api/v1/namespaces", accept).await;
        let before = server.peak_bytes();
        let bytes = read(&client, &format!("{MAPS}{query}"), accept).await;
        assert!(bytes > COUNT * OBJECT_BYTES, "{accept}{query}: {bytes} bytes must be all of it");
        let grown = server.peak_bytes() - before;
        println!("{accept}{query}: {} MiB of {} MiB", grown >> 20, bytes >> 20);
        assert!(grown < BOUND_BYTES, "{accept}{query}: {} MiB for {} MiB", grown >> 20, bytes >> 20);
    }
}

/// Makes as many objects as the test needs.
async fn fill(client: &Client) {
    let value = "v".repeat(2_000);
    let data: Value = (0..=OBJECT_BYTES / 2_000).map(|number| (format!("k{number:06}"), json!(value))).collect();
    for number in 0..COUNT {
        let map =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("m{number}")}, "data": data});
        let request = Request::post(MAPS).header("content-type", "application/json");
        let request = request.body(Body::from(map.to_string().into_bytes())).expect("it must be a request");
        assert_eq!(client.send(request).await.expect("there must be an answer").status(), 201);
    }
}

/// Reads an answer to its end without keeping it. Returns its length.
async fn read(client: &Client, uri: &str, accept: &str) -> usize {
    let request = Request::get(uri).header(ACCEPT, accept).body(Body::empty()).expect("it must be a request");
    let response = client.send(request).await.expect("there must be an answer");
    assert_eq!(response.status(), 200);
    let mut frames = response.into_body().into_data_stream();
    let mut bytes = 0;
    while let Some(frame) = frames.next().await {
        bytes += frame.expect("the answer must be whole").len();
    }
    bytes
}
