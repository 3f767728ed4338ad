//! An embedded server of the provider's own, for management clusters that are somebody else's.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use refit_apiserver::api::{Clock, Entropy};
use refit_apiserver::clusters::ClusterError;
use refit_apiserver::credentials::{Credentials, CredentialsError};
use refit_apiserver::host::Host;
use refit_apiserver::server::{Limits, Server, ServerError};
use refit_apiserver::store::{OpenError, Store};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::Workloads;

/// The file that remembers the port: what was written into kubeconfigs should stay true.
const PORT_FILE: &str = "port";

/// Why the server did not start.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadServerError {
    #[error(transparent)]
    Store(#[from] OpenError),
    #[error("the API did not start")]
    Api(#[from] ClusterError),
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
    #[error(transparent)]
    Server(#[from] ServerError),
    #[error("{} cannot be written", path.display())]
    Port { path: PathBuf, source: io::Error },
}

/// A server of workload clusters on the loopback address. State is in one folder, and survives a restart.
pub struct WorkloadServer {
    host: Host,
    workloads: Workloads,
    end: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl WorkloadServer {
    /// Starts the server over a folder, on the port of the last time where that is free.
    pub async fn start(folder: &Path, clock: Clock) -> Result<Self, WorkloadServerError> {
        let now = clock();
        let host = Host::start(Store::open(folder)?, clock, Entropy::from_system()).await?;
        let open = || Credentials::open(folder, &[], now);
        let remembered = Server::bind(host.clone(), open()?, loopback(port(folder)), Limits::default()).await;
        let server = match remembered {
            Ok(server) => server,
            Err(_) => Server::bind(host.clone(), open()?, loopback(0), Limits::default()).await?,
        };
        remember(folder, server.address().port())?;
        let workloads = Workloads::on(host.clone(), &server);
        let (end, ended) = oneshot::channel();
        let task = tokio::spawn(server.run(async move {
            let _ = ended.await;
        }));
        Ok(Self { host, workloads, end, task })
    }

    /// The workload clusters on it.
    pub fn workloads(&self) -> Workloads {
        self.workloads.clone()
    }

    /// Answers what has begun, and ends.
    pub async fn stop(self) {
        drop(self.end);
        if let Err(error) = self.task.await {
            tracing::warn!(%error, "the server of workload clusters did not end well");
        }
        self.host.rest().await;
    }
}

fn loopback(port: u16) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port)
}

/// The port of the last time; 0 for any.
fn port(folder: &Path) -> u16 {
    let text = std::fs::read_to_string(folder.join(PORT_FILE)).unwrap_or_default();
    text.trim().parse().unwrap_or(0)
}

fn remember(folder: &Path, port: u16) -> Result<(), WorkloadServerError> {
    let path = folder.join(PORT_FILE);
    std::fs::write(&path, port.to_string()).map_err(|source| WorkloadServerError::Port { path, source })
}
