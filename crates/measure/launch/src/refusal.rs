//! Why something was not done.

use std::fmt;

use plumb_keeper::KeeperError;

/// Why something was not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LaunchRefusal {
    /// It can't run here.
    Unsupported {
        /// The machine's missing feature.
        why: String,
        /// The user's fix; may be empty.
        fix: String,
    },
    /// The workload failed; the run goes on.
    Failed(String),
    /// The workload says that a result was wrong; the run goes on.
    WrongResult(String),
    /// Somebody wants the run to stop.
    Interrupted,
    /// The time of the run was over before its answer came.
    OutOfTime,
    /// The run can't go on.
    Fatal(String),
}

impl fmt::Display for LaunchRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported { why, fix } if fix.is_empty() => write!(f, "unsupported: {why}"),
            Self::Unsupported { why, fix } => write!(f, "unsupported: {why}; try: {fix}"),
            Self::Failed(why) | Self::WrongResult(why) | Self::Fatal(why) => f.write_str(why),
            Self::Interrupted => f.write_str("interrupted"),
            Self::OutOfTime => f.write_str("the time of the run is over"),
        }
    }
}

impl From<KeeperError> for LaunchRefusal {
    fn from(error: KeeperError) -> Self {
        let why = error.to_string();
        match error {
            KeeperError::Gone(_) => Self::Fatal(why),
            KeeperError::Refused { fix, .. } => Self::Unsupported { why, fix: fix.into() },
            KeeperError::Missing(_) | KeeperError::NotSpawned { .. } => Self::Failed(why),
        }
    }
}

impl LaunchRefusal {
    /// Says which program it was, if the point does not report.
    pub fn of(self, name: &str) -> Self {
        match self {
            Self::Failed(why) => Self::Failed(format!("{name}: {why}")),
            Self::WrongResult(why) => Self::WrongResult(format!("{name}: {why}")),
            Self::Unsupported { why, fix } => {
                Self::Unsupported { why: format!("{name}: {why}"), fix }
            }
            other => other,
        }
    }
}
