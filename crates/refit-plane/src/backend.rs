//! Where objects are: the embedded API server, or somebody else's, and a place for workload clusters.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use kube::Client;
use refit_apiserver::access;
use refit_apiserver::clusters::ClusterError;
use refit_apiserver::credentials::{Credentials, CredentialsError, certificate_names};
use refit_apiserver::host::Host;
use refit_apiserver::server::{Limits, Server, ServerError};
use refit_apiserver::store::{OpenError, Store};
use refit_provider_sim::{WorkloadServer, WorkloadServerError, Workloads};
use tempfile::TempDir;
use tower::Layer;

use crate::client::{ClientError, connect, connect_counted};
use crate::definitions::{DefinitionError, install};
use crate::requests::Requests;
use crate::task::Task;

/// Why there is no API server to work with.
#[derive(Debug, thiserror::Error)]
pub enum BackendError {
    #[error(transparent)]
    Store(#[from] OpenError),
    #[error("the store cannot be used")]
    Cluster(#[from] ClusterError),
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
    #[error(transparent)]
    Server(#[from] ServerError),
    #[error(transparent)]
    Definition(#[from] DefinitionError),
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error("the workload clusters have no API server")]
    Workloads(#[from] WorkloadServerError),
    #[error("there is no temporary folder")]
    Folder(#[source] std::io::Error),
}

/// How the embedded server is run.
#[derive(Debug, Clone)]
pub struct EmbeddedOptions {
    /// Holds everything that outlives the process. None: objects are in memory, credentials in a temporary folder.
    pub data_dir: Option<PathBuf>,
    /// Port 0 is any free one.
    pub bind: SocketAddr,
    /// Host names and addresses besides the local ones that the server's certificate is for.
    pub names: Vec<String>,
}

impl Default for EmbeddedOptions {
    /// Nothing outlives the process, and nobody outside of this machine reaches it.
    fn default() -> Self {
        Self { data_dir: None, bind: (Ipv4Addr::LOCALHOST, 0).into(), names: Vec::new() }
    }
}

/// An API server with all kinds that are needed, and a place for workload clusters.
pub struct Backend {
    kind: Kind,
    workloads: Workloads,
    kubeconfig: PathBuf,
    url: Option<String>,
    address: Option<SocketAddr>,
    folder: Folder,
}

/// Whose API server it is.
enum Kind {
    /// Ours, in this process.
    Embedded { host: Host, server: Task },
    /// Somebody else's; the workload clusters are on a server of ours.
    Foreign { workloads: WorkloadServer },
}

/// Where files are kept.
enum Folder {
    Given(PathBuf),
    Temporary(TempDir),
}

impl Folder {
    fn new(given: Option<&Path>) -> Result<Self, BackendError> {
        match given {
            Some(path) => Ok(Self::Given(path.to_owned())),
            None => TempDir::new().map(Self::Temporary).map_err(BackendError::Folder),
        }
    }

    fn path(&self) -> &Path {
        match self {
            Self::Given(path) => path,
            Self::Temporary(folder) => folder.path(),
        }
    }
}

impl Backend {
    /// Starts the embedded server, in this process and over HTTPS. The workload clusters are on it too.
    pub async fn embedded(options: &EmbeddedOptions) -> Result<Self, BackendError> {
        let folder = Folder::new(options.data_dir.as_deref())?;
        let store = match &options.data_dir {
            Some(path) => Store::open(path)?,
            None => Store::in_memory(),
        };
        let credentials =
            Credentials::open(folder.path(), &certificate_names(&options.names, options.bind), Timestamp::now())?;
        let host = Host::start_on_system(store).await?;
        let server = Server::bind(host.clone(), credentials, options.bind, Limits::default()).await?;
        let (kubeconfig, url) = (server.kubeconfigs().write()?, Some(server.url().to_owned()));
        let address = Some(server.address());
        let workloads = Workloads::on(host.clone(), &server);
        let server = Task::spawn(|ended| server.run(ended.wait()));
        install(&in_process(&host)).await?;
        Ok(Self { kind: Kind::Embedded { host, server }, workloads, kubeconfig, url, address, folder })
    }

    /// Works on the API server that a kubeconfig names. The workload clusters are served from `folder`, or from a
    /// temporary one.
    pub async fn foreign(kubeconfig: &Path, folder: Option<&Path>) -> Result<Self, BackendError> {
        let folder = Folder::new(folder)?;
        install(&connect(Some(kubeconfig)).await?).await?;
        let server = WorkloadServer::start(folder.path(), Arc::new(Timestamp::now)).await?;
        let (workloads, kubeconfig) = (server.workloads(), kubeconfig.to_owned());
        Ok(Self { kind: Kind::Foreign { workloads: server }, workloads, kubeconfig, url: None, address: None, folder })
    }

    /// A client that may do everything. It belongs to the runtime that it is made in.
    pub async fn client(&self) -> Result<Client, ClientError> {
        self.client_counted(&Requests::default()).await
    }

    /// The same, with its requests counted.
    pub async fn client_counted(&self, requests: &Requests) -> Result<Client, ClientError> {
        match &self.kind {
            Kind::Embedded { host, .. } => Ok(Client::new(requests.layer(host.service(access::admin())), "default")),
            Kind::Foreign { .. } => connect_counted(Some(&self.kubeconfig), requests).await,
        }
    }

    /// The workload clusters. Their clients belong to the runtime that they are made in.
    pub fn workloads(&self) -> Workloads {
        self.workloads.with_own_clients()
    }

    /// The administrator's.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Where the embedded server listens.
    pub fn url(&self) -> Option<&str> {
        self.url.as_deref()
    }

    /// The address of its socket, which may be of all interfaces.
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// Where files may be kept that are to live as long as the objects.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Answers what has begun, and ends.
    pub async fn stop(self) {
        match self.kind {
            Kind::Embedded { server, host, .. } => {
                server.stop().await;
                host.rest().await;
            }
            Kind::Foreign { workloads } => workloads.stop().await,
        }
    }
}

fn in_process(host: &Host) -> Client {
    Client::new(host.service(access::admin()), "default")
}
