//! `refit up`: everything in one process, until a signal ends it.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use crate::backend::{Backend, BackendError, EmbeddedOptions};
use crate::examples::Example;
use crate::signals::Signals;
use crate::workers::{Workers, WorkersError};

/// What is run, and where.
#[derive(Debug, Clone)]
pub struct UpOptions {
    /// Holds everything that outlives the process. None: nothing does.
    pub data_dir: Option<PathBuf>,
    /// Port 0 is any free one.
    pub bind: SocketAddr,
    /// Host names and addresses besides the local ones that the server's certificate is for.
    pub names: Vec<String>,
}

/// A management plane that works.
#[derive(Debug, Clone)]
pub struct Started {
    pub url: String,
    /// Where it listens.
    pub address: SocketAddr,
    /// The administrator's.
    pub kubeconfig: PathBuf,
}

/// Why it did not start.
#[derive(Debug, thiserror::Error)]
pub enum UpError {
    #[error("the process cannot be set up")]
    Process(#[source] io::Error),
    #[error(transparent)]
    Backend(#[from] BackendError),
    #[error(transparent)]
    Workers(#[from] WorkersError),
}

/// Runs everything until SIGTERM or SIGINT. `on_start` is called once objects can be made.
pub async fn run(options: UpOptions, on_start: impl FnOnce(&Started)) -> Result<(), UpError> {
    let mut signals = Signals::new().map_err(UpError::Process)?;
    let UpOptions { data_dir, bind, names } = options;
    let backend = Backend::embedded(&EmbeddedOptions { data_dir, bind, names }).await?;
    let workers = Workers::start(&backend, &Example::ALL).await?;
    let url = backend.url().unwrap_or_default().to_owned();
    let address = backend.address().unwrap_or(bind);
    on_start(&Started { url, address, kubeconfig: backend.kubeconfig().to_owned() });
    signals.next().await;
    workers.stop().await;
    backend.stop().await;
    Ok(())
}
