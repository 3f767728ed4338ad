//! A stream to one etcd, over which gRPC is spoken.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::BoxFuture;
use http::uri::PathAndQuery;
use hyper::body::Incoming;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tonic::body::Body;
use tonic::client::Grpc;
use tonic::{Code, Status};
use tonic_prost::ProstCodec;
use tower::Service;

use super::messages::Request;
use super::{EtcdError, clip};

/// How long one request may take, in seconds.
pub(super) const CALL_SECONDS: u64 = 15;
/// The longest answer that is read, in bytes. The members of the largest cluster take a few thousand.
const LONGEST_ANSWER: usize = 1 << 20;
/// How often the other side is asked whether it is there while a request is open, and how long it may take to answer.
const PINGS: Duration = Duration::from_secs(5);

/// Bytes in both directions.
pub trait EtcdStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> EtcdStream for S {}

/// HTTP/2 to one etcd. The task that carries it ends with this.
pub(super) struct Channel {
    grpc: Grpc<Http>,
    connection: JoinHandle<()>,
}

impl Drop for Channel {
    fn drop(&mut self) {
        self.connection.abort();
    }
}

impl Channel {
    /// Begins TLS, then HTTP/2. The server must show a certificate for the name of its Node.
    pub async fn open(stream: Box<dyn EtcdStream>, node: &str, tls: Arc<ClientConfig>) -> Result<Self, EtcdError> {
        let failed = |source| EtcdError::Tls { node: node.to_owned(), source };
        let name = ServerName::try_from(node.to_owned());
        let name = name.map_err(|error| failed(std::io::Error::other(error)))?;
        let stream = TlsConnector::from(tls).connect(name, stream).await.map_err(failed)?;
        let mut builder = Builder::new(TokioExecutor::new());
        builder.timer(TokioTimer::new()).keep_alive_interval(PINGS).keep_alive_timeout(PINGS);
        let handshake = builder.handshake(TokioIo::new(stream)).await;
        let (sender, connection) = handshake.map_err(|error| failed(std::io::Error::other(error)))?;
        // What ends a connection reaches whoever waits for an answer on it.
        let connection = tokio::spawn(async move { drop(connection.await) });
        let origin = http::Uri::from_static("https://etcd");
        let grpc = Grpc::with_origin(Http(sender), origin).max_decoding_message_size(LONGEST_ANSWER);
        Ok(Self { grpc, connection })
    }

    /// Makes one request.
    pub async fn call<R: Request>(&self, request: R) -> Result<R::Response, CallError> {
        let mut grpc = self.grpc.clone();
        let call = async move {
            let failed = |error: hyper::Error| Status::unavailable(error.to_string());
            grpc.ready().await.map_err(failed)?;
            let codec = ProstCodec::<R, R::Response>::default();
            grpc.unary(tonic::Request::new(request), PathAndQuery::from_static(R::PATH), codec).await
        };
        match timeout(Duration::from_secs(CALL_SECONDS), call).await {
            Ok(answer) => answer.map(tonic::Response::into_inner).map_err(|status| CallError::of::<R>(&status)),
            Err(_) => Err(CallError { code: Code::DeadlineExceeded, error: late::<R>() }),
        }
    }
}

/// Why a request failed, and the code by which etcd says so.
pub(super) struct CallError {
    pub code: Code,
    pub error: EtcdError,
}

impl CallError {
    fn of<R: Request>(status: &Status) -> Self {
        let why = format!("{:?}: {}", status.code(), clip(status.message()));
        Self { code: status.code(), error: EtcdError::Call { what: R::WHAT, why } }
    }
}

impl From<CallError> for EtcdError {
    fn from(error: CallError) -> Self {
        error.error
    }
}

fn late<R: Request>() -> EtcdError {
    EtcdError::Late { what: R::WHAT.to_owned(), seconds: CALL_SECONDS }
}

/// The connection as the service that tonic asks for.
#[derive(Clone)]
struct Http(SendRequest<Body>);

impl Service<http::Request<Body>> for Http {
    type Response = http::Response<Incoming>;
    type Error = hyper::Error;
    type Future = BoxFuture<'static, Result<Self::Response, hyper::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), hyper::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        Box::pin(self.0.send_request(request))
    }
}
