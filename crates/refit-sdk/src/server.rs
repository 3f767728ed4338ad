//! Serving an extension: TLS, HTTP/1.1 and HTTP/2, health, metrics, and an end in order.

mod certificate;
mod connection;
mod flags;
mod health;
mod metrics;
mod options;

use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

pub use certificate::{CertificateError, CertificateFiles};
pub use flags::FlagError;
pub use options::{Limits, ServerOptions, Transport};

use crate::Extension;
use certificate::Certificates;
use metrics::Metrics;

/// How long to wait after the operating system could not accept a connection: it lacks something that may come back.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// How often the end looks whether all updates have ended.
const UPDATES_INTERVAL: Duration = Duration::from_millis(100);

/// An extension that listens. It answers once [`run`](Self::run) is awaited.
pub struct Server {
    listener: TcpListener,
    health: Option<TcpListener>,
    shared: Shared,
    certificates: Option<Arc<Certificates>>,
    options: ServerOptions,
}

/// What all connections have in common.
#[derive(Clone)]
struct Shared {
    extension: Extension,
    metrics: Arc<Metrics>,
    requests: Arc<Semaphore>,
    /// Whether new calls are welcome.
    is_ready: Arc<AtomicBool>,
}

/// Why an extension cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    #[error("cannot listen on {address}")]
    Listen {
        address: SocketAddr,
        #[source]
        source: io::Error,
    },
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// Without TLS, whoever is on the way can read what controllers send, and answer in the extension's name.
    #[error("{0} is no loopback address; without TLS an extension is served on loopback only")]
    PlainBeyondLoopback(SocketAddr),
    #[error("the limit of {0} must not be zero")]
    ZeroLimit(&'static str),
}

impl Server {
    /// Listens, and reads the certificate. Nothing is answered yet.
    pub async fn bind(extension: Extension, options: ServerOptions) -> Result<Self, ServerError> {
        options.check()?;
        let certificates = match &options.transport {
            Transport::Plain => None,
            Transport::Tls(files) => Some(Arc::new(Certificates::read(files.clone())?)),
        };
        let listener = listen(options.address).await?;
        let health = match options.health_address {
            Some(address) => Some(listen(address).await?),
            None => None,
        };
        let shared = Shared {
            metrics: Arc::new(Metrics::new(&extension)),
            extension,
            requests: Arc::new(Semaphore::new(options.limits.requests)),
            is_ready: Arc::default(),
        };
        Ok(Self { listener, health, shared, certificates, options })
    }

    /// Where the extension is served. With port 0 in the options, the port that was picked.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Where health and metrics are served.
    pub fn health_address(&self) -> io::Result<Option<SocketAddr>> {
        self.health.as_ref().map(TcpListener::local_addr).transpose()
    }

    /// Serves until `shutdown` ends, then lets calls and updates come to their end, within the grace of the options.
    pub async fn run(self, shutdown: impl Future<Output = ()>) {
        let Self { listener, health, shared, certificates, options } = self;
        let mut background = JoinSet::new();
        if let Some(health) = health {
            background.spawn(health::serve(health, shared.clone()));
        }
        if let Some(certificates) = &certificates {
            background.spawn(Arc::clone(certificates).reload_every(options.reload_interval));
        }
        let acceptor = certificates.map(|certificates| TlsAcceptor::from(certificates.server_config()));
        let connections = GracefulShutdown::new();
        shared.is_ready.store(true, Ordering::Relaxed);
        tokio::select! {
            () = accept(&listener, acceptor, &shared, &options.limits, &connections) => {}
            () = shutdown => {}
        }
        shared.is_ready.store(false, Ordering::Relaxed);
        drop(listener);
        let end = async {
            connections.shutdown().await;
            updates_ended(&shared.extension).await;
        };
        if tokio::time::timeout(options.shutdown_grace, end).await.is_err() {
            tracing::warn!(running = shared.extension.running_updates(), "ended before all calls and updates had");
        }
    }

    /// Serves until the process is asked to end, with SIGTERM or Ctrl-C.
    pub async fn run_until_signal(self) {
        self.run(signal()).await;
    }
}

async fn listen(address: SocketAddr) -> Result<TcpListener, ServerError> {
    let listener = match TcpListener::bind(address).await {
        // A system without IPv6 has no `[::]`; there, all addresses are those of IPv4.
        Err(_) if address.ip() == Ipv6Addr::UNSPECIFIED => {
            TcpListener::bind((Ipv4Addr::UNSPECIFIED, address.port())).await
        }
        listener => listener,
    };
    listener.map_err(|source| ServerError::Listen { address, source })
}

/// Takes connections, no more at a time than the limit says. Never returns.
async fn accept(
    listener: &TcpListener,
    acceptor: Option<TlsAcceptor>,
    shared: &Shared,
    limits: &Limits,
    connections: &GracefulShutdown,
) {
    let slots = Arc::new(Semaphore::new(limits.connections));
    loop {
        let Ok(slot) = Arc::clone(&slots).acquire_owned().await else { return };
        let stream = accepted(listener).await;
        let connection = connection::Connection {
            stream,
            acceptor: acceptor.clone(),
            shared: shared.clone(),
            limits: *limits,
            watcher: connections.watcher(),
        };
        tokio::spawn(async move {
            connection.serve().await;
            drop(slot);
        });
    }
}

async fn accepted(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return stream,
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn updates_ended(extension: &Extension) {
    while extension.running_updates() > 0 {
        tokio::time::sleep(UPDATES_INTERVAL).await;
    }
}

#[cfg(unix)]
async fn signal() {
    use tokio::signal::unix::{SignalKind, signal};
    let interrupt = tokio::signal::ctrl_c();
    match signal(SignalKind::terminate()) {
        Ok(mut terminate) => tokio::select! { _ = interrupt => {}, _ = terminate.recv() => {} },
        Err(_) => drop(interrupt.await),
    }
}

#[cfg(not(unix))]
async fn signal() {
    let _ = tokio::signal::ctrl_c().await;
}
