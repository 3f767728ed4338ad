//! How an extension is served.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use super::{CertificateFiles, ServerError};

/// The port that upstream's extensions have.
const PORT: u16 = 9443;
/// The port of their health.
const HEALTH_PORT: u16 = 9440;

/// How an extension is served. The defaults are those of upstream's server.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// Where the extension listens. `[::]` is every address, also where there is no IPv6.
    pub address: SocketAddr,
    pub transport: Transport,
    /// Where `/healthz`, `/readyz` and `/metrics` are, over plain HTTP. None: nowhere.
    pub health_address: Option<SocketAddr>,
    pub limits: Limits,
    /// How often the certificate files are looked at.
    pub reload_interval: Duration,
    /// How long calls and updates may still take when the server is to end.
    pub shutdown_grace: Duration,
}

/// How bytes get to the extension.
#[derive(Debug, Clone)]
pub enum Transport {
    Tls(CertificateFiles),
    /// For tests and local trials; on loopback only.
    Plain,
}

/// The bounds of a server.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Connections at a time; more wait to be accepted.
    pub connections: usize,
    /// Requests at a time; more wait for their turn.
    pub requests: usize,
    /// What the head of a request may have, in bytes.
    pub header_bytes: usize,
    /// How long the head of a request may take.
    pub header_time: Duration,
    /// How long the handshake of TLS may take.
    pub handshake_time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 1024,
            // Each may hold 1 MiB; a few may hold more. See the extension's own bound for large bodies.
            requests: 128,
            header_bytes: 1 << 20,
            header_time: Duration::from_secs(32),
            handshake_time: Duration::from_secs(10),
        }
    }
}

impl Default for ServerOptions {
    fn default() -> Self {
        let all = Ipv6Addr::UNSPECIFIED;
        Self {
            address: (all, PORT).into(),
            transport: Transport::Tls(CertificateFiles::default()),
            health_address: Some((all, HEALTH_PORT).into()),
            limits: Limits::default(),
            reload_interval: Duration::from_secs(10),
            shutdown_grace: Duration::from_secs(60),
        }
    }
}

impl ServerOptions {
    /// Plain HTTP on a loopback port that the system picks, without health: for tests.
    pub fn local() -> Self {
        Self {
            address: (Ipv4Addr::LOCALHOST, 0).into(),
            transport: Transport::Plain,
            health_address: None,
            ..Self::default()
        }
    }

    pub(super) fn check(&self) -> Result<(), ServerError> {
        if matches!(self.transport, Transport::Plain) && !self.address.ip().is_loopback() {
            return Err(ServerError::PlainBeyondLoopback(self.address));
        }
        let zero = [
            ("connections", self.limits.connections == 0),
            ("requests", self.limits.requests == 0),
            ("the reload interval", self.reload_interval.is_zero()),
        ];
        zero.into_iter().find(|(_, is_zero)| *is_zero).map_or(Ok(()), |(limit, _)| Err(ServerError::ZeroLimit(limit)))
    }
}
