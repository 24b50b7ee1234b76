//! How the runs of a command ended, in documents.

use plumb_model::{CommandEnd, CommandEnds};
use serde::Serialize;

/// Runs that ended in one way: `status` or `signal` is a number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct EndedPart {
    /// The exit status; null after a signal.
    pub status: Option<i32>,
    /// The signal that ended them; null after an exit.
    pub signal: Option<i32>,
    /// How many runs ended so.
    pub times: usize,
}

/// How runs ended, an entry for each way.
pub(crate) fn ended(ends: &CommandEnds) -> Vec<EndedPart> {
    let mut parts = Vec::new();
    for (end, times) in ends.iter() {
        parts.push(match end {
            CommandEnd::Status(status) => EndedPart { status: Some(status), signal: None, times },
            CommandEnd::Signal(signal) => EndedPart { status: None, signal: Some(signal), times },
        });
    }
    parts
}
