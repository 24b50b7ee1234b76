//! The body of an answer: bytes that are there, or messages that come one after another.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use hyper::body::{Body as HttpBody, Bytes, Frame, SizeHint};

use super::events::Events;

/// Gives the next message, and what gives those after it. When the reader goes, it is dropped.
type NextMessage = Pin<Box<dyn Future<Output = Option<(Bytes, Events)>> + Send>>;

/// What hyper sends behind the head of an answer.
pub(super) enum Body {
    /// All of it at once.
    Whole(Bytes),
    /// Messages until none is left.
    Messages(NextMessage),
}

impl Body {
    /// A body of messages.
    pub(super) fn of_events(events: Events) -> Self {
        Self::Messages(Box::pin(events.next()))
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(bytes) => write!(f, "{} bytes", bytes.len()),
            Self::Messages(_) => f.write_str("messages"),
        }
    }
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let body = self.get_mut();
        let next = match body {
            Self::Whole(bytes) if bytes.is_empty() => return Poll::Ready(None),
            Self::Whole(bytes) => std::mem::take(bytes),
            Self::Messages(next) => match ready!(next.as_mut().poll(context)) {
                Some((bytes, rest)) => {
                    *body = Self::of_events(rest);
                    bytes
                }
                None => {
                    *body = Self::Whole(Bytes::new());
                    return Poll::Ready(None);
                }
            },
        };
        Poll::Ready(Some(Ok(Frame::data(next))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Messages(_) => SizeHint::default(),
        }
    }
}
