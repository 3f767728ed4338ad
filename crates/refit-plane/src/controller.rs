//! `refit controller`: the controllers alone, against any API server.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use prometheus_client::registry::Registry;
use refit_controllers::controllers::{Controllers, Readiness};
use refit_controllers::leader::{Candidate, Timing};
use refit_controllers::queue::QueueMetrics;
use refit_controllers::serve::{Check, Pages, serve};
use refit_hooks::metrics::HookMetrics;
use tokio::net::TcpListener;

use crate::client::{ClientError, connect};
use crate::signals::Signals;
use crate::task::Task;
use crate::workers::{instance, options};

/// The Lease that a leader holds.
pub const LEASE: &str = "refit-controller-leader";

/// How the controllers are run.
#[derive(Debug, Clone)]
pub struct ControllerOptions {
    /// None: `KUBECONFIG`, the user's own, or the cluster that the process runs in.
    pub kubeconfig: Option<PathBuf>,
    /// Where `/healthz` and `/readyz` are.
    pub health: Option<SocketAddr>,
    /// Where `/metrics` is.
    pub metrics: Option<SocketAddr>,
    /// Whether to wait for the Lease before anything is done.
    pub leader_elect: bool,
    /// The namespace of the Lease.
    pub lease_namespace: String,
}

/// Why the controllers do not run.
#[derive(Debug, thiserror::Error)]
pub enum ControllerError {
    #[error("the process cannot be set up")]
    Process(#[source] io::Error),
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error("cannot listen on {address}")]
    Listen {
        address: SocketAddr,
        #[source]
        source: io::Error,
    },
    /// Another process may act now; this one must not.
    #[error("the lease {LEASE} was lost")]
    NotLeading,
}

/// Runs the controllers until SIGTERM or SIGINT, or until another process leads. `say` is told what happens.
pub async fn run(options_: ControllerOptions, say: impl Fn(&str)) -> Result<(), ControllerError> {
    let ControllerOptions { kubeconfig, health, metrics, leader_elect, lease_namespace } = options_;
    let mut signals = Signals::new().map_err(ControllerError::Process)?;
    let client = connect(kubeconfig.as_deref()).await?;
    let (queues, hooks) = (QueueMetrics::default(), HookMetrics::default());
    let mut registry = Registry::default();
    queues.register(&mut registry);
    hooks.register(&mut registry);
    let options = options(queues, hooks);
    let clock = options.clock;
    let controllers = Controllers::start(client.clone(), options);
    let healthy =
        Pages { healthy: Some(Arc::new(|| Ok(()))), ready: Some(ready(controllers.readiness())), ..Pages::default() };
    let pages = [(health, healthy), (metrics, Pages { metrics: Some(Arc::new(registry)), ..Pages::default() })];
    let mut servers = Vec::new();
    for (address, pages) in pages {
        if let Some(address) = address {
            servers.push(listen(address, pages).await?);
        }
    }
    let mut candidate =
        leader_elect.then(|| Candidate::new(client, &lease_namespace, LEASE, instance(), Timing::default(), clock));
    if let Some(candidate) = &mut candidate {
        say("waiting to lead");
        tokio::select! {
            () = candidate.acquire() => {}
            () = signals.next() => return Ok(()),
        }
    }
    say("working");
    let controllers = Task::spawn(|ended| controllers.run(ended.wait()));
    let is_lost = tokio::select! {
        () = signals.next() => false,
        () = keep(&mut candidate) => true,
    };
    if is_lost {
        // What has begun is cut short: somebody else may have begun it too.
        drop(controllers);
        return Err(ControllerError::NotLeading);
    }
    controllers.stop().await;
    if let Some(candidate) = candidate {
        candidate.release().await;
    }
    for server in servers {
        server.stop().await;
    }
    Ok(())
}

/// Keeps the Lease; without one, for ever.
async fn keep(candidate: &mut Option<Candidate>) {
    match candidate {
        Some(candidate) => candidate.keep().await,
        None => std::future::pending().await,
    }
}

/// A process that waits to lead is ready once it has listed everything.
fn ready(readiness: Readiness) -> Check {
    Arc::new(move || readiness.check())
}

async fn listen(address: SocketAddr, pages: Pages) -> Result<Task, ControllerError> {
    let listener = TcpListener::bind(address).await;
    let listener = listener.map_err(|source| ControllerError::Listen { address, source })?;
    Ok(Task::spawn(|ended| serve(listener, pages, ended.wait())))
}
