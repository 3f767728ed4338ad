//! Bodies that hold something until they are sent.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

use super::presence::Visit;

/// A body during which its connection counts as used.
pub(super) struct Guarded<B> {
    body: B,
    _visit: Visit,
}

impl<B> Guarded<B> {
    pub(super) fn new(body: B, visit: Visit) -> Self {
        Self { body, _visit: visit }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for Guarded<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
