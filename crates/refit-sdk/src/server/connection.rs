//! One connection: the handshake, then HTTP/1.1 or HTTP/2, whatever the caller speaks.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::Watcher;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use super::{Limits, Shared};

/// How often a silent HTTP/2 connection is asked for a sign of life.
const PING_INTERVAL: Duration = Duration::from_secs(30);
/// The streams of one HTTP/2 connection, as in Go's server.
const MAX_STREAMS: u32 = 250;

pub(super) struct Connection {
    pub(super) stream: TcpStream,
    pub(super) acceptor: Option<TlsAcceptor>,
    pub(super) shared: Shared,
    pub(super) limits: Limits,
    pub(super) watcher: Watcher,
}

impl Connection {
    /// Serves the connection to its end. What goes wrong concerns its caller only.
    pub(super) async fn serve(self) {
        let Self { stream, acceptor, shared, limits, watcher } = self;
        // An answer is small and should not wait for more.
        let _ = stream.set_nodelay(true);
        let Some(acceptor) = acceptor else {
            return http(stream, shared, &limits, watcher).await;
        };
        match tokio::time::timeout(limits.handshake_time, acceptor.accept(stream)).await {
            Ok(Ok(stream)) => http(stream, shared, &limits, watcher).await,
            Ok(Err(error)) => tracing::debug!(%error, "a handshake failed"),
            Err(_) => tracing::debug!("a handshake took too long"),
        }
    }
}

async fn http<S>(stream: S, shared: Shared, limits: &Limits, watcher: Watcher)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(move |request| answer(shared.clone(), request));
    let builder = builder(limits);
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    if let Err(error) = watcher.watch(connection).await {
        tracing::debug!(%error, "a connection ended with an error");
    }
}

fn builder(limits: &Limits) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    let mut http1 = builder.http1();
    http1.timer(TokioTimer::new()).header_read_timeout(limits.header_time);
    http1.max_buf_size(limits.header_bytes);
    let mut http2 = builder.http2();
    http2.timer(TokioTimer::new()).keep_alive_interval(PING_INTERVAL);
    http2.max_concurrent_streams(MAX_STREAMS);
    http2.max_header_list_size(u32::try_from(limits.header_bytes).unwrap_or(u32::MAX));
    builder
}

async fn answer(shared: Shared, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let _turn = Arc::clone(&shared.requests).acquire_owned().await;
    let call = shared.metrics.begin(&shared.extension, request.uri().path());
    let response = shared.extension.handle(request).await;
    if let Some(call) = call {
        call.end(response.status());
    }
    Ok(response)
}
