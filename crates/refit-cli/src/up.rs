//! `refit up`: everything in one process.

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use refit_plane::{Started, UpOptions, run_up, sample};

use crate::apiserver::{host_name, reachable_warning};
use crate::shell::quoted;
use crate::{Error, Format, log, render, runtime};

/// Runs the API server, the controllers, a provider of simulated machines and two example extensions until SIGTERM or
/// Ctrl-C.
#[derive(Debug, Args)]
pub struct Up {
    /// The folder that holds objects, keys and kubeconfigs, made where it is missing; without it, nothing is kept
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Where to listen; port 0 picks a free one. Addresses other than loopback are reachable by others
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:6443")]
    bind: SocketAddr,
    /// A further host name or address that the server's certificate is for
    #[arg(long, value_name = "NAME", value_parser = host_name)]
    tls_san: Vec<String>,
    /// Print a small cluster to apply, as YAML, and end
    #[arg(long)]
    sample: bool,
}

impl Up {
    pub fn run(self, out: &mut impl Write) -> Result<(), Error> {
        if self.sample {
            return crate::write(out, &render(&sample::Workers::default().objects(), Format::Yaml));
        }
        log("warn");
        let options = UpOptions { data_dir: self.data_dir, bind: self.bind, names: self.tls_san };
        // Whether anybody reads what to try makes no difference to what runs.
        let announce = |started: &Started| drop(std::io::stderr().write_all(announcement(started).as_bytes()));
        runtime()?.block_on(run_up(options, announce)).map_err(Error::Up)
    }
}

fn announcement(started: &Started) -> String {
    let Started { url, address, kubeconfig } = started;
    let warning = reachable_warning(*address);
    let kubeconfig = quoted(&kubeconfig.display().to_string());
    let memory = sample::Host { memory: "16Gi".to_owned(), ..sample::Host::default() };
    let old = sample::Host::default();
    format!(
        "\
refit: listening on {url}
{warning}refit: try, in another terminal:

  export KUBECONFIG={kubeconfig}
  refit up --sample | kubectl apply -f -
  kubectl get machinedeployments,machinesets,machines,simmachines

  # more memory for the same machines
  kubectl get simmachinetemplate {old} -o yaml | sed 's/8Gi/16Gi/; s/{old}/{new}/' | kubectl create -f -
  kubectl patch machinedeployment {workers} --type merge -p '{{\"spec\":{{\"template\":{{\"spec\":{{\"infrastructureRef\":{{\"name\":\"{new}\"}}}}}}}}}}'
  kubectl get machinerollouts -w   # how far it is, and why; Ctrl-C ends it
  kubectl get machines,simmachines

",
        old = old.template(),
        new = memory.template(),
        workers = sample::WORKERS,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn started(address: &str) -> Started {
        let (url, address) = ("https://127.0.0.1:1".to_owned(), address.parse().unwrap());
        Started { url, address, kubeconfig: "/my data/k".into() }
    }

    #[test]
    fn an_address_that_others_reach_comes_with_a_warning() {
        assert!(!announcement(&started("127.0.0.1:1")).contains("warning"));
        assert!(announcement(&started("0.0.0.0:1")).contains("warning: 0.0.0.0:1 is reachable from other machines"));
    }

    #[test]
    fn what_to_try_names_what_there_is() {
        let text = announcement(&started("127.0.0.1:1"));
        assert!(text.contains("KUBECONFIG='/my data/k'"), "{text}");
        let sample = render(&sample::Workers::default().objects(), Format::Yaml);
        assert!(sample.contains(&sample::Host::default().template()) && sample.contains("8Gi"), "{sample}");
    }
}
