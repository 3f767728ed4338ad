//! Counts the requests of a client, by verb and resource.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use http::{Method, Request, Response, StatusCode};
use kube::client::Body;
use tower::{Layer, Service};

/// How often each kind of request was made. Clones count together.
#[derive(Debug, Clone, Default)]
pub struct Requests(Arc<Mutex<BTreeMap<Kind, u64>>>);

/// A kind of request.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kind {
    /// As in RBAC: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`; or `dry-run`, which changes nothing.
    pub verb: &'static str,
    /// The plural, with the subresource: `machines/status`.
    pub resource: String,
    /// Whether it was answered with a conflict.
    pub is_conflict: bool,
}

impl Kind {
    /// Whether it changes something.
    pub fn is_write(&self) -> bool {
        !matches!(self.verb, "get" | "list" | "watch" | "dry-run")
    }

    /// Whether it is about the status alone.
    pub fn is_status(&self) -> bool {
        self.resource.ends_with("/status")
    }
}

impl Requests {
    /// What was counted so far.
    pub fn counted(&self) -> BTreeMap<Kind, u64> {
        self.lock().clone()
    }

    /// What was counted since.
    pub fn since(&self, before: &BTreeMap<Kind, u64>) -> BTreeMap<Kind, u64> {
        let grown = |(kind, count): (Kind, u64)| {
            let more = count - before.get(&kind).copied().unwrap_or(0);
            (more > 0).then_some((kind, more))
        };
        self.counted().into_iter().filter_map(grown).collect()
    }

    fn note(&self, (verb, resource): (&'static str, String), status: Option<StatusCode>) {
        let kind = Kind { verb, resource, is_conflict: status == Some(StatusCode::CONFLICT) };
        *self.lock().entry(kind).or_default() += 1;
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Kind, u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S> Layer<S> for Requests {
    type Service = Counted<S>;

    fn layer(&self, inner: S) -> Counted<S> {
        Counted { inner, requests: self.clone() }
    }
}

/// A service whose requests are counted.
#[derive(Debug, Clone)]
pub struct Counted<S> {
    inner: S,
    requests: Requests,
}

impl<S, R> Service<Request<Body>> for Counted<S>
where
    S: Service<Request<Body>, Response = Response<R>>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let what = what(request.method(), request.uri());
        let (requests, answer) = (self.requests.clone(), self.inner.call(request));
        Box::pin(async move {
            let answer = answer.await;
            requests.note(what, answer.as_ref().ok().map(Response::status));
            answer
        })
    }
}

/// The verb and the resource of a request.
fn what(method: &Method, uri: &http::Uri) -> (&'static str, String) {
    let mut segments: Vec<&str> = uri.path().split('/').filter(|segment| !segment.is_empty()).collect();
    let prefix = if segments.first() == Some(&"apis") { 3 } else { 2 };
    segments.drain(..prefix.min(segments.len()));
    // A namespace that something is in, not one that the request is about.
    if segments.first() == Some(&"namespaces") && segments.len() > 2 {
        segments.drain(..2);
    }
    let is_named = segments.len() > 1;
    let resource = match segments.as_slice() {
        [plural, _, subresource, ..] => format!("{plural}/{subresource}"),
        [plural, ..] => (*plural).to_owned(),
        [] => String::new(),
    };
    let has = |wanted: &str| uri.query().is_some_and(|query| query.split('&').any(|part| part == wanted));
    let verb = match verb(method, is_named) {
        "get" | "list" if has("watch=true") => "watch",
        "create" | "update" | "patch" | "delete" if has("dryRun=All") => "dry-run",
        verb => verb,
    };
    (verb, resource)
}

fn verb(method: &Method, is_named: bool) -> &'static str {
    match (method.as_str(), is_named) {
        ("GET", true) => "get",
        ("GET", false) => "list",
        ("POST", _) => "create",
        ("PUT", _) => "update",
        ("PATCH", _) => "patch",
        ("DELETE", _) => "delete",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_told_apart_by_verb_and_resource() {
        for (method, uri, expected) in [
            (Method::GET, "/api/v1/nodes?watch=true&limit=1", "watch nodes"),
            (Method::GET, "/api/v1/namespaces/a", "get namespaces"),
            (Method::GET, "/apis/g/v/namespaces/a/machines?limit=5", "list machines"),
            (Method::POST, "/apis/g/v/namespaces/a/machines", "create machines"),
            (Method::PATCH, "/apis/g/v/namespaces/a/machines/m/status", "patch machines/status"),
            (Method::DELETE, "/apis/g/v/widgets/w", "delete widgets"),
            (Method::PATCH, "/apis/g/v/widgets/w?dryRun=All&force=true", "dry-run widgets"),
            (Method::GET, "/", "list "),
        ] {
            let (verb, resource) = what(&method, &uri.parse().expect("it must be an address"));
            assert_eq!(format!("{verb} {resource}"), expected, "{method} {uri}");
        }
    }
}
