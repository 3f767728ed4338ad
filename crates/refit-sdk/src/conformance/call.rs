//! Calling the extension: as Go's client does, and in ways that it never would.

use std::time::Duration;

use bytes::Bytes;
use futures::stream;
use http::{Method, Request, Uri};
use http_body::{Body, Frame};
use http_body_util::{BodyExt, Full, Limited, StreamBody};
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::Target;
use crate::MAX_REQUEST_BYTES;
use crate::program::chain;

/// How long the kit waits for a connection.
const CONNECT_TIME: Duration = Duration::from_secs(5);
/// A body goes out in pieces of this size when it is sent without its length.
const CHUNK_BYTES: usize = 16 * 1024;

/// Why a call has no answer.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    #[error("cannot connect: {0}")]
    Connect(String),
    #[error("the connection broke: {0}")]
    Broken(String),
    #[error("there was no answer within {} seconds", .0.as_secs())]
    TimedOut(Duration),
}

/// What came back.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    pub status: u16,
    pub body: Bytes,
}

/// How a call is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    Http1,
    Http2,
    /// HTTP/1.1, without saying how long the body is.
    Chunked,
}

trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

impl Target {
    /// Calls a path as a controller does that gives it `timeout`.
    pub(super) async fn call(
        &self,
        path: &str,
        body: impl Into<Bytes>,
        timeout: Duration,
        manner: Manner,
    ) -> Result<Answer, CallError> {
        let answer = tokio::time::timeout(timeout, self.exchange(path, body.into(), timeout, manner)).await;
        let (status, body) = answer.map_err(|_| CallError::TimedOut(timeout))??;
        Ok(Answer { status, body })
    }

    /// Sends these bytes, as they are, over HTTP/1.1, and leaves the connection open for as long as the value lives.
    pub(super) async fn send_raw(&self, bytes: &[u8]) -> Result<impl Sized + use<>, CallError> {
        let mut stream = self.connect(Manner::Http1).await?;
        let sent = stream.write_all(bytes).await;
        sent.and(stream.flush().await).map_err(|error| CallError::Broken(error.to_string()))?;
        Ok(stream)
    }

    /// The head of a request that announces a body of this length.
    pub(super) fn head(&self, path: &str, length: usize) -> Vec<u8> {
        let (prefix, host) = (&self.prefix, &self.host);
        format!("POST {prefix}{path}?timeout=1s HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\n\r\n")
            .into_bytes()
    }

    async fn exchange(
        &self,
        path: &str,
        body: Bytes,
        timeout: Duration,
        manner: Manner,
    ) -> Result<(u16, Bytes), CallError> {
        let stream = TokioIo::new(self.connect(manner).await?);
        let broken = |error: hyper::Error| CallError::Broken(chain(&error));
        let request = |uri| Request::builder().method(Method::POST).uri(uri).header("user-agent", "Go-http-client/2.0");
        let absolute = self.uri(path, timeout);
        let response = match manner {
            Manner::Http2 => {
                let (mut sender, connection) = http2::handshake(TokioExecutor::new(), stream).await.map_err(broken)?;
                tokio::spawn(connection);
                let request =
                    request(absolute).body(Full::new(body)).map_err(|error| CallError::Broken(error.to_string()))?;
                sender.send_request(request).await.map_err(broken)?
            }
            Manner::Http1 | Manner::Chunked => {
                let (mut sender, connection) = http1::handshake(stream).await.map_err(broken)?;
                tokio::spawn(connection);
                let request = request(
                    absolute.path_and_query().map(|path| path.as_str().parse().unwrap_or_default()).unwrap_or_default(),
                )
                .header("host", absolute.authority().map_or("", |authority| authority.as_str()))
                .body(if manner == Manner::Chunked { chunked(body) } else { Full::new(body).boxed_unsync() })
                .map_err(|error| CallError::Broken(error.to_string()))?;
                sender.send_request(request).await.map_err(broken)?
            }
        };
        let status = response.status().as_u16();
        let body = Limited::new(response.into_body(), MAX_REQUEST_BYTES).collect().await;
        Ok((status, body.map_err(|error| CallError::Broken(error.to_string()))?.to_bytes()))
    }

    fn uri(&self, path: &str, timeout: Duration) -> Uri {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        let text = format!("{scheme}://{host}:{}{}{path}?timeout={}s", self.port, self.prefix, timeout.as_secs());
        text.parse().unwrap_or_default()
    }

    async fn connect(&self, manner: Manner) -> Result<Box<dyn Stream>, CallError> {
        let connect = async {
            let stream = TcpStream::connect((self.host.as_str(), self.port)).await?;
            stream.set_nodelay(true)?;
            let Some(tls) = &self.tls else { return Ok(Box::new(stream) as Box<dyn Stream>) };
            let config = if manner == Manner::Http2 { &tls.http2 } else { &tls.http1 };
            let connector = TlsConnector::from(config.clone());
            Ok(Box::new(connector.connect(tls.name.clone(), stream).await?) as Box<dyn Stream>)
        };
        let connected: Result<std::io::Result<_>, _> = tokio::time::timeout(CONNECT_TIME, connect).await;
        let connected = connected.map_err(|_| CallError::TimedOut(CONNECT_TIME))?;
        connected.map_err(|error| CallError::Connect(error.to_string()))
    }
}

fn chunked(body: Bytes) -> http_body_util::combinators::UnsyncBoxBody<Bytes, std::convert::Infallible> {
    let pieces: Vec<Bytes> = body.chunks(CHUNK_BYTES).map(|piece| body.slice_ref(piece)).collect();
    let body = StreamBody::new(stream::iter(pieces.into_iter().map(|piece| Ok(Frame::data(piece)))));
    debug_assert!(body.size_hint().exact().is_none());
    body.boxed_unsync()
}
