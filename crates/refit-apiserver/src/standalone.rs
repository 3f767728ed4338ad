//! The server as a program of its own: one data folder, one address, until a signal ends it.

mod definitions;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use rustix::process::{Resource, getrlimit, setrlimit};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::api::Entropy;
use crate::audit::Audit;
use crate::clusters::ClusterError;
use crate::credentials::{Credentials, CredentialsError, certificate_names};
use crate::host::Host;
use crate::server::{Limits, Server, ServerError};
use crate::status::Status;
use crate::store::{Folder, OpenError, Store};

/// Files that are open besides connections.
const OTHER_FILES: u64 = 64;

/// What is run, and where.
#[derive(Debug, Clone)]
pub struct Options {
    /// Holds everything that outlives the process, and the kubeconfigs.
    pub data_dir: PathBuf,
    /// Port 0 is any free one.
    pub bind: SocketAddr,
    /// Host names and addresses besides the local ones that the certificate is for.
    pub names: Vec<String>,
    /// Keeps credentials in the folder and objects in memory only.
    pub in_memory: bool,
    /// Installs refit's own definitions, or brings them up to date.
    pub with_crds: bool,
    /// Where it is written down who did what; nowhere without it.
    pub audit_log: Option<PathBuf>,
}

/// A server that answers.
#[derive(Debug, Clone)]
pub struct Started {
    pub url: String,
    pub address: SocketAddr,
    /// The administrator's.
    pub kubeconfig: PathBuf,
}

/// Why the server did not start.
#[derive(Debug, thiserror::Error)]
pub enum StandaloneError {
    #[error(transparent)]
    Store(#[from] OpenError),
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
    #[error(transparent)]
    Server(#[from] ServerError),
    #[error("the store cannot be used")]
    Cluster(#[from] ClusterError),
    #[error("definition {name} was refused: {}", status.message)]
    Definition { name: String, status: Box<Status> },
    #[error("the audit log {} cannot be written", path.display())]
    Audit {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("the process cannot be set up")]
    Process(#[source] io::Error),
}

/// Runs the server until SIGTERM or SIGINT. `on_start` is called once it answers.
///
/// # Guarantees
/// When it returns, every request that was begun is answered or cut off, and the folder is free for another process.
pub fn run(options: &Options, on_start: impl FnOnce(&Started)) -> Result<(), StandaloneError> {
    let limits = Limits::default();
    allow_files(limits.connections as u64 + OTHER_FILES);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.map_err(StandaloneError::Process)?.block_on(serve(options, limits, on_start))
}

async fn serve(options: &Options, limits: Limits, on_start: impl FnOnce(&Started)) -> Result<(), StandaloneError> {
    // From here on a signal is remembered, however early it comes.
    let mut signals = Signals::new().map_err(StandaloneError::Process)?;
    let (store, _folder) = open(options)?;
    let clock = Arc::new(jiff::Timestamp::now);
    let credentials = Credentials::open(&options.data_dir, &certificate_names(&options.names, options.bind), clock())?;
    let host = Host::start(store, clock, Entropy::from_system()).await?;
    if let Some(path) = &options.audit_log {
        let failed = |source| StandaloneError::Audit { path: path.clone(), source };
        host.keep_audit(Audit::open(path).map_err(failed)?);
    }
    if options.with_crds {
        definitions::install(host.api()).await?;
    }
    let server = Server::bind(host, credentials, options.bind, limits).await?;
    let kubeconfig = server.kubeconfigs().write()?;
    on_start(&Started { url: server.url().to_owned(), address: server.address(), kubeconfig });
    server.run(signals.next()).await;
    Ok(())
}

/// The store; for one in memory, the claim to the folder that credentials are kept in.
fn open(options: &Options) -> Result<(Store, Option<Folder>), OpenError> {
    if options.in_memory {
        let folder = Folder::claim(&options.data_dir)?;
        return Ok((Store::in_memory(), Some(folder)));
    }
    Ok((Store::open(&options.data_dir)?, None))
}

/// Every connection is a file, and the usual limit is lower than ours. What the system does not allow, it does not.
fn allow_files(wanted: u64) {
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|current| current < wanted) {
        limit.current = Some(limit.maximum.map_or(wanted, |maximum| maximum.min(wanted)));
        let _ = setrlimit(Resource::Nofile, limit);
    }
}

/// What ends the server.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
