//! The API over HTTPS.
//!
//! Every connection speaks TLS 1.2 or newer, HTTP/1.1 or HTTP/2. What clients can make grow has a bound in [`Limits`].

mod authenticate;
mod connection;
mod guard;
mod limits;
mod memory;
mod presence;
mod pump;
mod respond;
mod shares;
mod stall;
mod strangers;
mod timely;
mod tls;

use std::future::Future;
use std::net::SocketAddr;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use jiff::Timestamp;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, interval_at, sleep, timeout};
use tokio_rustls::TlsAcceptor;

use crate::access::{Tokens, cluster_admin};
use crate::clusters::LogicalCluster;
use crate::credentials::{Credentials, CredentialsError};
use crate::host::Host;

pub use limits::Limits;
use memory::Memory;
use pump::CHUNK_BYTES;
use shares::{Bounds, Shares};
use strangers::Strangers;
use tls::Certificates;

/// Connections that the kernel keeps for us while we are busy.
const BACKLOG: u32 = 1024;
/// Requests for Leases that are answered when there is no room for others: 40, of which nobody has more than ten.
const LEASE_REQUESTS: usize = 40;
/// How long accepting rests after it failed: mostly the process has no file descriptors left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// How often certificates are looked at. They are made anew weeks before their end.
const RENEW_EVERY: Duration = Duration::from_secs(12 * 60 * 60);

/// Why the server did not start.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    #[error("cannot listen on {address}")]
    Bind {
        address: SocketAddr,
        #[source]
        source: std::io::Error,
    },
    #[error("TLS cannot be set up")]
    Tls(#[source] rustls::Error),
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
}

/// A server that listens.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    shared: Arc<Shared>,
    acceptor: TlsAcceptor,
}

/// What all connections use.
struct Shared {
    host: Host,
    secrets: Arc<Secrets>,
    tokens: RwLock<Arc<Tokens>>,
    limits: Limits,
    requests: Arc<Shares>,
    /// For Leases alone, so that whoever leads can say so however busy the server is.
    leases: Arc<Shares>,
    watches: Arc<Shares>,
    answers: Arc<Memory>,
    /// What one user's answers take up of it, in chunks.
    answer_shares: Arc<Shares>,
    /// Connections on which somebody has said who they are.
    connections: Arc<Shares>,
    strangers: Arc<Strangers>,
    ending: watch::Sender<bool>,
}

struct Secrets {
    credentials: RwLock<Arc<Credentials>>,
    certificates: Arc<Certificates>,
    url: String,
}

impl Server {
    /// Listens on an address, port 0 for a free one. Connections wait until [`Server::run`].
    pub async fn bind(
        host: Host,
        credentials: Credentials,
        address: SocketAddr,
        limits: Limits,
    ) -> Result<Self, ServerError> {
        let failed = |source| ServerError::Bind { address, source };
        let listener = listen(address).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let certificates = Arc::new(Certificates::new(credentials.server()).map_err(ServerError::Tls)?);
        let acceptor = tls::acceptor(credentials.authority().certificate(), certificates.clone());
        let acceptor = acceptor.map_err(ServerError::Tls)?;
        let tokens = RwLock::new(Arc::new(credentials.tokens()));
        let credentials = RwLock::new(Arc::new(credentials));
        let secrets = Arc::new(Secrets { credentials, certificates, url: url(address) });
        let shared = Shared {
            host,
            secrets,
            tokens,
            limits,
            requests: Shares::new(Bounds::new(limits.requests)),
            leases: Shares::new(Bounds::new(LEASE_REQUESTS)),
            watches: Shares::new(Bounds::new(limits.watches)),
            answers: Arc::new(Memory::new(limits.answer_bytes)),
            answer_shares: Shares::new(Bounds::new(limits.answer_bytes / CHUNK_BYTES)),
            connections: Shares::new(Bounds::new(limits.connections)),
            strangers: Strangers::new(limits.strangers),
            ending: watch::Sender::new(false),
        };
        Ok(Self { listener, address, shared: Arc::new(shared), acceptor })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address that clients on this machine use.
    pub fn url(&self) -> &str {
        &self.shared.secrets.url
    }

    /// Makes kubeconfigs, also while the server runs.
    pub fn kubeconfigs(&self) -> Kubeconfigs {
        Kubeconfigs { secrets: self.shared.secrets.clone() }
    }

    /// Serves until `end` is ready. Then watches end, requests that have begun are answered, and nothing more is read.
    pub async fn run(self, end: impl Future<Output = ()>) {
        let Self { listener, shared, acceptor, .. } = self;
        let connections = Arc::new(Semaphore::new(shared.limits.connections));
        let mut tasks = JoinSet::new();
        let mut renewal = interval_at(Instant::now() + RENEW_EVERY, RENEW_EVERY);
        tokio::pin!(end);
        loop {
            tokio::select! {
                () = &mut end => break,
                _ = renewal.tick() => {
                    let shared = shared.clone();
                    tokio::task::spawn_blocking(move || shared.renew());
                }
                Some(_) = tasks.join_next() => {}
                (stream, permit) = accept(&listener, &connections) => {
                    tasks.spawn(connection::serve(shared.clone(), acceptor.clone(), stream, permit));
                }
            }
        }
        drop(listener);
        shared.host.health().end();
        shared.ending.send_replace(true);
        let all = async { while tasks.join_next().await.is_some() {} };
        if timeout(shared.limits.shutdown, all).await.is_err() {
            tasks.shutdown().await;
        }
    }
}

impl Shared {
    /// Makes certificates anew that are near their end. A failure is said; the old ones serve a while longer.
    fn renew(&self) {
        let now = self.host.api().now();
        let renewed = self.secrets.current().renewed(now).and_then(|credentials| {
            credentials.write_kubeconfigs(&self.secrets.url)?;
            Ok(credentials)
        });
        match renewed {
            Ok(credentials) => self.install(credentials),
            Err(error) => tracing::warn!(%error, "certificates could not be renewed"),
        }
    }

    fn install(&self, credentials: Credentials) {
        if let Err(error) = self.secrets.certificates.replace(credentials.server()) {
            tracing::warn!(%error, "the server's new certificate cannot be used");
            return;
        }
        *self.tokens.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(credentials.tokens());
        *self.secrets.credentials.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(credentials);
    }
}

impl Secrets {
    fn current(&self) -> Arc<Credentials> {
        self.credentials.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Makes kubeconfigs for the logical clusters of a server. Cloning shares it.
#[derive(Clone)]
pub struct Kubeconfigs {
    secrets: Arc<Secrets>,
}

impl Kubeconfigs {
    /// The kubeconfig of a logical cluster, whose user reaches that cluster and nothing else.
    pub fn of_cluster(&self, cluster: &LogicalCluster, now: Timestamp) -> Result<String, CredentialsError> {
        let url = format!("{}/clusters/{}", self.secrets.url, cluster.name);
        self.secrets.current().kubeconfig_for(&cluster_admin(cluster), &url, now)
    }

    /// Writes the kubeconfigs of the server's own users into the data folder. Returns where the administrator's is.
    pub fn write(&self) -> Result<std::path::PathBuf, CredentialsError> {
        self.secrets.current().write_kubeconfigs(&self.secrets.url)
    }
}

fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    // Accepted connections inherit it: a client that vanished is found out.
    socket.set_keepalive(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// The next connection, as soon as there is room for one more; until then they wait in the kernel.
async fn accept(listener: &TcpListener, connections: &Arc<Semaphore>) -> (TcpStream, OwnedSemaphorePermit) {
    let permit = connections.clone().acquire_owned().await.expect("the semaphore must stay open");
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return (stream, permit),
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// A server on all addresses is reached on this machine by the loopback one.
fn url(address: SocketAddr) -> String {
    let mut address = address;
    match address {
        SocketAddr::V4(v4) if v4.ip().is_unspecified() => address.set_ip(std::net::Ipv4Addr::LOCALHOST.into()),
        SocketAddr::V6(v6) if v6.ip().is_unspecified() => address.set_ip(std::net::Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    format!("https://{address}")
}
