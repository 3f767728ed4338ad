//! Reaching etcd through the API server of its cluster: etcd listens on addresses that need not be reachable from here.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::FutureExt;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::Portforwarder;
use refit_plan::control_plane::inspection::Component;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};

use super::channel::EtcdStream;
use super::client::{EtcdDialer, Now, connector};
use super::{EtcdConnector, EtcdError};

const NAMESPACE: &str = "kube-system";
/// Where etcd serves its clients.
const PORT: u16 = 2379;

/// Connects to real etcd through port-forwards to its static Pods.
pub fn by_port_forward(now: Now) -> EtcdConnector {
    connector(dialer(), now)
}

fn dialer() -> EtcdDialer {
    Arc::new(|client, node| {
        async move {
            let pods: Api<Pod> = Api::namespaced(client, NAMESPACE);
            let mut forwarder = pods.portforward(&Component::Etcd.pod_name(&node), &[PORT]).await?;
            let stream = forwarder.take_stream(PORT).ok_or(EtcdError::Unfit { why: "its port is not forwarded" })?;
            let forwarded = Forwarded { stream, forwarder };
            Ok(Box::new(forwarded) as Box<dyn EtcdStream>)
        }
        .boxed()
    })
}

/// A forwarded port. The task behind it ends with this.
struct Forwarded {
    stream: DuplexStream,
    forwarder: Portforwarder,
}

impl Drop for Forwarded {
    fn drop(&mut self) {
        self.forwarder.abort();
    }
}

impl AsyncRead for Forwarded {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Forwarded {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}
