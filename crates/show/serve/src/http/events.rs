//! Messages about a run, as server-sent events.

use std::time::Duration;

use hyper::body::Bytes;
use plumb_live::LiveDocument;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

use crate::follow::RunFollower;

/// After so long without news, something is sent, so that nothing between takes the connection for dead.
const HEARTBEAT: Duration = Duration::from_secs(16);

/// Messages about a run until it is over. A reader who comes too late for some gets what they missed in one.
#[derive(Debug)]
pub(super) struct Events {
    follower: RunFollower,
    /// Whether pages of the run are served when it is over.
    stays: bool,
    over: bool,
    /// A place among those who follow a run, free again when this is dropped.
    _permit: OwnedSemaphorePermit,
}

impl Events {
    /// What this follower gets.
    pub(super) fn of(follower: RunFollower, permit: OwnedSemaphorePermit, stays: bool) -> Self {
        Self { follower, stays, over: false, _permit: permit }
    }

    /// Whether the run is over.
    pub(super) fn is_over(&self) -> bool {
        self.follower.is_over()
    }

    /// The next message and those after it; None when nothing more comes.
    pub(super) async fn next(mut self) -> Option<(Bytes, Self)> {
        if self.over {
            return None;
        }
        let text = match timeout(HEARTBEAT, self.follower.next()).await {
            Err(_) => ":\n\n".to_owned(),
            Ok(message) => {
                let (message, last) = message?;
                self.over = last;
                self.event(message)?
            }
        };
        Some((text.into(), self))
    }

    fn event(&self, mut message: LiveDocument) -> Option<String> {
        if self.over && !self.stays {
            message.says.push_str("; run `plumb serve` to see its pages");
        }
        let json = serde_json::to_string(&message).ok()?;
        Some(format!("id: {}\ndata: {json}\n\n", message.number))
    }
}
