//! What was typed and can't be.

/// What was typed and can't be, with what to try.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct UsageError {
    /// What can't be, and why.
    pub message: String,
    /// What to try.
    pub hint: Option<String>,
}

impl UsageError {
    /// Without a hint.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
    }

    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}
