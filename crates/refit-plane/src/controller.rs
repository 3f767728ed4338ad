//! `refit controller`: the controllers alone, against any API server.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use prometheus_client::registry::Registry;
use refit_controllers::controllers::Controllers;
use refit_controllers::leader::{Candidate, Timing};
use refit_controllers::queue::QueueMetrics;
use refit_controllers::serve::{Check, Pages, serve};
use refit_hooks::metrics::HookMetrics;
use refit_workload::etcd::by_port_forward;
use tokio::net::TcpListener;
use tokio::time::Instant;

use crate::client::{ClientError, connect};
use crate::signals::Signals;
use crate::task::Task;
use crate::workers::options;

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
    /// Whether KubeadmControlPlanes and KubeadmConfigs are this process's. Two controllers of one control plane would each count
    /// its machines without the other.
    pub control_planes: bool,
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
    let ControllerOptions { kubeconfig, health, metrics, leader_elect, lease_namespace, control_planes } = options_;
    let mut signals = Signals::new().map_err(ControllerError::Process)?;
    let client = connect(kubeconfig.as_deref()).await?;
    let (queues, hooks) = (QueueMetrics::default(), HookMetrics::default());
    let mut registry = Registry::default();
    queues.register(&mut registry);
    hooks.register(&mut registry);
    let etcd = control_planes.then(|| by_port_forward(Arc::new(Timestamp::now)));
    let options = options(queues, hooks, etcd);
    let (clock, identity) = (options.clock, options.instance.clone());
    let mut candidate = leader_elect
        .then(|| Candidate::new(client.clone(), &lease_namespace, LEASE, identity, Timing::default(), clock));
    // Before anything is listed: what is listed by who leads already need not be listed again.
    let leads = match &mut candidate {
        Some(candidate) => candidate.try_acquire().await,
        None => true,
    };
    let mut since = Instant::now();
    let controllers = Controllers::start(client, options);
    controllers.register(&mut registry);
    let servers = serve_all([(health, "health", healthy(&controllers)), (metrics, "metrics", shown(registry))], &say);
    let servers = servers.await?;
    if let Some(candidate) = candidate.as_mut().filter(|_| !leads) {
        say("waiting to lead");
        tokio::select! {
            () = candidate.acquire() => {}
            () = signals.next() => {
                stop_all(servers).await;
                return Ok(());
            }
        }
        // Others have acted until now, and what is known may not say so yet.
        since = Instant::now();
    }
    say("working");
    let controllers = Task::spawn(|ended| controllers.run_since(Some(since), ended.wait()));
    let is_lost = tokio::select! {
        () = signals.next() => false,
        () = keep(&mut candidate) => true,
    };
    if is_lost {
        // What has begun is cut short: somebody else may have begun it too.
        drop(controllers);
        return Err(ControllerError::NotLeading);
    }
    finish(controllers, &mut candidate).await?;
    if let Some(candidate) = candidate {
        candidate.release().await;
    }
    stop_all(servers).await;
    Ok(())
}

/// Lets what has begun come to its end. The Lease is kept for as long as that takes: nobody else may act meanwhile.
async fn finish(controllers: Task, candidate: &mut Option<Candidate>) -> Result<(), ControllerError> {
    tokio::select! {
        () = controllers.stop() => Ok(()),
        () = keep(candidate) => Err(ControllerError::NotLeading),
    }
}

/// Keeps the Lease; without one, for ever.
async fn keep(candidate: &mut Option<Candidate>) {
    match candidate {
        Some(candidate) => candidate.keep().await,
        None => std::future::pending().await,
    }
}

/// Lives for as long as its loops go round. A process that waits to lead is ready once it has listed everything.
fn healthy(controllers: &Controllers) -> Pages {
    let (liveness, readiness) = (controllers.liveness(), controllers.readiness());
    let alive: Check = Arc::new(move || liveness.check());
    let ready: Check = Arc::new(move || readiness.check());
    Pages { healthy: Some(alive), ready: Some(ready), ..Pages::default() }
}

fn shown(registry: Registry) -> Pages {
    Pages { metrics: Some(Arc::new(registry)), ..Pages::default() }
}

/// Serves the pages that have an address, and says where.
async fn serve_all(
    pages: [(Option<SocketAddr>, &str, Pages); 2],
    say: &impl Fn(&str),
) -> Result<Vec<Task>, ControllerError> {
    let mut servers = Vec::new();
    for (address, name, pages) in pages {
        let Some(address) = address else { continue };
        let failed = |source| ControllerError::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        say(&format!("{name} on http://{}", listener.local_addr().map_err(failed)?));
        servers.push(Task::spawn(|ended| serve(listener, pages, ended.wait())));
    }
    Ok(servers)
}

async fn stop_all(servers: Vec<Task>) {
    for server in servers {
        server.stop().await;
    }
}
