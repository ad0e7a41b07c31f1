//! A connection that fails once the other side has taken nothing for too long.
//!
//! A client that never reads its answer would otherwise hold a seat and the answer for ever. Silence of ours does not
//! count: a stream may have nothing to say for hours. Any byte that is taken begins the time anew, so a slow reader is
//! served for as long as it reads at all.

use std::future::Future;
use std::io::{Error, ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// How long a reader may stand still. Long enough for a pager that is left open over a meal.
pub(super) const STALL: Duration = Duration::from_secs(600);

/// The connection and the time since which nothing was taken.
pub(super) struct Steady<T> {
    stream: T,
    stall: Duration,
    waiting: Option<Pin<Box<Sleep>>>,
}

impl<T> Steady<T> {
    /// Fails after this long without progress.
    pub fn new(stream: T, stall: Duration) -> Self {
        Self { stream, stall, waiting: None }
    }

    /// Watches one attempt to send.
    fn watched<R>(&mut self, context: &mut Context<'_>, attempt: Poll<Result<R>>) -> Poll<Result<R>> {
        if attempt.is_ready() {
            self.waiting = None;
            return attempt;
        }
        let stall = self.stall;
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(tokio::time::sleep(stall)));
        ready!(waiting.as_mut().poll(context));
        Poll::Ready(Err(Error::new(ErrorKind::TimedOut, "the other side reads nothing")))
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Steady<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, bytes)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Steady<T> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        let attempt = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.watched(context, attempt)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let attempt = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.watched(context, attempt)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        let attempt = Pin::new(&mut self.stream).poll_flush(context);
        self.watched(context, attempt)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        let attempt = Pin::new(&mut self.stream).poll_shutdown(context);
        self.watched(context, attempt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[test]
    fn a_reader_that_stands_still_is_dropped_and_a_slow_one_is_not() {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let (ours, mut theirs) = tokio::io::duplex(8);
            let mut steady = Steady::new(ours, Duration::from_secs(60));
            let slow = tokio::spawn(async move {
                let mut byte = [0];
                for _ in 0..20 {
                    tokio::time::sleep(Duration::from_secs(50)).await;
                    theirs.read_exact(&mut byte).await.unwrap();
                }
                theirs
            });
            steady.write_all(&[7; 28]).await.expect("it reads, slowly");
            let began = tokio::time::Instant::now();
            let _theirs = slow.await.unwrap();
            assert!(steady.write_all(&[7; 64]).await.is_err_and(|error| error.kind() == ErrorKind::TimedOut));
            assert!(began.elapsed() >= Duration::from_secs(60));
        });
    }
}
