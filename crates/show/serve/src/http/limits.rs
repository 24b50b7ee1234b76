//! How much is taken on.

use std::time::Duration;

/// How much is taken on.
#[derive(Debug, Clone)]
pub struct HttpLimits {
    /// Connections at once.
    pub connections: usize,
    /// Connections at once on which a run is followed.
    pub followers: usize,
    /// Bytes of the head of a request, 8 KiB or more.
    pub head_bytes: usize,
    /// Bytes of its address.
    pub target_bytes: usize,
    /// Time for the head of a request to come in, from when the connection waits for it: after it was opened,
    /// or after the answer before.
    pub head_time: Duration,
    /// Time for a reader to take an answer, from when they keep it waiting.
    pub answer_time: Duration,
    /// The same for a message to who follows a run.
    pub message_time: Duration,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            connections: 64,
            followers: 16,
            head_bytes: 16 << 10,
            target_bytes: 4 << 10,
            head_time: Duration::from_secs(15),
            answer_time: Duration::from_secs(30),
            message_time: Duration::from_secs(5),
        }
    }
}
