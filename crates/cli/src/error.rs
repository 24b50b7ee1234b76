//! Errors as users see them: an exit code, the problem with its object, and what to try.

use plumb_keeper::KeeperError;
use plumb_launch::LaunchRefusal;
use plumb_model::PointError;
use plumb_store::ErrorKind;
use plumb_units::QuantityError;

pub use crate::exit::Exit;

/// An error with its exit code and hints.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct CommandError {
    exit: Exit,
    message: String,
    hints: Vec<String>,
}

impl From<plumb_suite::UsageError> for CommandError {
    fn from(error: plumb_suite::UsageError) -> Self {
        let hints = error.hint.into_iter().collect();
        Self { hints, ..Self::usage(error.message) }
    }
}

impl From<plumb_plugins::manifest::ManifestError> for CommandError {
    fn from(error: plumb_plugins::manifest::ManifestError) -> Self {
        let exit = if error.is_of_file { Exit::Store } else { Exit::Usage };
        Self { hints: error.hint.into_iter().collect(), ..Self::new(exit, error.message) }
    }
}

/// The result of a command.
pub type Result<T> = std::result::Result<T, CommandError>;

impl CommandError {
    /// An error that ends plumb with this exit code.
    pub fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), hints: Vec::new() }
    }

    /// The user typed a name or a value that does not exist.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    /// A file, or the store, can't be read or written.
    pub fn file(message: impl Into<String>) -> Self {
        Self::new(Exit::Store, message)
    }

    /// Nothing could be measured.
    pub fn nothing(message: impl Into<String>) -> Self {
        Self::new(Exit::Nothing, message)
    }

    /// A workload, plug-in or command failed.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(Exit::Failed, message)
    }

    /// A signal ended the command.
    pub fn interrupted(message: impl Into<String>) -> Self {
        Self::new(Exit::Interrupted, message)
    }

    /// A fault in plumb.
    pub fn bug(message: impl Into<String>) -> Self {
        Self::new(Exit::Bug, message)
    }

    /// Adds a remedy, best a command that the user can type.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// The exit code with which plumb ends.
    #[must_use]
    pub fn exit(&self) -> Exit {
        self.exit
    }

    /// The remedies, the most likely one first.
    #[must_use]
    pub fn hints(&self) -> &[String] {
        &self.hints
    }
}

impl From<plumb_store::StoreError> for CommandError {
    fn from(error: plumb_store::StoreError) -> Self {
        let exit = match error.kind() {
            ErrorKind::Store => Exit::Store,
            ErrorKind::Name => Exit::Usage,
            ErrorKind::Bug => Exit::Bug,
        };
        Self::new(exit, error.to_string())
    }
}

impl From<PointError> for CommandError {
    fn from(error: PointError) -> Self {
        let mut usage = Self::usage(error.to_string());
        if let Some(near) = plumb_suite::nearest(&error.given, &error.known) {
            usage = usage.hint(format!("did you mean `{near}`?"));
        }
        usage.hint(format!("`plumb explain {}` lists the parameters", error.workload))
    }
}

impl From<QuantityError> for CommandError {
    fn from(error: QuantityError) -> Self {
        Self::usage(error.to_string())
    }
}

impl From<LaunchRefusal> for CommandError {
    fn from(refusal: LaunchRefusal) -> Self {
        let why = refusal.to_string();
        match refusal {
            LaunchRefusal::Interrupted => Self::interrupted(why),
            LaunchRefusal::Fatal(_) => Self::bug(why),
            LaunchRefusal::Unsupported { .. }
            | LaunchRefusal::Failed(_)
            | LaunchRefusal::WrongResult(_)
            | LaunchRefusal::OutOfTime => Self::failed(why),
        }
    }
}

impl From<KeeperError> for CommandError {
    fn from(error: KeeperError) -> Self {
        match error {
            KeeperError::Gone(_) => Self::bug(error.to_string()),
            KeeperError::Refused { fix, .. } => Self::nothing(error.to_string()).hint(fix),
            other => Self::failed(other.to_string()),
        }
    }
}
