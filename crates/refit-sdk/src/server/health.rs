//! Health, readiness and metrics, over plain HTTP on a port of their own.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use http::{Response, StatusCode};
use http_body_util::Full;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use super::{Shared, accepted};
use crate::extension::respond;

const TEXT: &str = "text/plain; charset=utf-8";
/// The content type of the metrics' text format.
const METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// A kubelet and a few scrapers; more wait.
const MAX_CONNECTIONS: usize = 32;
const HEADER_TIME: Duration = Duration::from_secs(5);

pub(super) async fn serve(listener: TcpListener, shared: Shared) {
    let slots = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let Ok(slot) = Arc::clone(&slots).acquire_owned().await else { return };
        let stream = accepted(&listener).await;
        let shared = shared.clone();
        tokio::spawn(async move {
            let service = service_fn(|request: http::Request<hyper::body::Incoming>| {
                let response = answer(&shared, request.uri().path());
                async move { Ok::<_, Infallible>(response) }
            });
            let mut builder = http1::Builder::new();
            builder.timer(TokioTimer::new()).header_read_timeout(HEADER_TIME).keep_alive(false);
            let _ = builder.serve_connection(TokioIo::new(stream), service).await;
            drop(slot);
        });
    }
}

fn answer(shared: &Shared, path: &str) -> Response<Full<Bytes>> {
    match path {
        "/healthz" => respond(StatusCode::OK, TEXT, Bytes::from_static(b"ok")),
        "/readyz" if shared.is_ready.load(Ordering::Relaxed) => {
            respond(StatusCode::OK, TEXT, Bytes::from_static(b"ok"))
        }
        "/readyz" => respond(StatusCode::SERVICE_UNAVAILABLE, TEXT, Bytes::from_static(b"shutting down")),
        "/metrics" => respond(StatusCode::OK, METRICS, shared.metrics.text().into()),
        _ => respond(StatusCode::NOT_FOUND, TEXT, Bytes::from_static(b"404 page not found\n")),
    }
}
