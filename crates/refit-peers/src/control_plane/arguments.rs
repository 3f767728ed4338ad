//! What the servers are started with.

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener};
use std::path::Path;

use super::access::Access;

/// The loopback ports of one control plane.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ports {
    pub(super) etcd_clients: u16,
    pub(super) etcd_peers: u16,
    pub(super) apiserver: u16,
}

impl Ports {
    /// Picks ports that are free now. All are held until the last is picked, so that they differ.
    pub(super) fn pick() -> io::Result<Self> {
        let listen = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
        let held = [listen()?, listen()?, listen()?];
        let port = |index: usize| held[index].local_addr().map(|address| address.port());
        Ok(Self { etcd_clients: port(0)?, etcd_peers: port(1)?, apiserver: port(2)? })
    }

    pub(super) fn apiserver_address(&self) -> SocketAddrV4 {
        SocketAddrV4::new(Ipv4Addr::LOCALHOST, self.apiserver)
    }
}

pub(super) fn etcd(folder: &Path, ports: Ports, durable: bool) -> Vec<String> {
    let clients = format!("http://127.0.0.1:{}", ports.etcd_clients);
    let mut arguments = vec![
        format!("--data-dir={}", folder.join("etcd").display()),
        format!("--listen-client-urls={clients}"),
        format!("--advertise-client-urls={clients}"),
        format!("--listen-peer-urls=http://127.0.0.1:{}", ports.etcd_peers),
    ];
    if !durable {
        // The data need not outlive the test, and a shared disk makes every write wait.
        arguments.push("--unsafe-no-fsync".to_owned());
    }
    arguments
}

pub(super) fn apiserver(ports: Ports, access: &Access) -> Vec<String> {
    let key = access.serving_key();
    vec![
        format!("--etcd-servers=http://127.0.0.1:{}", ports.etcd_clients),
        format!("--cert-dir={}", access.certificates.display()),
        "--bind-address=127.0.0.1".to_owned(),
        format!("--secure-port={}", ports.apiserver),
        // Otherwise the server looks for an address in the network, which a sandbox may not have. It does not register
        // itself as an endpoint either: loopback is refused there.
        "--advertise-address=127.0.0.1".to_owned(),
        "--endpoint-reconciler-type=none".to_owned(),
        "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
        format!("--service-account-key-file={}", key.display()),
        format!("--service-account-signing-key-file={}", key.display()),
        format!("--token-auth-file={}", access.token_file.display()),
        "--authorization-mode=RBAC".to_owned(),
        // No controller makes the default service account, so that pods would wait for it in vain.
        "--disable-admission-plugins=ServiceAccount".to_owned(),
        "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
    ]
}

pub(super) fn controller_manager(access: &Access) -> Vec<String> {
    vec![
        format!("--kubeconfig={}", access.kubeconfig.display()),
        "--controllers=garbage-collector-controller,namespace-controller".to_owned(),
        "--leader-elect=false".to_owned(),
        "--secure-port=0".to_owned(),
    ]
}
