//! A fresh Kubernetes API of a test's own: etcd and kube-apiserver, and the controllers when asked for.

use std::io;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::TempDir;

mod access;
mod arguments;
pub(crate) mod server;
pub(crate) mod watchdog;

use access::Access;
use arguments::Ports;
use server::{Birthplace, Server};
use watchdog::Watchdog;

use crate::{Peers, Program};

/// A start takes three seconds on an idle machine; one whose cores are busy compiling may need many times that.
pub(crate) const START_LIMIT: Duration = Duration::from_secs(300);
/// How often a starting server is looked at. Each look at `/readyz` is a run of kubectl.
pub(crate) const LOOK_INTERVAL: Duration = Duration::from_millis(100);
/// Ports are picked free and bound later. That another process takes one of three in between, thrice in a row, means
/// that something else is wrong.
pub(crate) const START_ATTEMPTS: usize = 3;

/// What a control plane consists of beside etcd and kube-apiserver.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// Runs the garbage collector and the namespace controller. Without them no owner takes its dependents along,
    /// and no deleted namespace goes away.
    pub controllers: bool,
    /// Lets etcd wait for the disk, as it does where data matters: for measurements.
    pub durable: bool,
}

/// Why a control plane did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The peers lack a program that the options ask for.
    #[error("there is no {} in KUBEBUILDER_ASSETS, which this control plane needs", program.name())]
    ProgramMissing {
        /// The program.
        program: Program,
    },
    /// A file, a port or a process could not be had.
    #[error("cannot prepare {what}")]
    Prepare {
        /// What was prepared.
        what: &'static str,
        /// What the operating system said.
        #[source]
        source: io::Error,
    },
    /// A program did not run.
    #[error("cannot run {}", program.name())]
    Run {
        /// The program.
        program: Program,
        /// What the operating system said.
        #[source]
        source: io::Error,
    },
    /// A server ended while it should have come up.
    #[error("{} ended with {status} instead of coming up; its last words:\n{log}", program.name())]
    Ended {
        /// The server.
        program: Program,
        /// How it ended.
        status: std::process::ExitStatus,
        /// The end of its log.
        log: String,
    },
    /// The servers run, but do not become ready.
    #[error("{} is not ready after {} seconds; its last words:\n{log}", program.name(), START_LIMIT.as_secs())]
    NotReady {
        /// The server that is waited for.
        program: Program,
        /// The end of its log.
        log: String,
    },
}

impl StartError {
    pub(crate) fn is_port_taken(&self) -> bool {
        matches!(self, Self::Ended { log, .. } if log.contains("address already in use"))
    }

    pub(crate) fn prepare(what: &'static str) -> impl Fn(io::Error) -> Self {
        move |source| Self::Prepare { what, source }
    }
}

/// A running control plane on loopback, with TLS, tokens and RBAC. It ends when this is dropped, or with the process.
#[derive(Debug)]
pub struct ControlPlane {
    // Dropped from the top: the watchdog sees to whatever the servers left, and the folder goes when nobody writes to
    // it any more.
    _servers: Servers,
    watchdog: Watchdog,
    folder: TempDir,
    access: Access,
    kubectl: PathBuf,
}

impl ControlPlane {
    /// Starts a control plane and waits until it is ready, about three seconds.
    pub fn start(peers: &Peers, options: Options) -> Result<Self, StartError> {
        let programs = Programs::of(peers, options)?;
        let attempt = || Self::start_on(&programs, Ports::pick().map_err(StartError::prepare("free ports"))?);
        for _ in 1..START_ATTEMPTS {
            match attempt() {
                Err(error) if error.is_port_taken() => {}
                outcome => return outcome,
            }
        }
        attempt()
    }

    /// The address of the API server.
    pub fn url(&self) -> &str {
        &self.access.url
    }

    /// The certificate of the authority that signed the API server's, in PEM.
    pub fn ca_pem(&self) -> &str {
        &self.access.ca_pem
    }

    /// The bearer token of a user who may do everything.
    pub fn admin_token(&self) -> &str {
        &self.access.token
    }

    /// A kubeconfig file for that user.
    pub fn kubeconfig(&self) -> &Path {
        &self.access.kubeconfig
    }

    /// A call of kubectl as that user.
    pub fn kubectl(&self) -> Command {
        kubectl(&self.kubectl, &self.access)
    }

    /// The folder with the servers' files: data, certificates, logs (`<program>.log`).
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The process group that all servers are in. For whoever wants to see that none is left.
    pub fn process_group(&self) -> i32 {
        self.watchdog.group()
    }

    fn start_on(programs: &Programs<'_>, ports: Ports) -> Result<Self, StartError> {
        // What starts later is dropped earlier when a step fails.
        let folder = tempfile::Builder::new().prefix("refit-control-plane-").tempdir();
        let folder = folder.map_err(StartError::prepare("a temporary folder"))?;
        let mut access = Access::prepare(folder.path(), ports).map_err(StartError::prepare("the credentials"))?;
        let watchdog = Watchdog::start(folder.path()).map_err(StartError::prepare("the watchdog"))?;
        let birthplace = Birthplace { folder: folder.path(), group: watchdog.group() };
        let servers = Servers::start(programs, &birthplace, ports, &mut access)?;
        Ok(Self { _servers: servers, watchdog, folder, access, kubectl: programs.kubectl.to_owned() })
    }
}

/// The programs that a control plane is made of.
struct Programs<'peers> {
    etcd: &'peers Path,
    apiserver: &'peers Path,
    controller_manager: Option<&'peers Path>,
    kubectl: &'peers Path,
    options: Options,
}

impl<'peers> Programs<'peers> {
    fn of(peers: &'peers Peers, options: Options) -> Result<Self, StartError> {
        let path = |program| peers.path(program).ok_or(StartError::ProgramMissing { program });
        Ok(Self {
            etcd: path(Program::Etcd)?,
            apiserver: path(Program::KubeApiserver)?,
            controller_manager: options.controllers.then(|| path(Program::KubeControllerManager)).transpose()?,
            kubectl: path(Program::Kubectl)?,
            options,
        })
    }
}

/// The servers of a control plane. Dropped from the top, so that the clients of a server go before it: without etcd,
/// kube-apiserver ignores SIGTERM for a minute.
#[derive(Debug)]
struct Servers {
    controller_manager: Option<Server>,
    apiserver: Server,
    etcd: Server,
}

impl Servers {
    fn start(
        programs: &Programs<'_>,
        birthplace: &Birthplace<'_>,
        ports: Ports,
        access: &mut Access,
    ) -> Result<Self, StartError> {
        let arguments = arguments::etcd(birthplace.folder, ports, programs.options.durable);
        let etcd = Server::spawn(Program::Etcd, programs.etcd, &arguments, birthplace)?;
        let arguments = arguments::apiserver(ports, access);
        let apiserver = Server::spawn(Program::KubeApiserver, programs.apiserver, &arguments, birthplace)?;
        let mut servers = Self { controller_manager: None, apiserver, etcd };
        servers.await_ready(programs.kubectl, ports, access)?;
        if let Some(path) = programs.controller_manager {
            let arguments = arguments::controller_manager(access);
            let server = Server::spawn(Program::KubeControllerManager, path, &arguments, birthplace)?;
            servers.controller_manager = Some(server);
        }
        Ok(servers)
    }

    /// Returns when `/readyz` says yes, or fails as soon as a server ends.
    fn await_ready(&mut self, kubectl: &Path, ports: Ports, access: &mut Access) -> Result<(), StartError> {
        let deadline = Instant::now() + START_LIMIT;
        while Instant::now() < deadline {
            self.etcd.ensure_running()?;
            self.apiserver.ensure_running()?;
            // Asking for the port costs less than a run of kubectl.
            let is_open = TcpStream::connect(ports.apiserver_address()).is_ok();
            let has_ca = is_open && access.read_ca().map_err(StartError::prepare("the server's certificate"))?;
            if has_ca && is_ready(kubectl, access)? {
                return Ok(());
            }
            sleep(LOOK_INTERVAL);
        }
        Err(StartError::NotReady { program: Program::KubeApiserver, log: self.apiserver.last_words() })
    }
}

fn is_ready(path: &Path, access: &Access) -> Result<bool, StartError> {
    let mut command = kubectl(path, access);
    command.args(["get", "--raw", "/readyz"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let status = command.status().map_err(|source| StartError::Run { program: Program::Kubectl, source })?;
    Ok(status.success())
}

fn kubectl(path: &Path, access: &Access) -> Command {
    let mut command = Command::new(path);
    command.arg("--kubeconfig").arg(&access.kubeconfig);
    // The discovery cache is of no use to a server that lives for seconds, and would pile up in the home folder.
    command.arg("--cache-dir").arg(&access.kubectl_cache);
    command
}

#[cfg(test)]
mod tests;
