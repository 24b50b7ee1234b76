//! A connection whose reader must take what is written in time.
//!
//! hyper has a time-out for the head of a request and none for an answer; without one, who reads nothing
//! would keep a place for ever.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

use super::limits::HttpLimits;

/// A connection whose reader must take what is written in time: from when they keep it waiting until all of
/// it has gone out.
#[derive(Debug)]
pub(super) struct TimedConnection {
    stream: TcpStream,
    answer_time: Duration,
    message_time: Duration,
    /// Whether what is written are messages about a run.
    follows: Arc<AtomicBool>,
    /// Runs while the reader keeps it waiting.
    patience: Option<Pin<Box<Sleep>>>,
}

impl TimedConnection {
    /// This connection, within these limits.
    pub(super) fn new(stream: TcpStream, limits: &HttpLimits, follows: Arc<AtomicBool>) -> Self {
        let HttpLimits { answer_time, message_time, .. } = *limits;
        Self { stream, answer_time, message_time, follows, patience: None }
    }

    /// The connection, without its time-out.
    pub(super) fn into_inner(self) -> TcpStream {
        self.stream
    }

    /// What was written, unless it waits and has waited for too long.
    fn in_time(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            return written;
        }
        let follows = self.follows.load(Ordering::Relaxed);
        let time = if follows { self.message_time } else { self.answer_time };
        let patience = self.patience.get_or_insert_with(|| Box::pin(sleep(time)));
        patience.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for TimedConnection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for TimedConnection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.in_time(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.in_time(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// Called when all has gone out.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // hyper flushes once nothing is left to write, so the reader has taken all: what comes next has its own time.
        self.patience = None;
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
