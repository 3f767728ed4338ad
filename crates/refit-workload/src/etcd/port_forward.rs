//! Reaching etcd through the API server of its cluster: etcd listens on addresses that need not be reachable from here.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::FutureExt;
use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::Portforwarder;
use refit_plan::control_plane::inspection::Component;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};

use super::channel::EtcdStream;
use super::client::{EtcdDialer, Now, connector};
use super::{EtcdConnector, EtcdError, clip};

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
            let said = forwarder.take_error(PORT).map(FutureExt::boxed);
            let forwarded = Forwarded { stream, said, forwarder };
            Ok(Box::new(forwarded) as Box<dyn EtcdStream>)
        }
        .boxed()
    })
}

/// A forwarded port. The task behind it ends with this.
struct Forwarded {
    stream: DuplexStream,
    /// What the host of the Pod says if it cannot reach the port.
    said: Option<BoxFuture<'static, Option<String>>>,
    forwarder: Portforwarder,
}

impl Forwarded {
    /// Why the stream has ended, if somebody said so.
    fn reason(&mut self, context: &mut Context<'_>) -> Option<String> {
        match self.said.as_mut()?.poll_unpin(context) {
            Poll::Ready(said) => {
                self.said = None;
                said
            }
            Poll::Pending => None,
        }
    }
}

impl Drop for Forwarded {
    fn drop(&mut self) {
        self.forwarder.abort();
    }
}

impl AsyncRead for Forwarded {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let polled = Pin::new(&mut this.stream).poll_read(context, buffer);
        let has_ended = matches!(polled, Poll::Ready(Ok(()))) && buffer.filled().len() == before;
        match has_ended.then(|| this.reason(context)).flatten() {
            Some(reason) => Poll::Ready(Err(io::Error::other(clip(&reason)))),
            None => polled,
        }
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
