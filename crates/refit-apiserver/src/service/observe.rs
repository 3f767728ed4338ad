//! What is written down of requests, and what operators ask for: metrics and backups.

use futures::stream;
use http::{Method, StatusCode, request};
use tokio::time::Instant;

use super::Asked;
use crate::access::BACKUP_PATH;
use crate::api::{Answer, Body};
use crate::audit::Done;
use crate::host::Host;
use crate::metrics::{self, About};
use crate::request::{Path, User};
use crate::status::Status;
use crate::store::backup;

/// What is known of a request before it is answered.
pub(super) struct Observed {
    begun: Instant,
    method: Method,
    route: super::Route,
    query: crate::request::Query,
    /// Who asks, and for what, where that is written down whatever comes of it.
    audited: Option<(User, String)>,
}

impl Host {
    pub(super) fn observe(&self, user: &User, parts: &request::Parts, asked: &Asked) -> Observed {
        let audited = self.audit().map(|_| (user.clone(), parts.uri.to_string()));
        let (route, query) = (asked.route.clone(), asked.query.clone());
        Observed { begun: Instant::now(), method: parts.method.clone(), route, query, audited }
    }

    /// Counts a request, and writes it down where it changes something, is refused or is about secrets.
    pub(super) fn note(&self, observed: Observed, code: StatusCode) {
        let Observed { begun, method, route, query, audited } = observed;
        let asked = About { method: &method, path: &route.path, query: &query };
        self.metrics().observe(&asked, &self.root_catalog(), code, begun.elapsed());
        let is_secret = matches!(&route.path, Path::Resource(path) if path.group.is_empty() && path.plural == "secrets")
            || matches!(&route.path, Path::Other(path) if path == BACKUP_PATH);
        let is_read = matches!(method, Method::GET | Method::HEAD | Method::OPTIONS);
        if let Some((user, uri)) = audited
            && (!is_read || is_secret || code == StatusCode::FORBIDDEN)
            && let Some(audit) = self.audit()
        {
            let done =
                Done { time: self.api().now(), user: &user, method: method.as_str(), uri: &uri, code: code.as_u16() };
            if !audit.note(&done) {
                self.metrics().audit_dropped.inc();
            }
        }
    }

    /// What those who run the server ask for. Whether they may was found out before.
    pub(super) async fn answer_operator(&self, method: &Method, path: &str) -> Option<Result<Answer, Status>> {
        if method != Method::GET {
            return None;
        }
        match path {
            metrics::PATH => {
                let text = self.metrics().text(self.api().store());
                let content_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
                Some(Ok(Answer::new(StatusCode::OK, content_type, Body::Whole(text.into()))))
            }
            BACKUP_PATH => Some(self.backup().await),
            _ => None,
        }
    }

    /// Everything at one version, line by line. Writes go on meanwhile.
    async fn backup(&self) -> Result<Answer, Status> {
        let snapshot = self.api().store().snapshot().await;
        let snapshot = snapshot.map_err(|error| Status::internal(error.to_string()))?;
        let lines = stream::iter(backup::lines(snapshot));
        Ok(Answer::new(StatusCode::OK, "application/jsonl", Body::Stream(Box::pin(lines))))
    }
}
