//! Requests that are given up when nobody answers.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Body as HttpBody, Frame, SizeHint};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client as HttpClient;
use kube::client::Body;
use tokio::time::{Instant, Sleep, sleep, timeout};
use tower::{BoxError, Service};

use super::Connector;

/// How long an answer may take to begin, and how long it may stop in the middle. A server that needs longer is not well.
pub const REQUEST_LIMIT: Duration = Duration::from_secs(30);

/// Why a request was given up.
#[derive(Debug, thiserror::Error)]
#[error("no answer within {}s", REQUEST_LIMIT.as_secs())]
pub struct Late;

/// Sends requests, and gives up those that are not answered.
#[derive(Clone)]
pub(super) struct Limited {
    requests: HttpClient<Connector, Body>,
    watches: HttpClient<Connector, Body>,
}

impl Limited {
    pub fn new(requests: HttpClient<Connector, Body>, watches: HttpClient<Connector, Body>) -> Self {
        Self { requests, watches }
    }
}

/// Whether the answer to this request goes on until somebody ends it.
pub fn is_watch<B>(request: &Request<B>) -> bool {
    let query = request.uri().query().unwrap_or_default();
    query.split('&').any(|pair| matches!(pair, "watch=true" | "watch=1"))
}

impl Service<Request<Body>> for Limited {
    type Response = Response<LimitedBody>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let is_watch = is_watch(&request);
        let client = if is_watch { &self.watches } else { &self.requests };
        let answer = client.request(request);
        Box::pin(async move {
            let answer = timeout(REQUEST_LIMIT, answer).await.map_err(|_| Late)??;
            Ok(answer.map(|body| LimitedBody { body, limit: (!is_watch).then(|| Box::pin(sleep(REQUEST_LIMIT))) }))
        })
    }
}

/// The body of an answer that may not stop coming.
pub(super) struct LimitedBody {
    body: Incoming,
    /// Nothing for a watch, which may be silent.
    limit: Option<Pin<Box<Sleep>>>,
}

impl HttpBody for LimitedBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx).map_err(BoxError::from);
        let Some(limit) = &mut self.limit else { return polled };
        match polled {
            Poll::Ready(frame) => {
                limit.as_mut().reset(Instant::now() + REQUEST_LIMIT);
                Poll::Ready(frame)
            }
            Poll::Pending => limit.as_mut().poll(cx).map(|()| Some(Err(Late.into()))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
