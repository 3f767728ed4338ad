//! What clients are shown, beside what the real server shows them.

mod objects;

use std::collections::BTreeMap;

use http::Request;
use http::header::{ACCEPT, CONTENT_TYPE};
use kube::Client;
use refit_peers::{ControlPlane, Options, require_peers};
use serde_json::{Value, json};

use crate::running::{Running, admin_in_process, client};
use objects::{Example, examples};

const TABLE: &str = "application/json;as=Table;g=meta.k8s.io;v=v1";
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const DEFINITION: &str = include_str!("kubectl/widgets.yaml");

/// Both servers, ready to be asked the same.
struct Both {
    _real_server: ControlPlane,
    _embedded_server: Running,
    real: Client,
    embedded: Client,
}

impl Both {
    /// `None`: there is no Go, which was said.
    async fn start() -> Option<Self> {
        let peers = require_peers()?;
        let real_server = ControlPlane::start(&peers, Options::default()).expect("the real server must start");
        let kubeconfig = std::fs::read_to_string(real_server.kubeconfig()).expect("there must be a kubeconfig");
        let embedded_server = Running::start().await;
        let real = client(&kubeconfig).await;
        let embedded = admin_in_process(&embedded_server.host);
        Some(Self { _real_server: real_server, _embedded_server: embedded_server, real, embedded })
    }

    /// Sends the same to both.
    async fn send(&self, method: &str, path: &str, content_type: &str, body: &str) {
        for client in [&self.real, &self.embedded] {
            let request = Request::builder().method(method).uri(path).header(CONTENT_TYPE, content_type);
            let request = request.body(body.as_bytes().to_vec()).expect("it must be a request");
            if let Err(error) = client.request_text(request).await {
                panic!("{method} {path}: {error}");
            }
        }
    }

    /// What both answer: the real server's answer, and the embedded one's.
    async fn get(&self, path: &str, accept: &str) -> [Value; 2] {
        [get(&self.real, path, accept).await, get(&self.embedded, path, accept).await]
    }
}

async fn get(client: &Client, path: &str, accept: &str) -> Value {
    let request = Request::get(path).header(ACCEPT, accept).body(Vec::new()).expect("it must be a request");
    let text = client.request_text(request).await.unwrap_or_else(|error| panic!("{path}: {error}"));
    serde_json::from_str(&text).expect("it must be JSON")
}

/// The columns without their descriptions, and the cells without the times in them.
fn shown(table: &Value) -> Value {
    let columns = table["columnDefinitions"].as_array().expect("there must be columns");
    let names: Vec<&str> = columns.iter().filter_map(|column| column["name"].as_str()).collect();
    let columns: Value = columns
        .iter()
        .map(|column| json!([column["name"], column["type"], column["format"], column["priority"]]))
        .collect();
    let rows: Value = table["rows"].as_array().into_iter().flatten().map(|row| timeless(row, &names)).collect();
    json!({"kind": table["kind"], "apiVersion": table["apiVersion"], "columns": columns, "rows": rows})
}

fn timeless(row: &Value, columns: &[&str]) -> Value {
    let cells = row["cells"].as_array().into_iter().flatten().zip(columns);
    let cell = |(cell, column): (&Value, &&str)| match *column {
        "Age" | "Created At" => json!(cell.is_string()),
        _ => cell.clone(),
    };
    let object = &row["object"];
    json!({
        "cells": cells.map(cell).collect::<Value>(),
        "conditions": row["conditions"],
        "object": [object["kind"], object["apiVersion"], object["metadata"]["name"]],
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_have_the_columns_and_cells_of_the_real_server() {
    let Some(both) = Both::start().await else { return };
    for Example { collection, name, object, status } in examples() {
        both.send("POST", collection, "application/json", &object.to_string()).await;
        let path = format!("{collection}/{name}");
        if let Some(status) = status {
            let patch = json!({"status": status}).to_string();
            both.send("PATCH", &format!("{path}/status"), "application/merge-patch+json", &patch).await;
        }
        let [real, embedded] = both.get(&path, TABLE).await;
        assert_eq!(shown(&embedded), shown(&real), "{path}");
    }
}

/// The status code of an answer, its media type without parameters, and its kind where it is JSON.
async fn answered(client: &Client, path: &str, accept: &str) -> (u16, String, Value) {
    let request = Request::get(path).header(ACCEPT, accept).body(kube::client::Body::empty());
    let answer = client.send(request.expect("it must be a request")).await.expect("there must be an answer");
    let status = answer.status().as_u16();
    let media_type = answer.headers().get(CONTENT_TYPE).and_then(|name| name.to_str().ok()).unwrap_or_default();
    let media_type = media_type.split(';').next().unwrap_or_default().to_owned();
    let body = http_body_util::BodyExt::collect(answer.into_body()).await.expect("it must be whole").to_bytes();
    let json: Value = serde_json::from_slice(&body).unwrap_or_default();
    (status, media_type, json["kind"].clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_clients_accept_is_weighed_as_the_real_server_does() {
    let Some(both) = Both::start().await else { return };
    let (object, list) = ("/api/v1/namespaces/default", "/api/v1/namespaces");
    for (path, accept) in [
        (object, ""),
        (object, "*/*"),
        (object, "application/yaml"),
        (object, "application/json;q=0.1,application/yaml"),
        (object, "application/xml"),
        (object, "application/xml,application/json"),
        (object, "application/json;as=Table;g=meta.k8s.io;v=v2"),
        (object, "application/json;as=Table"),
        (object, "application/json;as=Foo;g=meta.k8s.io;v=v1,application/json"),
        (object, "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"),
        (list, "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"),
        (list, "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"),
        (list, TABLE),
        ("/api/v1/namespaces?watch=1&timeoutSeconds=1", "application/yaml"),
        ("/api/v1/namespaces?includeObject=x", TABLE),
        ("/apis", "application/json;g=apidiscovery.k8s.io;v=v1;as=APIGroupDiscoveryList"),
        ("/apis", AGGREGATED),
        ("/apis/nope", ""),
        ("/apis/apps/v1", ""),
        ("/openapi/v3/api/v1", "application/json"),
    ] {
        let real = answered(&both.real, path, accept).await;
        assert_eq!(answered(&both.embedded, path, accept).await, real, "{path} {accept}");
    }
}

/// The lines of a watch that ends by itself, without what differs from server to server.
async fn watched(client: &Client, seconds: u32) -> Vec<Value> {
    let query = "fieldSelector=metadata.namespace%3Ddefault&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let path = format!("/api/v1/namespaces/default/configmaps?watch=1&timeoutSeconds={seconds}&{query}");
    let request = Request::get(path).header(ACCEPT, TABLE).body(Vec::new()).expect("it must be a request");
    let text = client.request_text(request).await.expect("there must be an answer");
    let lines = text.lines().map(|line| serde_json::from_str(line).expect("a line must be JSON"));
    let shape = |event: Value| {
        let table = &event["object"];
        let columns = table["columnDefinitions"].as_array().map(Vec::len);
        let names: Vec<&Value> = table["rows"].as_array().into_iter().flatten().map(|row| &row["cells"][0]).collect();
        json!([event["type"], table["kind"], columns, names])
    };
    lines.map(shape).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_first_table_of_a_watch_defines_columns() {
    let Some(both) = Both::start().await else { return };
    for name in ["a", "b"] {
        let map = json!({"metadata": {"name": name}}).to_string();
        both.send("POST", "/api/v1/namespaces/default/configmaps", "application/json", &map).await;
    }
    // A slow machine may not get to all of it in a second.
    let mut seen = [Vec::new(), Vec::new()];
    for seconds in [1, 10, 60] {
        seen = [watched(&both.real, seconds).await, watched(&both.embedded, seconds).await];
        if seen.iter().all(|events| events.len() == 3) {
            break;
        }
    }
    let [real, embedded] = seen;
    assert_eq!(real.len(), 3, "{real:?}");
    assert_eq!(embedded, real);
}

/// The resources of a list by name. In which version objects are stored is each server's own affair.
fn by_name(list: &Value) -> BTreeMap<String, Value> {
    let named = |entry: &Value| {
        let mut entry = entry.clone();
        entry.as_object_mut().and_then(|fields| fields.remove("storageVersionHash"));
        (entry["name"].as_str().unwrap_or_default().to_owned(), entry)
    };
    list.as_array().into_iter().flatten().map(named).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn discovery_describes_resources_as_the_real_server_does() {
    let Some(both) = Both::start().await else { return };
    both.send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "application/yaml", DEFINITION).await;
    until_served(&both.real).await;
    let [_, groups] = both.get("/apis", "application/json").await;
    let versions = groups["groups"].as_array().into_iter().flatten();
    let paths = versions.filter_map(|group| group["preferredVersion"]["groupVersion"].as_str());
    for path in paths.map(|version| format!("/apis/{version}")).chain(["/api/v1".to_owned()]) {
        let [real, embedded] = both.get(&path, "application/json").await;
        assert_eq!((&embedded["kind"], &embedded["groupVersion"]), (&real["kind"], &real["groupVersion"]));
        let real = by_name(&real["resources"]);
        for (name, resource) in by_name(&embedded["resources"]) {
            assert_eq!(Some(&resource), real.get(&name), "{path} {name}");
        }
    }
    let [real, embedded] = both.get("/apis", AGGREGATED).await;
    let widgets = |list: &Value| list["items"].as_array().and_then(|items| items.last()).cloned();
    assert_eq!(widgets(&embedded), widgets(&real));
}

/// The real server serves a definition some time after it was made.
async fn until_served(client: &Client) {
    for _ in 0..1800 {
        let all = get(client, "/apis", AGGREGATED).await;
        let is_served =
            |group: &Value| group["metadata"]["name"] == "example.io" && group["versions"][0]["freshness"] == "Current";
        if all["items"].as_array().is_some_and(|groups| groups.iter().any(is_served)) {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    panic!("the real server must serve widgets");
}
