//! The way to an extension: a tower service, over TLS or in the same process.

use std::collections::BTreeMap;
use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::time::Instant;
use tower::util::BoxCloneSyncService;
use tower::{Service, ServiceExt};

use super::resolve::Resolver;
use super::tls::{self, TlsError};
use super::{ClientIdentity, Endpoint};

/// Whatever went wrong on the way.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;
/// The body of an answer, as it arrives.
pub type ResponseBody = UnsyncBoxBody<Bytes, BoxError>;
/// Takes a request to an extension and brings the answer. Redirects are answers.
pub type Transport = BoxCloneSyncService<Outgoing, Response<ResponseBody>, BoxError>;

/// How many servers can be kept connections to. More than there are ExtensionConfigs in any cluster.
pub const MAX_CLIENTS: usize = 256;
/// After how long the certificates that are trusted are read again.
const CLIENT_LIFETIME: Duration = Duration::from_hours(24);
/// How long an idle connection is kept: as long as a Go server keeps it.
const IDLE_TIMEOUT: Duration = Duration::from_secs(90);
/// How many idle connections to one server are kept. With HTTP/2 there is one.
const MAX_IDLE_CONNECTIONS: usize = 16;
/// How long an HTTP/2 connection may be silent until it is asked for a sign of life, and how long that may take: as
/// upstream does. Without it, calls would go on being lost on a connection whose other end has vanished.
const PING_INTERVAL: Duration = Duration::from_secs(30);
const PING_TIMEOUT: Duration = Duration::from_secs(15);
/// How long it may take to connect. A call that waits gives up earlier or now; this ends what nobody waits for.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// A request on its way to the server of an extension.
#[derive(Debug, Clone)]
pub struct Outgoing {
    pub endpoint: Endpoint,
    pub request: Request<Full<Bytes>>,
}

/// TLS to the servers of extensions. Keeps connections, by host and certificates.
#[derive(Clone)]
pub struct TlsTransport {
    identity: Arc<ClientIdentity>,
    resolver: Resolver,
    clients: Arc<Mutex<BTreeMap<ClientKey, Client>>>,
}

/// Connections are shared by what is trusted on them, and made anew when the own certificate has changed.
type ClientKey = (String, Vec<u8>);
type Connector = BoxCloneSyncService<http::Uri, Connection, BoxError>;
type Connection = hyper_rustls::MaybeHttpsStream<hyper_util::rt::TokioIo<tokio::net::TcpStream>>;
type HttpClient = hyper_util::client::legacy::Client<Connector, Full<Bytes>>;

#[derive(Clone)]
struct Client {
    http: HttpClient,
    identity_changes: u64,
    made_at: Instant,
}

impl TlsTransport {
    /// A transport that shows this certificate to extensions that ask for one.
    pub fn new(identity: Arc<ClientIdentity>) -> Self {
        Self { identity, resolver: Resolver::default(), clients: Arc::default() }
    }

    /// Reaches these hosts at these addresses, whatever DNS says: `<service>.<namespace>.svc` has no address outside
    /// of its cluster. The certificates are still checked for the hosts' names.
    #[must_use]
    pub fn with_hosts(self, hosts: BTreeMap<String, IpAddr>) -> Self {
        Self { resolver: Resolver::new(hosts), ..self }
    }

    /// The transport in the form that the [`Client`](super::Client) takes.
    pub fn boxed(self) -> Transport {
        BoxCloneSyncService::new(self)
    }

    fn client(&self, endpoint: &Endpoint) -> Result<HttpClient, TlsError> {
        let key = key_of(endpoint);
        let identity_changes = self.identity.changes();
        let is_good =
            |client: &Client| client.identity_changes == identity_changes && client.made_at.elapsed() < CLIENT_LIFETIME;
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        clients.retain(|_, client| is_good(client));
        if let Some(client) = clients.get(&key) {
            return Ok(client.http.clone());
        }
        let http = self.connect_with(endpoint.ca_bundle())?;
        if clients.len() >= MAX_CLIENTS {
            let oldest = clients.iter().min_by_key(|(_, client)| client.made_at).map(|(key, _)| key.clone());
            oldest.map(|oldest| clients.remove(&oldest));
        }
        clients.insert(key, Client { http: http.clone(), identity_changes, made_at: Instant::now() });
        Ok(http)
    }

    fn connect_with(&self, ca_bundle: &[u8]) -> Result<HttpClient, TlsError> {
        let config = tls::client_config(ca_bundle, Arc::clone(&self.identity) as _)?;
        let mut tcp = HttpConnector::new_with_resolver(self.resolver.clone());
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        let https = HttpsConnectorBuilder::new().with_tls_config(config).https_only();
        let https = https.enable_all_versions().wrap_connector(tcp);
        let bounded = tower::service_fn(move |uri: http::Uri| {
            let https = https.clone();
            async move { tokio::time::timeout(CONNECT_TIMEOUT, https.oneshot(uri)).await? }
        });
        let client = hyper_util::client::legacy::Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .pool_max_idle_per_host(MAX_IDLE_CONNECTIONS)
            .http2_keep_alive_interval(PING_INTERVAL)
            .http2_keep_alive_timeout(PING_TIMEOUT)
            .http2_keep_alive_while_idle(true)
            .build(BoxCloneSyncService::new(bounded));
        Ok(client)
    }
}

impl Service<Outgoing> for TlsTransport {
    type Response = Response<ResponseBody>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, outgoing: Outgoing) -> Self::Future {
        let client = self.client(&outgoing.endpoint);
        let suspicion = Suspicion { clients: Arc::clone(&self.clients), key: Some(key_of(&outgoing.endpoint)) };
        Box::pin(async move {
            let response = client?.request(outgoing.request).await;
            suspicion.dispel();
            Ok(response?.map(|body| body.map_err(BoxError::from).boxed_unsync()))
        })
    }
}

/// Drops the connections to a server when a call is given up before its answer has begun: the server may have vanished,
/// and the next call must not wait on the same connection. Calls on their way keep theirs.
struct Suspicion {
    clients: Arc<Mutex<BTreeMap<ClientKey, Client>>>,
    /// None: there was an answer, or an error that the connection itself knows of.
    key: Option<ClientKey>,
}

impl Suspicion {
    fn dispel(mut self) {
        self.key = None;
    }
}

impl Drop for Suspicion {
    fn drop(&mut self) {
        if let Some(key) = self.key.take() {
            self.clients.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
        }
    }
}

fn key_of(endpoint: &Endpoint) -> ClientKey {
    (endpoint.host().to_owned(), endpoint.ca_bundle().to_vec())
}
