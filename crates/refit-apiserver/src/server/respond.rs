//! One request over HTTPS: who asks, is there room, what is the answer.

use std::sync::{Arc, PoisonError};

use http::StatusCode;
use http::request::Parts;
use hyper::body::Incoming;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::Shared;
use super::authenticate::authenticate;
use super::memory::Full;
use super::presence::Visit;
use super::pump::{self, CHUNK_BYTES, Held};
use crate::access::CertificateUser;
use crate::api::{Answer, Body};
use crate::request::User;
use crate::service::{Asked, ResponseBody};
use crate::status::Status;

/// When a client that was turned away should come again.
const RETRY_AFTER_SECONDS: u32 = 1;

impl Shared {
    pub(super) async fn respond(
        &self,
        certificate: Option<&CertificateUser>,
        visit: Visit,
        request: hyper::Request<Incoming>,
    ) -> http::Response<ResponseBody> {
        let (parts, body) = request.into_parts();
        let asked = Asked::of(&parts);
        let admitted = self.admit(certificate, &parts, &asked);
        let (answer, permit) = match admitted {
            Ok((user, permit)) => (self.answer(user, parts, asked, body).await, permit),
            Err(status) => (Answer::refusal(&status), None),
        };
        let (answer, memory) = self.hold(answer);
        let held = Held { permit, memory, visit, limits: self.limits, ending: self.ending.subscribe() };
        pump::send(answer, held)
    }

    /// The answer with the room that it takes up until it is read, or a refusal where there is none. Small answers are
    /// bounded by the number of connections.
    fn hold(&self, answer: Answer) -> (Answer, Option<OwnedSemaphorePermit>) {
        let bytes = match &answer.body {
            Body::Whole(bytes) if bytes.len() > CHUNK_BYTES => bytes.len(),
            Body::Whole(_) | Body::Stream(_) => return (answer, None),
        };
        match self.answers.take(bytes) {
            Ok(memory) => (answer, Some(memory)),
            Err(Full) => (Answer::refusal(&too_many()), None),
        }
    }

    fn admit(
        &self,
        certificate: Option<&CertificateUser>,
        parts: &Parts,
        asked: &Asked,
    ) -> Result<(User, Option<OwnedSemaphorePermit>), Status> {
        // What reads the connection stops only somewhere beyond the bound.
        if head_bytes(parts) > self.limits.header_bytes {
            return Err(large_head());
        }
        let user = self.user(certificate, parts, asked)?;
        Ok((user, self.room(asked)?))
    }

    fn user(&self, certificate: Option<&CertificateUser>, parts: &Parts, asked: &Asked) -> Result<User, Status> {
        let tokens = self.tokens.read().unwrap_or_else(PoisonError::into_inner).clone();
        authenticate(certificate, &parts.headers, &tokens, self.host.api().now(), asked.is_about_server())
    }

    /// Room for one more request. Questions about the server's health are always answered.
    fn room(&self, asked: &Asked) -> Result<Option<OwnedSemaphorePermit>, Status> {
        if asked.is_about_server() {
            return Ok(None);
        }
        let room: &Arc<Semaphore> = if asked.is_watch() { &self.watches } else { &self.requests };
        room.clone().try_acquire_owned().map(Some).map_err(|_| too_many())
    }

    async fn answer(&self, user: User, parts: Parts, asked: Asked, body: Incoming) -> Answer {
        let answer = timeout(self.limits.request, self.host.answer(user, parts, asked, body)).await;
        answer.unwrap_or_else(|_| Answer::refusal(&too_slow()))
    }
}

fn head_bytes(parts: &Parts) -> usize {
    let headers = parts.headers.iter().map(|(name, value)| name.as_str().len() + value.len());
    let uri = parts.uri.path_and_query().map_or(0, |path| path.as_str().len());
    uri + headers.sum::<usize>()
}

fn large_head() -> Status {
    let message = "the head of the request is too large";
    Status::new(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, None, message)
}

fn too_many() -> Status {
    Status::too_many_requests("too many requests, please try again later", RETRY_AFTER_SECONDS)
}

fn too_slow() -> Status {
    let message = "Timeout: request did not complete within the allotted timeout";
    Status::new(StatusCode::GATEWAY_TIMEOUT, Some("Timeout"), message).with_empty_details()
}
