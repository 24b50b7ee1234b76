//! Errors of a file, each with something to try.

use thiserror::Error;

use crate::Format;

/// Why a file gives no results.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ImportError {
    /// No reader knows it.
    #[error("neither a plumb store nor output of a supported tool")]
    Unknown,
    /// It began like this format and does not go on so.
    #[error("damaged or truncated {}: {why}", format.described())]
    Damaged {
        /// The format that it began like.
        format: Format,
        /// The error in it.
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
}
