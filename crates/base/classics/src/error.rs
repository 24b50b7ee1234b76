//! Errors of a file, each with something to try.

use thiserror::Error;

use crate::Format;

/// Why a file gives no results.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ImportError {
    /// No reader knows it.
    #[error("it is not a plumb store, nor a result of a tool that plumb reads; name another file")]
    Unknown,
    /// It began like this format and does not go on so.
    #[error("damaged or cut off: as {} it breaks off because {why}", format.described())]
    Damaged {
        /// The format that it began like.
        format: Format,
        /// The error in it.
        why: String,
    },
    /// The tool measured nothing.
    #[error("{} without a result: {why}", format.described())]
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
