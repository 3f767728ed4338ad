//! `refit controller`: the controllers alone.

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{ArgAction, Args};
use refit_plane::{ControllerOptions, run_controller};

use crate::{Error, log, runtime};

/// Works until SIGTERM or Ctrl-C on the Clusters, MachineDeployments, MachineSets, Machines, MachineHealthChecks and
/// ExtensionConfigs of an API server. Machines are any provider's.
#[derive(Debug, Args)]
pub struct Controller {
    /// Names the API server; without it, KUBECONFIG does, or the cluster that refit runs in
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Where to serve /healthz and /readyz, over plain HTTP
    #[arg(long, value_name = "HOST:PORT")]
    health_addr: Option<SocketAddr>,
    /// Where to serve /metrics, over plain HTTP
    #[arg(long, value_name = "HOST:PORT")]
    metrics_addr: Option<SocketAddr>,
    /// Wait for a Lease, so that of several processes one acts
    #[arg(long, num_args = 0..=1, default_value_t = true, default_missing_value = "true", action = ArgAction::Set)]
    leader_elect: bool,
    /// The namespace of that Lease
    #[arg(long, value_name = "NAME", default_value = "default")]
    lease_namespace: String,
    /// Act on KubeadmControlPlanes and KubeadmConfigs, too. Stop Cluster API's own controllers of them before
    #[arg(long)]
    control_planes: bool,
}

impl Controller {
    /// Nothing is data here, so nothing goes to standard output.
    pub fn run(self) -> Result<(), Error> {
        log("info");
        let Self {
            kubeconfig,
            health_addr: health,
            metrics_addr: metrics,
            leader_elect,
            lease_namespace,
            control_planes,
        } = self;
        let options = ControllerOptions { kubeconfig, health, metrics, leader_elect, lease_namespace, control_planes };
        let say = |text: &str| drop(writeln!(std::io::stderr(), "refit: {text}"));
        runtime()?.block_on(run_controller(options, say)).map_err(Error::Controller)
    }
}
