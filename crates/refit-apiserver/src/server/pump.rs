//! Sends answers at the pace of the client, and gives up on one that does not read.
//!
//! A body is not asked for more while its client does not read, so it could not notice how time passes. A task of its
//! own does: it holds what is to be sent, and lets go of it when the client takes too long.

use std::convert::Infallible;

use bytes::Bytes;
use futures::{Stream, StreamExt, stream};
use http::HeaderValue;
use http::header::CONTENT_LENGTH;
use http_body::Frame;
use http_body_util::{BodyExt, Full, StreamBody};
use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};
use tokio::time::{Instant, timeout_at};

use super::Limits;
use super::guard::Guarded;
use super::presence::Visit;
use crate::api::{Answer, Body};
use crate::service::ResponseBody;

/// What is sent at once. Answers up to this size need no task.
pub(super) const CHUNK_BYTES: usize = 64 * 1024;

/// What an answer holds until it is sent.
pub(super) struct Held {
    pub(super) permit: Option<OwnedSemaphorePermit>,
    /// The room that a large answer takes up.
    pub(super) memory: Option<OwnedSemaphorePermit>,
    pub(super) visit: Visit,
    pub(super) limits: Limits,
    /// Says when the server ends, and watches with it.
    pub(super) ending: watch::Receiver<bool>,
}

/// An answer as a response that holds no more memory than its client reads.
pub(super) fn send(answer: Answer, held: Held) -> http::Response<ResponseBody> {
    let Answer { status, mut headers, body } = answer;
    let body = match body {
        Body::Whole(bytes) if bytes.len() <= CHUNK_BYTES => Guarded::new(Full::new(bytes), held.visit).boxed_unsync(),
        Body::Whole(bytes) => {
            // Whoever gets less than this knows that it was not all.
            headers.insert(CONTENT_LENGTH, HeaderValue::from(bytes.len()));
            let deadline = Instant::now() + held.limits.answer;
            spawn(stream::iter(chunks(bytes)), held, Some(deadline))
        }
        Body::Stream(lines) => spawn(lines, held, None),
    };
    let mut response = http::Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

fn chunks(bytes: Bytes) -> impl Iterator<Item = Bytes> {
    let starts = (0..bytes.len()).step_by(CHUNK_BYTES);
    starts.map(move |start| bytes.slice(start..bytes.len().min(start + CHUNK_BYTES)))
}

fn spawn(
    parts: impl Stream<Item = Bytes> + Send + Unpin + 'static,
    held: Held,
    deadline: Option<Instant>,
) -> ResponseBody {
    let (sender, receiver) = mpsc::channel(1);
    let Held { permit, memory, visit, limits, ending } = held;
    tokio::spawn(async move {
        pump(parts, sender, limits, ending, deadline).await;
        drop((permit, memory));
    });
    let frames = stream::unfold(receiver, |mut receiver| async {
        let part: Bytes = receiver.recv().await?;
        Some((Ok::<_, Infallible>(Frame::data(part)), receiver))
    });
    Guarded::new(Box::pin(StreamBody::new(frames)), visit).boxed_unsync()
}

/// Hands on one part after another. With a deadline it is a whole answer, which the end of the server leaves time for.
async fn pump(
    mut parts: impl Stream<Item = Bytes> + Unpin,
    sender: mpsc::Sender<Bytes>,
    limits: Limits,
    mut ending: watch::Receiver<bool>,
    deadline: Option<Instant>,
) {
    loop {
        let part = tokio::select! {
            _ = ending.wait_for(|is_ending| *is_ending), if deadline.is_none() => return,
            () = sender.closed() => return,
            part = parts.next() => part,
        };
        let Some(part) = part else { return };
        let patience = Instant::now() + limits.stall;
        let patience = deadline.map_or(patience, |deadline| deadline.min(patience));
        if !matches!(timeout_at(patience, sender.send(part)).await, Ok(Ok(()))) {
            tracing::debug!("a client did not read its answer");
            return;
        }
    }
}
