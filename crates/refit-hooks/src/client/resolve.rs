//! From the name of a host to its addresses.

use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper_util::client::legacy::connect::dns::Name;
use tower::Service;

/// Looks at a list of hosts first, then asks the system.
#[derive(Clone, Default)]
pub struct Resolver {
    hosts: Arc<BTreeMap<String, IpAddr>>,
}

impl Resolver {
    pub fn new(hosts: BTreeMap<String, IpAddr>) -> Self {
        Self { hosts: Arc::new(hosts) }
    }
}

impl Service<Name> for Resolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// The port is filled in by whoever connects.
    fn call(&mut self, name: Name) -> Self::Future {
        let listed = self.hosts.get(name.as_str()).copied();
        Box::pin(async move {
            let addresses = match listed {
                Some(address) => vec![SocketAddr::new(address, 0)],
                None => tokio::net::lookup_host((name.as_str(), 0)).await?.collect(),
            };
            Ok(addresses.into_iter())
        })
    }
}
