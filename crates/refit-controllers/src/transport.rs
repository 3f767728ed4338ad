//! From the configuration of an API server to a client that waits for nobody for ever.
//!
//! A request that is not answered in [`REQUEST_LIMIT`] fails, and so does an answer that stops coming. Watches may be
//! silent for minutes: they go over HTTP/2, whose pings find out that nobody is there any more, and the connections of
//! both are kept alive by TCP.

mod limited;
#[cfg(test)]
mod tests;

use std::time::Duration;

use http::{Request, Response};
use http_body_util::BodyExt;
use hyper_rustls::{FixedServerNameResolver, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::retry::RetryPolicy;
use kube::client::{Body, ClientBuilder, ConfigExt, DynBody};
use kube::{Client, Config};
use tower::retry::RetryLayer;
use tower::util::{BoxCloneSyncService, BoxService, option_layer};
use tower::{BoxError, Layer, Service, ServiceExt};

pub use limited::{REQUEST_LIMIT, is_watch};

/// How long a connection may take to be made, TLS included.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// When TCP asks, how often, and how many answers may be missing: 15 + 3 * 5 seconds.
const KEEPALIVE: (Duration, Duration, u32) = (Duration::from_secs(15), Duration::from_secs(5), 3);
/// How long what was sent may stay without TCP's acknowledgement.
const UNACKNOWLEDGED_LIMIT: Duration = Duration::from_secs(20);
/// How long a connection without requests is kept.
const IDLE_LIMIT: Duration = Duration::from_secs(60);

/// A client that layers may be added to.
pub type Builder = ClientBuilder<BoxService<Request<Body>, Answer, BoxError>>;
type Answer = Response<Box<DynBody>>;
type Connector = BoxCloneSyncService<http::Uri, Connection, BoxError>;
type Connection = <HttpsConnector<HttpConnector> as Service<http::Uri>>::Response;

/// How it is found out that nobody is there any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pings {
    /// How often a server that watches are open on is asked whether it is there.
    pub every: Duration,
    /// How long it may take to answer that.
    pub limit: Duration,
}

impl Default for Pings {
    /// A dead connection is noticed within half a minute.
    fn default() -> Self {
        Self { every: Duration::from_secs(15), limit: Duration::from_secs(15) }
    }
}

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    #[error("the configuration cannot be used")]
    Config(#[from] kube::Error),
    #[error("{0:?} is no name of a server")]
    ServerName(String),
}

/// A client for the API server.
pub fn client(config: Config) -> Result<Client, TransportError> {
    Ok(builder(config)?.build())
}

/// A builder of such a client, to which layers may be added.
pub fn builder(config: Config) -> Result<Builder, TransportError> {
    builder_with(config, Pings::default())
}

/// The same with other pings.
pub fn builder_with(config: Config, pings: Pings) -> Result<Builder, TransportError> {
    if config.proxy_url.is_some() {
        // It says which part of kube is missing for proxies.
        return Ok(ClientBuilder::try_from(config)?);
    }
    let namespace = config.default_namespace.clone();
    // Three times within ten seconds, whatever the server asks for: no worker waits longer for it.
    let retry = config.default_retry.then(|| RetryLayer::new(RetryPolicy::default()));
    let service = limited::Limited::new(http_client(&config, None)?, http_client(&config, Some(pings))?);
    let service = config.extra_headers_layer()?.layer(service);
    let service = option_layer(config.auth_layer()?).layer(service);
    let service = option_layer(retry).layer(service);
    let service = config.base_uri_layer().layer(service);
    let service = ServiceExt::<Request<Body>>::map_response(service, boxed);
    Ok(ClientBuilder::new(service.boxed(), namespace))
}

fn boxed<B>(answer: Response<B>) -> Answer
where
    B: http_body::Body<Data = bytes::Bytes> + Send + Unpin + 'static,
    B::Error: Into<BoxError>,
{
    answer.map(|body| Box::new(body.map_err(Into::into)) as Box<DynBody>)
}

/// For requests, each connection carries one at a time. For watches one connection carries all, where the server can.
fn http_client(config: &Config, pings: Option<Pings>) -> Result<HttpClient<Connector, Body>, TransportError> {
    let mut builder = HttpClient::builder(TokioExecutor::new());
    builder.timer(TokioTimer::new()).pool_timer(TokioTimer::new()).pool_idle_timeout(IDLE_LIMIT);
    if let Some(Pings { every, limit }) = pings {
        builder
            .http2_keep_alive_interval(every)
            .http2_keep_alive_timeout(limit)
            .http2_keep_alive_while_idle(true)
            .http2_adaptive_window(true);
    }
    Ok(builder.build(connector(config, pings.is_some())?))
}

fn connector(config: &Config, for_watches: bool) -> Result<Connector, TransportError> {
    let https = HttpsConnectorBuilder::new().with_tls_config(config.rustls_client_config()?).https_or_http();
    let https = match &config.tls_server_name {
        Some(name) => {
            let known = name.clone().try_into().map_err(|_| TransportError::ServerName(name.clone()))?;
            https.with_server_name_resolver(FixedServerNameResolver::new(known))
        }
        None => https,
    };
    let https = match for_watches {
        true => https.enable_all_versions().wrap_connector(tcp()),
        false => https.enable_http1().wrap_connector(tcp()),
    };
    let limit = config.connect_timeout.unwrap_or(CONNECT_LIMIT).min(CONNECT_LIMIT);
    let bounded = tower::service_fn(move |uri: http::Uri| {
        let https = https.clone();
        async move { tokio::time::timeout(limit, https.oneshot(uri)).await? }
    });
    Ok(BoxCloneSyncService::new(bounded))
}

fn tcp() -> HttpConnector {
    let (idle, interval, retries) = KEEPALIVE;
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_keepalive(Some(idle));
    tcp.set_keepalive_interval(Some(interval));
    tcp.set_keepalive_retries(Some(retries));
    #[cfg(target_os = "linux")]
    tcp.set_tcp_user_timeout(Some(UNACKNOWLEDGED_LIMIT));
    tcp
}
