//! The API as a tower service: HTTP in and out, whatever carries it.
//!
//! Nothing here waits for sockets. The same code answers a `kube::Client` in this process and a connection over TLS.

mod body;
mod observe;
mod route;

use std::convert::Infallible;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Method, StatusCode, request};

use crate::access::{Attempt, Place, authorize, authorize_review, is_review, review};
use crate::api::{Answer, Body, indented};
use crate::clusters::LogicalCluster;
use crate::host::Host;
use crate::request::{Path, Query, Request, User};
use crate::status::Status;

pub use body::{BoxError, CutOff, MAX_BODY_BYTES, ResponseBody};
pub(crate) use body::{TooLate, whole};
use route::Route;

/// A request to another user's account on behalf of whoever asks.
const IMPERSONATION: &str = "impersonate-";

/// What is read where connections are served: 16 KiB, a hundred times what kubectl asks with.
const SHORT_BODY_BYTES: usize = 16 * 1024;

/// The API, asked by one user in this process. Cloning shares it.
#[derive(Clone)]
pub struct Service {
    host: Host,
    user: User,
    /// The cluster that paths begin in.
    cluster: Arc<str>,
}

impl Service {
    pub(crate) fn new(host: Host, user: User) -> Self {
        Self { host, user, cluster: Arc::default() }
    }

    /// The same for a logical cluster: its paths begin there, as with an address that ends in `/clusters/<name>`.
    #[must_use]
    pub fn in_cluster(self, name: &str) -> Self {
        Self { cluster: name.into(), ..self }
    }
}

impl<B> tower::Service<http::Request<B>> for Service
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = http::Response<ResponseBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    /// Does no work here: a client's one worker calls it for all requests.
    fn call(&mut self, request: http::Request<B>) -> Self::Future {
        let service = self.clone();
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let Asked { route, query } = Asked::of(&parts);
            let route = if service.cluster.is_empty() { route } else { route.within(&service.cluster) };
            let asked = Asked { route, query };
            Ok(body::respond(service.host.answer(service.user, parts, asked, body).await))
        })
    }
}

/// What a request is about, before it is known who asks.
pub(crate) struct Asked {
    pub(crate) route: Route,
    pub(crate) query: Query,
}

impl Asked {
    pub(crate) fn of(parts: &request::Parts) -> Self {
        let query = Query::parse(parts.uri.query().unwrap_or_default());
        Self { route: Route::parse(parts.uri.path()), query }
    }

    /// Whether the answer goes on until somebody ends it.
    pub(crate) fn is_watch(&self) -> bool {
        matches!(self.route.path, Path::Resource(_)) && self.query.is_true("watch")
    }

    /// Whether it is about a Lease, by which programs say that they are alive.
    pub(crate) fn is_about_lease(&self) -> bool {
        matches!(&self.route.path, Path::Resource(path) if path.group == "coordination.k8s.io" && path.plural == "leases")
            && !self.is_watch()
    }

    /// Whether it is about the health of the server itself, which strangers may ask for. That of a logical cluster is
    /// for those who may know that it exists.
    pub(crate) fn is_about_server(&self) -> bool {
        self.route.cluster.is_empty() && matches!(&self.route.path, Path::Other(path) if crate::access::is_public(path))
    }
}

impl Host {
    /// Answers somebody who was authenticated: may they, what do they send, what comes of it.
    pub(crate) async fn answer<B>(&self, user: User, parts: request::Parts, asked: Asked, body: B) -> Answer
    where
        B: http_body::Body<Data = Bytes> + Send,
        B::Error: Into<BoxError>,
    {
        let is_pretty = asked.query.is_true("pretty");
        let observed = self.observe(&user, &parts, &asked);
        let body = pin!(body);
        let mut sent = body::Sent::new(body, &parts.headers);
        let answer = self.try_answer(user, parts, asked, &mut sent).await;
        sent.take_in_what_is_left().await;
        let answer = answer.unwrap_or_else(|status| Answer::refusal(&status));
        self.note(observed, answer.status);
        // What the API has answered is indented already; what was refused before is not.
        if is_pretty && matches!(answer.body, Body::Whole(_)) { indented(answer) } else { answer }
    }

    async fn try_answer<B>(
        &self,
        user: User,
        parts: request::Parts,
        asked: Asked,
        sent: &mut body::Sent<'_, B>,
    ) -> Result<Answer, Status>
    where
        B: http_body::Body<Data = Bytes> + Send,
        B::Error: Into<BoxError>,
    {
        let Asked { route: Route { cluster, path }, query } = asked;
        let request::Parts { method, headers, .. } = parts;
        let known = (!cluster.is_empty()).then(|| self.clusters().find(&cluster)).flatten();
        let place = Place::new(&cluster, known.as_ref());
        let attempt = Attempt { user: &user, place, method: &method, path: &path, query: &query };
        let is_review = is_review(&method, &path);
        if is_review {
            authorize_review(attempt)?
        } else {
            authorize(attempt)?
        }
        if headers.keys().any(|name| name.as_str().starts_with(IMPERSONATION)) {
            return Err(impersonation(&user));
        }
        if !cluster.is_empty() && known.is_none() {
            return Err(no_cluster(&cluster));
        }
        if let Path::Other(path) = &path
            && let Some(answer) = self.answer_health(path, &query).await
        {
            return Ok(answer);
        }
        if let Path::Other(path) = &path
            && cluster.is_empty()
            && let Some(answer) = self.answer_operator(&method, path).await
        {
            return answer;
        }
        let body = sent.read(&headers).await?;
        let request = Request { method, cluster, path, query, headers, body, user };
        if is_review {
            let place = Place::new(&request.cluster, known.as_ref());
            let catalog = self.api().catalog(&request.cluster);
            let answer = || review(&request, place, &catalog);
            // Everybody may ask, and reading a long body takes its time.
            let is_short = request.body.len() <= SHORT_BODY_BYTES;
            return if is_short { answer() } else { self.api().aside(&request.user, answer).await };
        }
        Ok(self.carry_out(request, known).await)
    }

    /// A write goes on when its caller stops waiting, up to what follows from the commit.
    async fn carry_out(&self, request: Request, cluster: Option<LogicalCluster>) -> Answer {
        if matches!(request.method, Method::GET | Method::HEAD) {
            return self.api().handle(&request).await;
        }
        let host = self.clone();
        let runtime = host.runtime().clone();
        let write = runtime.spawn(async move { host.write(&request, cluster).await });
        write.await.unwrap_or_else(|_| Answer::refusal(&Status::internal("the request could not be carried out")))
    }

    async fn write(&self, request: &Request, cluster: Option<LogicalCluster>) -> Answer {
        let Some(cluster) = cluster else { return self.api().handle(request).await };
        let _guard = self.clusters().writing().await;
        // It may have been dropped, and even made anew, while the body came in.
        if self.clusters().find(&cluster.name) != Some(cluster) {
            return Answer::refusal(&no_cluster(&request.cluster));
        }
        self.api().handle(request).await
    }
}

fn no_cluster(name: &str) -> Status {
    let message = format!("logical cluster {name:?} not found");
    Status::new(StatusCode::NOT_FOUND, Some("NotFound"), message).with_empty_details()
}

/// Acting with the caller's own rights instead would be worse than refusing.
fn impersonation(user: &User) -> Status {
    let message =
        format!("forbidden: User {:?} cannot act as another user: this server has no impersonation", user.name);
    Status::new(StatusCode::FORBIDDEN, Some("Forbidden"), message).with_empty_details()
}
