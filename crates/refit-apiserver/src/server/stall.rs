//! Sockets that give up on a peer that takes nothing.

use std::io::{self, ErrorKind, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// A socket whose writes fail when the peer takes not one byte for a while.
pub(super) struct Stall<S> {
    socket: S,
    patience: Duration,
    timer: Pin<Box<Sleep>>,
    is_waiting: bool,
}

impl<S> Stall<S> {
    pub(super) fn new(socket: S, patience: Duration) -> Self {
        Self { socket, patience, timer: Box::pin(sleep(patience)), is_waiting: false }
    }

    /// Passes on what the socket said, unless it has said "not yet" for too long.
    fn judge<T>(&mut self, cx: &mut Context<'_>, said: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if said.is_ready() {
            self.is_waiting = false;
            return said;
        }
        if !self.is_waiting {
            self.is_waiting = true;
            self.timer.as_mut().reset(Instant::now() + self.patience);
        }
        self.timer.as_mut().poll(cx).map(|()| Err(io::Error::new(ErrorKind::TimedOut, "the peer reads nothing")))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Stall<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Stall<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let said = Pin::new(&mut self.socket).poll_write(cx, bytes);
        self.judge(cx, said)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let said = Pin::new(&mut self.socket).poll_write_vectored(cx, slices);
        self.judge(cx, said)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let said = Pin::new(&mut self.socket).poll_flush(cx);
        self.judge(cx, said)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let said = Pin::new(&mut self.socket).poll_shutdown(cx);
        self.judge(cx, said)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_takes_nothing_is_given_up_and_a_slow_one_is_not() {
        let (near, mut far) = duplex(4);
        let mut socket = Stall::new(near, Duration::from_secs(30));
        socket.write_all(b"full").await.expect("there must be room");
        for _ in 0..4 {
            let (written, ()) = tokio::join!(socket.write_all(b"more"), async {
                for _ in 0..4 {
                    sleep(Duration::from_secs(20)).await;
                    far.read_u8().await.expect("there must be something to read");
                }
            });
            written.expect("a peer that reads a little must be waited for");
        }
        let error = socket.write_all(b"more").await.expect_err("a peer that reads nothing must be given up");
        assert_eq!(error.kind(), ErrorKind::TimedOut);
    }
}
