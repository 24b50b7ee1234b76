//! Why a visit to a machine fails.

use std::fmt;

/// Why a machine has no result, or not a whole one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VisitFailure {
    /// Nothing answers there.
    Unreachable {
        /// The last words of what was tried.
        why: String,
        /// What the user can try.
        fix: String,
    },
    /// plumb cannot run there.
    Unsupported {
        /// The reason in words.
        why: String,
        /// What the user can try.
        fix: String,
    },
    /// The connection was lost, or the agent ended without a last line. What it measured so far is here.
    Lost(String),
    /// The agent broke the rules of the log.
    Failed(String),
    /// The agent refused the command.
    Refused {
        /// The exit code that plumb would end with.
        exit: u8,
        /// The problem with its object.
        message: String,
        /// What the user can try.
        hints: Vec<String>,
    },
    /// Its events could not be taken here.
    NotTaken(String),
    /// Somebody stopped it.
    Interrupted,
}

impl fmt::Display for VisitFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable { why, .. } => write!(f, "cannot be reached: {why}"),
            Self::Unsupported { why, .. } => write!(f, "unsupported: {why}"),
            Self::Lost(why) | Self::Failed(why) | Self::NotTaken(why) => f.write_str(why),
            Self::Refused { message, .. } => f.write_str(message),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}
