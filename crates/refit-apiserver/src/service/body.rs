//! Bodies: read whole within a bound, and sent whole or in frames.

use std::convert::Infallible;
use std::pin::{Pin, pin};

use bytes::Bytes;
use futures::StreamExt;
use http::header::CONTENT_LENGTH;
use http::{HeaderMap, StatusCode};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited, StreamBody};

use crate::api::{Answer, Body};
use crate::status::Status;

/// What a request may carry: 3 MiB, as on the real server.
pub const MAX_BODY_BYTES: usize = 3 * 1024 * 1024;

/// What is taken in of a body that is too large before the connection is given up.
const MAX_DRAINED_BYTES: usize = 8 * MAX_BODY_BYTES;

pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The body of every response.
pub type ResponseBody = UnsyncBoxBody<Bytes, Infallible>;

/// Reads the body of a request, and never more than the bound.
pub(super) async fn read<B>(headers: &HeaderMap, body: B) -> Result<Bytes, Status>
where
    B: http_body::Body<Data = Bytes> + Send,
    B::Error: Into<BoxError>,
{
    let mut body = pin!(body);
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

/// An answer as a response.
pub(super) fn respond(answer: Answer) -> http::Response<ResponseBody> {
    let Answer { status, headers, body } = answer;
    let body = match body {
        Body::Whole(bytes) => Full::new(bytes).boxed_unsync(),
        Body::Stream(lines) => StreamBody::new(lines.map(|line| Ok(Frame::data(line)))).boxed_unsync(),
    };
    let mut response = http::Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}
