//! `/healthz`, `/readyz` and `/metrics`, for whoever runs the process.
//!
//! Everything is bounded: connections, the time for a request's head, and its size. Bodies are not read.

use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use prometheus_client::encoding::text;
use prometheus_client::registry::Registry;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

/// How many connections there may be at a time: a few probes and scrapers.
const MAX_CONNECTIONS: usize = 64;
/// How long a client may take for the head of a request.
const HEAD_LIMIT: Duration = Duration::from_secs(10);
/// How large the head may be.
const MAX_HEAD_BYTES: usize = 16 * 1_024;
/// How long requests that are under way may take when the process ends.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(5);
/// How long to wait where no connection can be accepted, as when there are no more file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Whether something is as it should be, or why not.
pub type Check = Arc<dyn Fn() -> Result<(), String> + Send + Sync>;

/// What is shown. A page that is not set is not there.
#[derive(Clone, Default)]
pub struct Pages {
    /// `/healthz`: the process should go on living.
    pub healthy: Option<Check>,
    /// `/readyz`: it does its work, or waits to lead.
    pub ready: Option<Check>,
    /// `/metrics`.
    pub metrics: Option<Arc<Registry>>,
}

/// Serves the pages until `end`.
pub async fn serve(listener: TcpListener, pages: Pages, end: impl Future<Output = ()>) {
    let (graceful, places) = (GracefulShutdown::new(), Arc::new(Semaphore::new(MAX_CONNECTIONS)));
    let mut end = std::pin::pin!(end);
    loop {
        let accepted = async {
            let place = Arc::clone(&places).acquire_owned().await;
            (place.expect("the places must be there"), listener.accept().await)
        };
        tokio::select! {
            (place, accepted) = accepted => match accepted {
                Ok((stream, _)) => {
                    let connection = graceful.watch(connection(stream, pages.clone()));
                    tokio::spawn(async move {
                        // What a client does wrong is its own affair.
                        let _ = connection.await;
                        drop(place);
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "connection not accepted");
                    sleep(ACCEPT_PAUSE).await;
                }
            },
            () = &mut end => break,
        }
    }
    let _ = timeout(SHUTDOWN_LIMIT, graceful.shutdown()).await;
}

fn connection(
    stream: TcpStream,
    pages: Pages,
) -> impl hyper_util::server::graceful::GracefulConnection<Error = hyper::Error> + Send {
    let service = service_fn(move |request: Request<Incoming>| {
        let response = pages.answer(request.method(), request.uri().path());
        async move { Ok::<_, Infallible>(response) }
    });
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_LIMIT)
        .max_buf_size(MAX_HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service)
}

impl Pages {
    fn answer(&self, method: &Method, path: &str) -> Response<Full<Bytes>> {
        if !matches!(*method, Method::GET | Method::HEAD) {
            return plain(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD are served\n");
        }
        let page = match path {
            "/healthz" => self.healthy.as_ref().map(checked),
            "/readyz" => self.ready.as_ref().map(checked),
            "/metrics" => self.metrics.as_deref().map(encoded),
            _ => None,
        };
        page.unwrap_or_else(|| plain(StatusCode::NOT_FOUND, "not found\n"))
    }
}

fn checked(check: &Check) -> Response<Full<Bytes>> {
    match check() {
        Ok(()) => plain(StatusCode::OK, "ok"),
        Err(why) => plain(StatusCode::INTERNAL_SERVER_ERROR, format!("{why}\n")),
    }
}

fn encoded(registry: &Registry) -> Response<Full<Bytes>> {
    let mut body = String::new();
    match text::encode(&mut body, registry) {
        Ok(()) => typed(StatusCode::OK, OPEN_METRICS, body),
        Err(_) => plain(StatusCode::INTERNAL_SERVER_ERROR, "the metrics cannot be encoded\n"),
    }
}

fn plain(status: StatusCode, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    typed(status, "text/plain; charset=utf-8", body)
}

fn typed(status: StatusCode, content_type: &'static str, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, http::HeaderValue::from_static(content_type));
    response
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::sync::oneshot;

    use super::*;

    fn pages() -> Pages {
        let ready: Check = Arc::new(|| Err("caches are not listed yet".to_owned()));
        Pages { healthy: Some(Arc::new(|| Ok(()))), ready: Some(ready), metrics: Some(Arc::default()) }
    }

    fn check(pages: &Pages, method: Method, path: &str, expected: u16) {
        assert_eq!(pages.answer(&method, path).status().as_u16(), expected, "{method} {path}");
    }

    #[test]
    fn pages_say_how_the_process_is() {
        check(&pages(), Method::GET, "/healthz", 200);
        check(&pages(), Method::HEAD, "/healthz", 200);
        check(&pages(), Method::GET, "/readyz", 500);
        check(&pages(), Method::GET, "/metrics", 200);
        check(&pages(), Method::GET, "/", 404);
        check(&pages(), Method::POST, "/healthz", 405);
        check(&Pages::default(), Method::GET, "/healthz", 404);
    }

    #[tokio::test]
    async fn a_request_over_the_network_is_answered_and_the_end_ends() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("there must be a free port");
        let address = listener.local_addr().expect("it must have an address");
        let (end, ended) = oneshot::channel::<()>();
        let server = tokio::spawn(serve(listener, pages(), async move { drop(ended.await) }));
        let mut stream = TcpStream::connect(address).await.expect("it must connect");
        stream.write_all(b"GET /readyz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await.expect("it must write");
        let mut text = String::new();
        stream.read_to_string(&mut text).await.expect("it must answer");
        assert!(text.starts_with("HTTP/1.1 500") && text.contains("caches are not listed yet"), "{text}");
        drop(end);
        server.await.expect("the server must end well");
    }
}
