//! An update extension that is written in Go, on upstream's own server library.

use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::path::Path;
use std::thread::sleep;
use std::time::Instant;

use tempfile::TempDir;

use crate::control_plane::server::{Birthplace, Server};
use crate::control_plane::watchdog::Watchdog;
use crate::control_plane::{LOOK_INTERVAL, START_ATTEMPTS, START_LIMIT};
use crate::{Program, StartError};

/// A running extension on loopback, with TLS. It ends when this is dropped, or with the process.
///
/// It claims `spec.version` of the Machine and `spec.memory` of the infrastructure object, and takes three calls, a
/// second apart, to update a machine. Its handlers are `can-update-machine`, `can-update-machineset`, `update-machine`.
#[derive(Debug)]
pub struct GoExtension {
    // Dropped from the top, as in a control plane.
    _server: Server,
    _watchdog: Watchdog,
    _folder: TempDir,
    port: u16,
}

impl GoExtension {
    /// Starts the program that [`require_extension`](crate::require_extension) gives, with this certificate and key in PEM.
    pub fn start(program: &Path, certificate_pem: &str, key_pem: &str) -> Result<Self, StartError> {
        let attempt = || Self::start_on(program, certificate_pem, key_pem, free_port()?);
        for _ in 1..START_ATTEMPTS {
            match attempt() {
                Err(error) if error.is_port_taken() => {}
                outcome => return outcome,
            }
        }
        attempt()
    }

    /// The port on localhost.
    pub fn port(&self) -> u16 {
        self.port
    }

    fn start_on(program: &Path, certificate_pem: &str, key_pem: &str, port: u16) -> Result<Self, StartError> {
        let folder = tempfile::Builder::new().prefix("refit-extension-").tempdir();
        let folder = folder.map_err(StartError::prepare("a temporary folder"))?;
        let write = |name, content: &str| {
            std::fs::write(folder.path().join(name), content).map_err(StartError::prepare("the certificate"))
        };
        write("tls.crt", certificate_pem)?;
        write("tls.key", key_pem)?;
        let watchdog = Watchdog::start(folder.path()).map_err(StartError::prepare("the watchdog"))?;
        let birthplace = Birthplace { folder: folder.path(), group: watchdog.group() };
        let arguments = [format!("--port={port}"), format!("--cert-dir={}", folder.path().display())];
        let mut server = Server::spawn(Program::Extension, program, &arguments, &birthplace)?;
        await_ready(&mut server, port)?;
        Ok(Self { _server: server, _watchdog: watchdog, _folder: folder, port })
    }
}

fn free_port() -> Result<u16, StartError> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let address = listener.and_then(|listener| listener.local_addr()).map_err(StartError::prepare("a port"))?;
    Ok(address.port())
}

fn await_ready(server: &mut Server, port: u16) -> Result<(), StartError> {
    let deadline = Instant::now() + START_LIMIT;
    while Instant::now() < deadline {
        server.ensure_running()?;
        if TcpStream::connect(SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)).is_ok() {
            return Ok(());
        }
        sleep(LOOK_INTERVAL);
    }
    Err(StartError::NotReady { program: Program::Extension, log: server.last_words() })
}
