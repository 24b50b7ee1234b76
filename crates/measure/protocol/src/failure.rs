//! The failure of a working workload.

use std::fmt;

/// The failure of a working workload: event and object, in one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure(pub String);

impl Failure {
    /// A failure of the operating system: `what` was tried.
    #[must_use]
    pub fn io(what: impl fmt::Display, error: &std::io::Error) -> Self {
        Self(format!("{what}: {error}"))
    }

    /// The failure that `errno` holds: `what` was tried.
    #[must_use]
    pub fn last_os_error(what: impl fmt::Display) -> Self {
        Self::io(what, &std::io::Error::last_os_error())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failure {}
