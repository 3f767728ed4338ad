//! Sends answers at the pace of the client, and gives up on one that does not read.
//!
//! A body is not asked for more while its client does not read, so it could not notice how time passes. A task of its
//! own does: it holds what is to be sent, and lets go of it when the client takes too long.

use bytes::Bytes;
use futures::{Stream, StreamExt, stream};
use http::HeaderValue;
use http::header::CONTENT_LENGTH;
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};
use tokio::time::{Instant, timeout_at};

use super::Limits;
use super::guard::Guarded;
use super::presence::Visit;
use super::shares::Share;
use crate::api::{Answer, Body};
use crate::service::{CutOff, ResponseBody, whole};

/// What is sent at once. Answers up to this size need no task.
pub(super) const CHUNK_BYTES: usize = 64 * 1024;

/// What an answer holds until it is sent.
pub(super) struct Held {
    pub(super) permit: Option<Share>,
    /// The room that a large answer takes up.
    pub(super) memory: Option<(OwnedSemaphorePermit, Share)>,
    pub(super) visit: Visit,
    pub(super) limits: Limits,
    /// Says when the server ends, and watches with it.
    pub(super) ending: watch::Receiver<bool>,
}

/// An answer as a response that holds no more memory than its client reads.
pub(super) fn send(answer: Answer, held: Held) -> http::Response<ResponseBody> {
    let Answer { status, mut headers, body } = answer;
    let body = match body {
        Body::Whole(bytes) if bytes.len() <= CHUNK_BYTES => Guarded::new(whole(bytes), held.visit).boxed_unsync(),
        Body::Whole(bytes) => {
            // Whoever gets less than this knows that it was not all.
            headers.insert(CONTENT_LENGTH, HeaderValue::from(bytes.len()));
            let deadline = Instant::now() + held.limits.answer;
            spawn(stream::iter(chunks(bytes)), held, Some(deadline))
        }
        Body::Parts { parts, .. } => {
            let deadline = Instant::now() + held.limits.answer;
            spawn(parts.flat_map(|part| stream::iter(chunks(part))), held, Some(deadline))
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
    // A watch may end at any time. Whoever gets less than a whole answer must not take it for one.
    let is_whole_without_end = deadline.is_none();
    let frames = stream::unfold(Some(receiver), move |receiver| async move {
        let mut receiver = receiver?;
        match receiver.recv().await {
            Some(Part::Bytes(bytes)) => Some((Ok(Frame::data(bytes)), Some(receiver))),
            Some(Part::End) => None,
            None if is_whole_without_end => None,
            None => Some((Err(CutOff), None)),
        }
    });
    Guarded::new(Box::pin(StreamBody::new(frames)), visit).boxed_unsync()
}

/// What goes from the task that holds an answer to the connection.
enum Part {
    Bytes(Bytes),
    /// There was no more to send.
    End,
}

/// Hands on one part after another. With a deadline it is a whole answer, which the end of the server leaves time for.
async fn pump(
    parts: impl Stream<Item = Bytes> + Unpin,
    sender: mpsc::Sender<Part>,
    limits: Limits,
    mut ending: watch::Receiver<bool>,
    deadline: Option<Instant>,
) {
    let mut parts = parts.map(Part::Bytes).chain(stream::iter([Part::End]));
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
