//! HTTP in front of an extension: which request is whose, and what comes back.

use std::convert::Infallible;
use std::pin::pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use futures::future::BoxFuture;
use http::{Request, Response, StatusCode, header};
use http_body::Body;
use http_body_util::{BodyExt, Full};
use refit_api::hooks::{DEFAULT_TIMEOUT_SECONDS, Hook, MAX_TIMEOUT_SECONDS};

use super::{Extension, answer, duration};

/// The largest body that is read, as Go's server has it: 20 MiB.
pub const MAX_REQUEST_BYTES: usize = 20 << 20;
/// What more is read and thrown away, so that a caller who sends too much still gets to read the answer.
const MAX_DISCARDED_BYTES: usize = 64 << 20;
/// Bodies above this size wait for each other; there are few of them, and many at once would fill the memory.
const LARGE_BODY_BYTES: usize = 1 << 20;
/// How many large bodies are in memory at a time: 8 of 20 MiB.
pub(super) const MAX_LARGE_BODIES: usize = 8;

impl Extension {
    /// The answer to an HTTP request. A request without a handler gets 404; all others get 200 and a hook's response.
    ///
    /// The method and all headers are ignored: the controllers that are written in Go set no content type.
    pub async fn handle<B>(&self, request: Request<B>) -> Response<Full<Bytes>>
    where
        B: Body<Data: Buf, Error: std::fmt::Display>,
    {
        let Some(&hook) = self.inner.routes.get(request.uri().path()) else {
            return not_found();
        };
        let timeout = timeout(request.uri().query());
        let body = tokio::time::timeout(timeout, self.read(request.into_body())).await;
        let response = match body.unwrap_or_else(|_| Err("the body did not arrive in time".to_owned())) {
            Ok(body) => answer::to(self, hook, &body, timeout).await,
            Err(reason) => answer::unreadable(hook, &reason),
        };
        json(response)
    }

    /// The hook that is served at a path.
    pub(crate) fn hook_at(&self, path: &str) -> Option<Hook> {
        self.inner.routes.get(path).copied()
    }

    async fn read<B>(&self, body: B) -> Result<Bytes, String>
    where
        B: Body<Data: Buf, Error: std::fmt::Display>,
    {
        let mut body = pin!(body);
        let (mut kept, mut received) = (BytesMut::new(), 0_usize);
        let mut _large = None;
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| error.to_string())?;
            let Ok(data) = frame.into_data() else { continue };
            received = received.saturating_add(data.remaining());
            if received > MAX_REQUEST_BYTES + MAX_DISCARDED_BYTES {
                break;
            }
            if received > MAX_REQUEST_BYTES {
                kept = BytesMut::new();
                continue;
            }
            if received > LARGE_BODY_BYTES && _large.is_none() {
                _large = self.inner.large_bodies.acquire().await.ok();
            }
            kept.extend_from_slice(&copied(data));
        }
        if received > MAX_REQUEST_BYTES { Err("http: request body too large".to_owned()) } else { Ok(kept.freeze()) }
    }
}

/// So that an extension can be called in the process, by whatever calls a service.
impl<B> tower::Service<Request<B>> for Extension
where
    B: Body<Data: Buf + Send, Error: std::fmt::Display + Send> + Send + 'static,
{
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let extension = self.clone();
        Box::pin(async move { Ok(extension.handle(request).await) })
    }
}

fn copied(mut data: impl Buf) -> Bytes {
    data.copy_to_bytes(data.remaining())
}

/// How long the caller waits. Controllers always say it, in a query that Go's server ignores.
fn timeout(query: Option<&str>) -> Duration {
    let seconds = |seconds: i32| Duration::from_secs(u64::try_from(seconds).unwrap_or_default());
    let said = query.unwrap_or_default().split('&').find_map(|pair| pair.strip_prefix("timeout="));
    let said = said.and_then(duration::parse).filter(|said| !said.is_zero());
    said.unwrap_or(seconds(DEFAULT_TIMEOUT_SECONDS)).min(seconds(MAX_TIMEOUT_SECONDS))
}

fn json(body: Bytes) -> Response<Full<Bytes>> {
    respond(StatusCode::OK, "application/json", body)
}

fn not_found() -> Response<Full<Bytes>> {
    respond(StatusCode::NOT_FOUND, "text/plain; charset=utf-8", Bytes::from_static(b"404 page not found\n"))
}

pub(crate) fn respond(status: StatusCode, content_type: &'static str, body: Bytes) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static(content_type));
    response
}
