//! The two servers that are asked the same: the embedded one and the real kube-apiserver.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use http_body_util::BodyExt;
use jiff::Timestamp;
use kube::client::Body as KubeBody;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use refit_apiserver::api::{Api, Body, Entropy, Settings};
use refit_apiserver::request::{Path, Query, Request, User};
use refit_apiserver::store::Store;
use refit_peers::ControlPlane;

use super::ask::Ask;

/// The program that all requests come from.
const AGENT: &str = "conformance/1";
/// Longer than any watch in the cases, and than any other answer takes a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(180);

/// An answer before anything is made comparable.
#[derive(Debug, Clone)]
pub struct Raw {
    pub code: u16,
    pub headers: HeaderMap,
    pub body: Bytes,
}

pub enum End {
    Embedded(Api),
    Real(Client),
}

impl End {
    /// The embedded server without Cluster API's own admission, which the real one does not have either.
    pub async fn embedded() -> Self {
        let settings = Settings { admission: false };
        let api = Api::with_settings(Store::in_memory(), Arc::new(Timestamp::now), Entropy::from_seed(1), settings);
        api.create_cluster(&Arc::from("")).await.expect("a logical cluster must be made");
        Self::Embedded(api)
    }

    pub async fn real(plane: &ControlPlane) -> Self {
        let kubeconfig = Kubeconfig::read_from(plane.kubeconfig()).expect("the kubeconfig must be readable");
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
        let mut config = config.expect("the kubeconfig must be complete");
        // An answer that says to come again is an answer.
        config.default_retry = false;
        Self::Real(Client::try_from(config).expect("a client must start"))
    }

    /// Sends a request and waits for the whole answer.
    pub async fn send(&self, ask: &Ask) -> Raw {
        let raw = async {
            match self {
                Self::Embedded(api) => embedded(api, ask).await,
                Self::Real(client) => real(client, ask).await,
            }
        };
        let waited = tokio::time::timeout(PATIENCE, raw).await;
        waited.unwrap_or_else(|_| panic!("no answer to {} {}", ask.method, ask.uri))
    }
}

fn headers(ask: &Ask) -> HeaderMap {
    let mut headers = HeaderMap::from_iter([(header::USER_AGENT, HeaderValue::from_static(AGENT))]);
    for (name, value) in &ask.headers {
        let value = HeaderValue::from_str(value).expect("a header must be well formed");
        headers.insert(HeaderName::from_static(name), value);
    }
    headers
}

async fn embedded(api: &Api, ask: &Ask) -> Raw {
    let (path, query) = ask.uri.split_once('?').unwrap_or((&ask.uri, ""));
    let request = Request {
        method: ask.method.clone(),
        cluster: Arc::from(""),
        path: Path::parse(path),
        query: Query::parse(query),
        headers: headers(ask),
        body: ask.body.clone().into(),
        user: User::default(),
    };
    let answer = api.handle(&request).await;
    let body = match answer.body {
        Body::Whole(bytes) => bytes,
        Body::Parts { parts: stream, .. } | Body::Stream(stream) => {
            stream.collect::<Vec<Bytes>>().await.concat().into()
        }
    };
    Raw { code: answer.status.as_u16(), headers: answer.headers, body }
}

async fn real(client: &Client, ask: &Ask) -> Raw {
    let mut request = http::Request::builder().method(ask.method.clone()).uri(&ask.uri);
    if let Some(into) = request.headers_mut() {
        into.extend(headers(ask));
    }
    let request = request.body(KubeBody::from(ask.body.clone())).expect("a request must be well formed");
    let response = client.send(request).await.expect("the server must answer");
    let (code, headers) = (response.status().as_u16(), response.headers().clone());
    let body = response.into_body().collect().await.expect("the answer must arrive").to_bytes();
    Raw { code, headers, body }
}
