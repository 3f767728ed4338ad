//! A cluster of real etcd members, as kubeadm runs them: clients must show a certificate, and each member has a name.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::control_plane::server::{Birthplace, Server};
use crate::control_plane::watchdog::Watchdog;
use crate::control_plane::{LOOK_INTERVAL, START_ATTEMPTS, START_LIMIT, StartError};
use crate::{Peers, Program};

/// How long an answer may take. etcd itself gives up a request after seven seconds.
const ANSWER_LIMIT: Duration = Duration::from_secs(30);

/// What the members show to their clients, and whom they trust, in PEM. One certificate serves all members.
#[derive(Clone)]
pub struct EtcdTls {
    /// The certificate of the authority that clients' certificates come from.
    pub authority: String,
    /// The certificate that members show.
    pub certificate: String,
    /// Its key.
    pub key: String,
}

/// A running etcd cluster on loopback. It ends when this is dropped, or with the process.
pub struct EtcdCluster {
    // Dropped from the top: the watchdog sees to whatever the members left.
    members: BTreeMap<String, Member>,
    watchdog: Watchdog,
    folder: TempDir,
    program: PathBuf,
}

struct Member {
    ports: Ports,
    /// Nothing while it is stopped.
    server: Option<Server>,
}

/// The loopback ports of one member.
#[derive(Debug, Clone, Copy)]
struct Ports {
    /// For clients with a certificate.
    tls: u16,
    /// For tests that prepare something, without TLS: etcd's API in JSON, and its health.
    plain: u16,
    peers: u16,
}

impl EtcdCluster {
    /// Starts members of these names, and waits until they have a leader.
    pub fn start(peers: &Peers, names: &[&str], tls: &EtcdTls) -> Result<Self, StartError> {
        for _ in 1..START_ATTEMPTS {
            match Self::try_start(peers, names, tls) {
                Err(error) if error.is_port_taken() => {}
                outcome => return outcome,
            }
        }
        Self::try_start(peers, names, tls)
    }

    /// The port on which a member serves clients over TLS.
    pub fn port(&self, name: &str) -> u16 {
        self.member(name).ports.tls
    }

    /// Ends a member. Its data stays.
    pub fn stop(&mut self, name: &str) {
        self.member_mut(name).server = None;
    }

    /// Adds a member that learns, and starts it.
    pub fn add_learner(&mut self, name: &str) -> Result<(), StartError> {
        let ports = Ports::pick(1).map_err(StartError::prepare("free ports"))?[0];
        let any = self.members.keys().next().cloned().unwrap_or_default();
        let body = format!(r#"{{"peerURLs":["http://127.0.0.1:{}"],"isLearner":true}}"#, ports.peers);
        self.post_until_healthy(&any, "/v3/cluster/member/add", &body).map_err(StartError::prepare("a learner"))?;
        self.members.insert(name.to_owned(), Member { ports, server: None });
        self.spawn(name, "existing")?;
        self.await_members(|port| get(port, "/health?serializable=true&exclude=NOSPACE").is_ok())
    }

    /// Makes a request to the JSON API of a member, and gives its answer.
    pub fn post(&self, name: &str, path: &str, body: &str) -> io::Result<String> {
        let head = format!("POST {path} HTTP/1.0\r\nContent-Length: {}\r\n\r\n", body.len());
        ask(self.member(name).ports.plain, &format!("{head}{body}"))
    }

    /// Members that have seen each other for less than five seconds take no new one.
    fn post_until_healthy(&self, name: &str, path: &str, body: &str) -> io::Result<String> {
        let deadline = Instant::now() + START_LIMIT;
        loop {
            match self.post(name, path, body) {
                Err(error) if error.to_string().contains("unhealthy cluster") && Instant::now() < deadline => {
                    sleep(LOOK_INTERVAL);
                }
                outcome => return outcome,
            }
        }
    }

    fn try_start(peers: &Peers, names: &[&str], tls: &EtcdTls) -> Result<Self, StartError> {
        let program = peers.path(Program::Etcd).ok_or(StartError::ProgramMissing { program: Program::Etcd })?;
        let folder = tempfile::Builder::new().prefix("refit-etcd-").tempdir();
        let folder = folder.map_err(StartError::prepare("a temporary folder"))?;
        write_tls(folder.path(), tls).map_err(StartError::prepare("the certificates"))?;
        let watchdog = Watchdog::start(folder.path()).map_err(StartError::prepare("the watchdog"))?;
        let ports = Ports::pick(names.len()).map_err(StartError::prepare("free ports"))?;
        let members = names.iter().zip(ports).map(|(name, ports)| ((*name).to_owned(), Member { ports, server: None }));
        let mut cluster = Self { members: members.collect(), watchdog, folder, program: program.to_owned() };
        for name in names {
            cluster.spawn(name, "new")?;
        }
        cluster.await_members(|port| get(port, "/health").is_ok_and(|body| body.contains(r#""health":"true""#)))?;
        Ok(cluster)
    }

    fn spawn(&mut self, name: &str, state: &str) -> Result<(), StartError> {
        let folder = self.folder.path().join(name);
        std::fs::create_dir_all(&folder).map_err(StartError::prepare("a folder for etcd"))?;
        let arguments = self.arguments(name, state);
        let birthplace = Birthplace { folder: &folder, group: self.watchdog.group() };
        let server = Server::spawn(Program::Etcd, &self.program, &arguments, &birthplace)?;
        self.member_mut(name).server = Some(server);
        Ok(())
    }

    fn arguments(&self, name: &str, state: &str) -> Vec<String> {
        let ports = self.member(name).ports;
        let all = self.members.iter().map(|(name, member)| format!("{name}=http://127.0.0.1:{}", member.ports.peers));
        let file = |name: &str| self.folder.path().join(name).display().to_string();
        vec![
            format!("--name={name}"),
            format!("--data-dir={}", self.folder.path().join(name).join("data").display()),
            format!("--listen-client-urls=https://127.0.0.1:{},http://127.0.0.1:{}", ports.tls, ports.plain),
            format!("--advertise-client-urls=https://127.0.0.1:{}", ports.tls),
            format!("--listen-peer-urls=http://127.0.0.1:{}", ports.peers),
            format!("--initial-advertise-peer-urls=http://127.0.0.1:{}", ports.peers),
            format!("--initial-cluster={}", all.collect::<Vec<_>>().join(",")),
            format!("--initial-cluster-state={state}"),
            format!("--cert-file={}", file(CERTIFICATE)),
            format!("--key-file={}", file(KEY)),
            format!("--trusted-ca-file={}", file(AUTHORITY)),
            "--client-cert-auth".to_owned(),
            // The data need not outlive the test, and a shared disk makes every write wait.
            "--unsafe-no-fsync".to_owned(),
        ]
    }

    /// Returns when all members that run are as they should be, or fails as soon as one ends.
    fn await_members(&mut self, is_ready: impl Fn(u16) -> bool) -> Result<(), StartError> {
        let deadline = Instant::now() + START_LIMIT;
        loop {
            let mut waiting = None;
            for member in self.members.values_mut() {
                let Some(server) = &mut member.server else { continue };
                server.ensure_running()?;
                if !is_ready(member.ports.plain) {
                    waiting = Some(server.last_words());
                }
            }
            match waiting {
                None => return Ok(()),
                Some(log) if Instant::now() >= deadline => {
                    return Err(StartError::NotReady { program: Program::Etcd, log });
                }
                Some(_) => sleep(LOOK_INTERVAL),
            }
        }
    }

    fn member(&self, name: &str) -> &Member {
        self.members.get(name).unwrap_or_else(|| panic!("there must be an etcd member {name}"))
    }

    fn member_mut(&mut self, name: &str) -> &mut Member {
        self.members.get_mut(name).unwrap_or_else(|| panic!("there must be an etcd member {name}"))
    }
}

const AUTHORITY: &str = "ca.crt";
const CERTIFICATE: &str = "server.crt";
const KEY: &str = "server.key";

fn write_tls(folder: &Path, tls: &EtcdTls) -> io::Result<()> {
    let EtcdTls { authority, certificate, key } = tls;
    for (name, text) in [(AUTHORITY, authority), (CERTIFICATE, certificate), (KEY, key)] {
        std::fs::write(folder.join(name), text)?;
    }
    Ok(())
}

impl Ports {
    /// Picks ports that are free now. All are held until the last is picked, so that they differ.
    fn pick(members: usize) -> io::Result<Vec<Self>> {
        let held: Vec<TcpListener> =
            (0..3 * members).map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0))).collect::<io::Result<_>>()?;
        let ports: Vec<u16> = held.iter().map(|held| Ok(held.local_addr()?.port())).collect::<io::Result<_>>()?;
        Ok(ports.chunks_exact(3).map(|ports| Self { tls: ports[0], plain: ports[1], peers: ports[2] }).collect())
    }
}

fn get(port: u16, path: &str) -> io::Result<String> {
    ask(port, &format!("GET {path} HTTP/1.0\r\n\r\n"))
}

/// The body of the answer to a request, which must be a success.
fn ask(port: u16, request: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(ANSWER_LIMIT))?;
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    match answer.split_once("\r\n\r\n") {
        Some((head, body)) if head.lines().next().is_some_and(|line| line.contains(" 200 ")) => Ok(body.to_owned()),
        _ => Err(io::Error::other(answer)),
    }
}
