//! The exit codes, for scripts.

use std::process::ExitCode;

/// The documented exit codes; when several apply, the one that stands first here wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// A bug in plumb.
    Bug,
    /// Interrupted by a signal.
    Interrupted,
    /// The store, or a file, could not be read or written.
    Store,
    /// Wrong usage or configuration, an unknown name, or a command that was not found.
    Usage,
    /// Nothing could be measured, or what the user named is unsupported here.
    Nothing,
    /// A workload or command failed.
    Failed,
    /// A check confirmed that this machine became slower, or `ab --fail-on` found a slower side.
    Regression,
    /// No verdict, for a user who asked for one with --strict.
    Inconclusive,
    /// The command did what it was asked to do.
    Fine,
}

impl Exit {
    /// The process's exit code.
    #[must_use]
    pub fn code(self) -> ExitCode {
        ExitCode::from(self.number())
    }

    /// The number that a shell sees.
    #[must_use]
    pub fn number(self) -> u8 {
        match self {
            Self::Bug => 70,
            Self::Interrupted => 130,
            Self::Store => 6,
            Self::Usage => 2,
            Self::Nothing => 3,
            Self::Failed => 4,
            Self::Regression => 1,
            Self::Inconclusive => 5,
            Self::Fine => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Exit;

    #[test]
    fn the_worst_comes_first() {
        let order =
            [Exit::Bug, Exit::Interrupted, Exit::Store, Exit::Usage, Exit::Nothing, Exit::Failed];
        assert!(order.is_sorted());
        assert_eq!(order.into_iter().min(), Some(Exit::Bug));
    }
}
