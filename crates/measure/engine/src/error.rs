//! Why a run could not go on.

use std::fmt;

use plumb_model::SinkError;

/// Why a run could not go on. What was acknowledged is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EngineError {
    /// A listener could not do its work.
    Sink(String),
    /// The keeper is gone.
    Fatal(String),
    /// What was to run next to failed.
    Companion(String),
    /// What was to run next to can't run here.
    Unsupported {
        /// The missing need of this machine.
        why: String,
        /// The user's fix; may be empty.
        fix: String,
    },
}

impl EngineError {
    /// A companion that failed may leave something behind, too.
    pub(crate) fn with(self, unclean: Option<&str>) -> Self {
        match (self, unclean) {
            (Self::Companion(why), Some(unclean)) => {
                Self::Companion(format!("{why}; could not clean up: {unclean}"))
            }
            (error, _) => error,
        }
    }
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sink(why)
            | Self::Fatal(why)
            | Self::Companion(why)
            | Self::Unsupported { why, .. } => f.write_str(why),
        }
    }
}

impl std::error::Error for EngineError {}

impl From<SinkError> for EngineError {
    fn from(error: SinkError) -> Self {
        Self::Sink(error.0)
    }
}
