//! Errors of a file, each with something to try.

use thiserror::Error;

use crate::Format;

/// Why a file gives no results.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ImportError {
    /// No reader knows it.
    #[error("neither a plumb store nor output of a supported tool")]
    Unknown,
    /// It began like this format and ends early.
    #[error("damaged or truncated {}: {why}", format.described())]
    Damaged {
        /// The format that it began like.
        format: Format,
        /// What is missing.
        why: String,
    },
    /// It is whole, and of a form that the reader does not know.
    #[error("can't read {}{}: {why}", format.described(), place(*line))]
    Unreadable {
        /// The format that it is like.
        format: Format,
        /// The line, from 1, if there is one.
        line: Option<usize>,
        /// What is not understood.
        why: String,
    },
    /// The tool measured nothing.
    #[error("no results in {}: {why}", format.described())]
    Nothing {
        /// The format of the result.
        format: Format,
        /// What it says instead.
        why: String,
    },
}

impl ImportError {
    pub(crate) fn damaged(format: Format, why: impl Into<String>) -> Self {
        Self::Damaged { format, why: why.into() }
    }

    pub(crate) fn nothing(format: Format, why: impl Into<String>) -> Self {
        Self::Nothing { format, why: why.into() }
    }

    pub(crate) fn unreadable(format: Format, line: usize, why: impl Into<String>) -> Self {
        Self::Unreadable { format, line: Some(line), why: why.into() }
    }

    pub(crate) fn unsupported(format: Format, why: impl Into<String>) -> Self {
        Self::Unreadable { format, line: None, why: why.into() }
    }
}

fn place(line: Option<usize>) -> String {
    line.map(|line| format!(", line {line}")).unwrap_or_default()
}
