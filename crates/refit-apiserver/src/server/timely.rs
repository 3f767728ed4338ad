//! Bodies of requests that must have come within a time: a client that sends them byte by byte holds room that others need.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::time::{Sleep, sleep};

use crate::service::{BoxError, TooLate};

/// A body that fails when it is not whole in time.
pub(super) struct Timely<B> {
    body: B,
    within: Duration,
    end: Pin<Box<Sleep>>,
}

impl<B> Timely<B> {
    pub(super) fn new(body: B, within: Duration) -> Self {
        Self { body, within, end: Box::pin(sleep(within)) }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for Timely<B>
where
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if self.end.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Some(Err(TooLate(self.within).into())));
        }
        Pin::new(&mut self.body).poll_frame(cx).map_err(Into::into)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
