//! `refit apiserver`: the embedded API server alone.

use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use clap::{Args, Subcommand};
use refit_apiserver::metadata::names::NameRule;
use refit_apiserver::standalone::{self, Options, Started};
use refit_plane::{back_up, restore, verify};

use crate::shell::quoted;
use crate::{Error, log, runtime};

/// Serves custom resources and the core kinds that Cluster API touches, until SIGTERM or Ctrl-C.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct ApiServer {
    #[command(subcommand)]
    data: Option<Data>,
    /// The folder that holds objects, keys and kubeconfigs; made where it is missing
    #[arg(long, value_name = "DIR", required = true)]
    data_dir: Option<PathBuf>,
    /// Where to listen; port 0 picks a free one. Addresses other than loopback are reachable by others
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:6443")]
    bind: SocketAddr,
    /// A further host name or address that the server's certificate is for
    #[arg(long, value_name = "NAME", value_parser = host_name)]
    tls_san: Vec<String>,
    /// Forget all objects at the end; the folder keeps keys and kubeconfigs only
    #[arg(long)]
    in_memory: bool,
    /// Install the definitions that `refit crds` prints
    #[arg(long)]
    with_crds: bool,
    /// Write down in this file who wrote what, who was refused, and who read secrets
    #[arg(long, value_name = "FILE")]
    audit_log: Option<PathBuf>,
}

/// What is done to a data folder besides serving it.
#[derive(Debug, Subcommand)]
enum Data {
    /// Write everything that a data folder holds into a file, also while a server uses the folder
    ///
    /// The file holds every secret and the server's keys; only its owner can read it.
    Backup {
        /// The data folder
        #[arg(long, value_name = "DIR")]
        data_dir: PathBuf,
        /// The file to write; it must not be there yet
        #[arg(long, value_name = "FILE")]
        to: PathBuf,
    },
    /// Make a new data folder from a backup
    Restore {
        /// The backup
        #[arg(long, value_name = "FILE")]
        from: PathBuf,
        /// The data folder to make; it must hold no store yet
        #[arg(long, value_name = "DIR")]
        data_dir: PathBuf,
    },
    /// Read a data folder that no server uses, or a backup, and compare all of it with its checksums
    Verify {
        /// The folder or the file
        path: PathBuf,
    },
}

impl Data {
    fn run(self) -> Result<(), Error> {
        let (what, done) = match self {
            Self::Backup { data_dir, to } => {
                let done = runtime()?.block_on(back_up(&data_dir, &to)).map_err(Error::Data)?;
                (format!("wrote {}", to.display()), done)
            }
            Self::Restore { from, data_dir } => {
                (format!("made {}", data_dir.display()), restore(&from, &data_dir).map_err(Error::Data)?)
            }
            Self::Verify { path } => (format!("{} is whole", path.display()), verify(&path).map_err(Error::Data)?),
        };
        let text = format!("refit: {what}: {} objects at version {}\n", done.objects, done.version);
        let _ = std::io::stderr().write_all(text.as_bytes());
        Ok(())
    }
}

impl ApiServer {
    /// Serves until a signal comes. Nothing is data here, so nothing goes to standard output.
    pub fn run(self) -> Result<(), Error> {
        let Self { data, data_dir, bind, tls_san, in_memory, with_crds, audit_log } = self;
        if let Some(data) = data {
            return data.run();
        }
        log("warn");
        let data_dir = data_dir.unwrap_or_default();
        let options = Options { data_dir, bind, names: tls_san, in_memory, with_crds, audit_log };
        // A server whose standard error is closed serves all the same.
        let announce = |started: &Started| {
            let _ = std::io::stderr().write_all(announcement(started, with_crds).as_bytes());
        };
        standalone::run(&options, announce).map_err(Error::ApiServer)
    }
}

fn announcement(started: &Started, with_crds: bool) -> String {
    let Started { url, address, kubeconfig } = started;
    let kubeconfig = format!("KUBECONFIG={}", quoted(&kubeconfig.display().to_string()));
    let mut text = format!("refit: listening on {url}\n");
    text += &reachable_warning(*address);
    text += &format!("refit: try: {kubeconfig} kubectl get namespaces\n");
    if !with_crds {
        text += &format!("refit: definitions: refit crds | {kubeconfig} kubectl apply --server-side -f -\n");
    }
    text
}

/// What people must know about an address that is not this machine's alone; empty for one that is.
pub(crate) fn reachable_warning(address: SocketAddr) -> String {
    if address.ip().is_loopback() {
        return String::new();
    }
    format!("refit: warning: {address} is reachable from other machines\n")
}

pub(crate) fn host_name(text: &str) -> Result<String, String> {
    if let Ok(address) = text.parse::<IpAddr>() {
        return Ok(address.to_string());
    }
    match NameRule::Subdomain.problems(text).next() {
        Some(_) => Err("it is neither an address nor a host name in lower case".to_owned()),
        None => Ok(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn announced(address: &str, kubeconfig: &str, with_crds: bool) -> String {
        let started = Started {
            url: "https://127.0.0.1:1".to_owned(),
            address: address.parse().unwrap(),
            kubeconfig: kubeconfig.into(),
        };
        announcement(&started, with_crds)
    }

    #[test]
    fn an_address_that_others_reach_comes_with_a_warning() {
        for (address, warns) in [("127.0.0.1:1", false), ("[::1]:1", false), ("0.0.0.0:1", true), ("10.0.0.1:1", true)]
        {
            assert_eq!(announced(address, "/d/a", true).contains("warning"), warns, "{address}");
        }
    }

    #[test]
    fn the_commands_to_try_can_be_pasted() {
        let text = announced("127.0.0.1:1", "/my data/it's", false);
        assert!(text.contains(r"KUBECONFIG='/my data/it'\''s' kubectl"), "{text}");
        assert!(text.contains("refit crds | KUBECONFIG="));
        assert!(!announced("127.0.0.1:1", "/d/a", true).contains("refit crds"));
    }

    #[test]
    fn names_for_the_certificate_are_hosts() {
        for (name, is_good) in
            [("a.b", true), ("10.0.0.1", true), ("::1", true), ("", false), ("A", false), ("a b", false)]
        {
            assert_eq!(host_name(name).is_ok(), is_good, "{name:?}");
        }
    }
}
