//! Bodies: read whole within a bound, and sent whole or in frames.

use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use http::header::{CONTENT_LENGTH, EXPECT};
use http::{HeaderMap, StatusCode};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited, StreamBody};

use crate::api::{Answer, Body};
use crate::status::Status;

/// What a request may carry: 3 MiB, as on the real server.
pub const MAX_BODY_BYTES: usize = 3 * 1024 * 1024;

/// What is taken in of a body that is too large, or that nobody reads, before the connection is given up.
const MAX_DRAINED_BYTES: usize = 8 * MAX_BODY_BYTES;

pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The body of every response.
pub type ResponseBody = UnsyncBoxBody<Bytes, CutOff>;

/// An answer that is not whole: its client took too long to read it, or the server ends.
#[derive(Debug, thiserror::Error)]
#[error("the answer is cut off")]
pub struct CutOff;

/// The body of a request that did not come in time.
#[derive(Debug, thiserror::Error)]
#[error("the body of the request did not arrive within {0:?}")]
pub struct TooLate(pub Duration);

/// The body of a request, which may not have been read yet.
pub(super) struct Sent<'a, B> {
    body: Pin<&'a mut B>,
    is_left: bool,
}

impl<'a, B> Sent<'a, B>
where
    B: http_body::Body<Data = Bytes> + Send,
    B::Error: Into<BoxError>,
{
    /// A client that waits to be asked for its body is not asked where nobody reads it.
    pub(super) fn new(body: Pin<&'a mut B>, headers: &HeaderMap) -> Self {
        let is_left = !body.is_end_stream() && !headers.contains_key(EXPECT);
        Self { body, is_left }
    }

    /// Reads it, and never more than the bound.
    pub(super) async fn read(&mut self, headers: &HeaderMap) -> Result<Bytes, Status> {
        self.is_left = false;
        read(headers, self.body.as_mut()).await
    }

    /// Takes in what nobody has read, before the answer: a connection that is closed over it takes the answer with it.
    pub(super) async fn take_in_what_is_left(&mut self) {
        if std::mem::take(&mut self.is_left) {
            drain(self.body.as_mut()).await;
        }
    }
}

async fn read<B>(headers: &HeaderMap, mut body: Pin<&mut B>) -> Result<Bytes, Status>
where
    B: http_body::Body<Data = Bytes> + Send,
    B::Error: Into<BoxError>,
{
    let announced = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    if announced.is_some_and(|bytes: usize| bytes > MAX_BODY_BYTES) {
        drain(body).await;
        return Err(too_large());
    }
    match Limited::new(body.as_mut(), MAX_BODY_BYTES).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => {
            drain(body).await;
            Err(too_large())
        }
        Err(error) if error.is::<TooLate>() => Err(too_late(error.as_ref())),
        Err(error) => Err(Status::bad_request(format!("the body could not be read: {error}"))),
    }
}

/// Takes in the rest of a body that is too large, within a bound and without keeping it: many clients read the answer
/// only after they have sent everything.
async fn drain<B: http_body::Body<Data = Bytes>>(mut body: Pin<&mut B>) {
    let mut taken = 0;
    while let Some(Ok(frame)) = body.frame().await
        && taken <= MAX_DRAINED_BYTES
    {
        taken += frame.data_ref().map_or(0, Bytes::len);
    }
}

fn too_large() -> Status {
    let message = format!("Request entity too large: limit is {MAX_BODY_BYTES}");
    Status::new(StatusCode::PAYLOAD_TOO_LARGE, Some("RequestEntityTooLarge"), message)
}

fn too_late(error: &(dyn std::error::Error + Send + Sync)) -> Status {
    let message = format!("Timeout: {error}");
    Status::new(StatusCode::GATEWAY_TIMEOUT, Some("Timeout"), message).with_empty_details()
}

/// An answer as a response.
pub(super) fn respond(answer: Answer) -> http::Response<ResponseBody> {
    let Answer { status, headers, body } = answer;
    let body = match body {
        Body::Whole(bytes) => whole(bytes).boxed_unsync(),
        Body::Parts { parts: lines, .. } | Body::Stream(lines) => {
            StreamBody::new(lines.map(|line| Ok(Frame::data(line)))).boxed_unsync()
        }
    };
    let mut response = http::Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

/// A body that is sent at once.
pub(crate) fn whole(bytes: Bytes) -> impl http_body::Body<Data = Bytes, Error = CutOff> + Send + Unpin {
    Full::new(bytes).map_err(|never| match never {})
}
