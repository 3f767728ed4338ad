//! One request over HTTPS: who asks, is there room, what is the answer.

use std::sync::PoisonError;

use http::StatusCode;
use http::request::Parts;
use hyper::body::Incoming;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

use super::Shared;
use super::authenticate::authenticate;
use super::connection::Client;
use super::presence::Visit;
use super::pump::{self, CHUNK_BYTES, Held};
use super::shares::Share;
use super::timely::Timely;
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
        client: &Client,
        visit: Visit,
        request: hyper::Request<Incoming>,
    ) -> http::Response<ResponseBody> {
        let (parts, body) = request.into_parts();
        let asked = Asked::of(&parts);
        let admitted = self.admit(certificate, client, &parts, &asked);
        let (answer, permit, memory) = match admitted {
            Ok((user, permit)) => {
                let answer = self.answer(user.clone(), parts, asked, body).await;
                let (answer, memory) = self.hold(&user, answer);
                (answer, permit, memory)
            }
            Err(status) => (Answer::refusal(&status), None, None),
        };
        let held = Held { permit, memory, visit, limits: self.limits, ending: self.ending.subscribe() };
        pump::send(answer, held)
    }

    /// The answer with the room that it takes up until it is read, or a refusal where there is none. Small answers are
    /// bounded by the number of connections.
    fn hold(&self, user: &User, answer: Answer) -> (Answer, Option<(OwnedSemaphorePermit, Share)>) {
        let bytes = match &answer.body {
            Body::Whole(bytes) if bytes.len() > CHUNK_BYTES => bytes.len(),
            Body::Parts { bytes, .. } => *bytes,
            Body::Whole(_) | Body::Stream(_) => return (answer, None),
        };
        let share = self.answer_shares.take(user, bytes.div_ceil(CHUNK_BYTES));
        match share.and_then(|share| Some((self.answers.take(bytes).ok()?, share))) {
            Some(memory) => (answer, Some(memory)),
            None => {
                self.host.metrics().turn_away("answers");
                (Answer::refusal(&too_many()), None)
            }
        }
    }

    fn admit(
        &self,
        certificate: Option<&CertificateUser>,
        client: &Client,
        parts: &Parts,
        asked: &Asked,
    ) -> Result<(User, Option<Share>), Status> {
        // What reads the connection stops only somewhere beyond the bound.
        if head_bytes(parts) > self.limits.header_bytes {
            return Err(large_head());
        }
        let user = self.user(certificate, parts, asked)?;
        if asked.is_about_server() {
            return Ok((user, None));
        }
        // Nobody gets here without a certificate or a token.
        if !client.introduce(self, &user) {
            self.host.metrics().turn_away("connections");
            return Err(too_many());
        }
        let share = self.room(&user, asked)?;
        Ok((user, Some(share)))
    }

    fn user(&self, certificate: Option<&CertificateUser>, parts: &Parts, asked: &Asked) -> Result<User, Status> {
        let tokens = self.tokens.read().unwrap_or_else(PoisonError::into_inner).clone();
        authenticate(certificate, &parts.headers, &tokens, self.host.api().now(), asked.is_about_server())
    }

    /// Room for one more request of a user. Questions about the server's health are answered without any.
    fn room(&self, user: &User, asked: &Asked) -> Result<Share, Status> {
        let (shares, reason) = if asked.is_watch() { (&self.watches, "watches") } else { (&self.requests, "requests") };
        let share =
            shares.take(user, 1).or_else(|| asked.is_about_lease().then(|| self.leases.take(user, 1)).flatten());
        share.ok_or_else(|| {
            self.host.metrics().turn_away(reason);
            too_many()
        })
    }

    async fn answer(&self, user: User, parts: Parts, asked: Asked, body: Incoming) -> Answer {
        let body = Timely::new(body, self.limits.body);
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
